"""The list of runs: each on one line, with how far it has come and what it cost where that is
known."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from typing import Final
from urllib.parse import urlencode

from portico.agents.core.traces import RunTrace
from portico.engine.core.runs import Run, RunStatus
from portico.interfaces.console.screens.run.of_journal import planned
from portico.interfaces.console.screens.run.seen import KINDS, Seen, of_run, powers_of, status_badge
from portico.kernel.ids import RunId
from portico.kernel.label import Label
from portico.kernel.principal import Principal
from portico.workflows.core.plan_report import outline_from


class Show(StrEnum):
    ALL = "all"
    RUNNING = "running"
    WAITING = "waiting"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


STATUSES: Final[Mapping[Show, Sequence[RunStatus]]] = {
    Show.ALL: (),
    Show.RUNNING: (RunStatus.RUNNING, RunStatus.QUEUED),
    Show.WAITING: (RunStatus.WAITING,),
    Show.DONE: (RunStatus.DONE,),
    Show.FAILED: (RunStatus.FAILED, RunStatus.STUCK),
    Show.CANCELLED: (RunStatus.CANCELLED,),
}
_WIDE: Final = 100


@dataclass(frozen=True, slots=True)
class Chip:
    name: str
    path: str
    current: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What is looked up beside the runs, for all of them at once."""

    names: Mapping[str, str]
    """Of principals."""
    traces: Mapping[RunId, RunTrace]
    questions: Mapping[RunId, str]
    """Of debates."""
    tools: Mapping[RunId, str]
    """Of what was asked for, behind which a run stands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    id: str
    title: str
    note: str | None
    """What it is for, in somebody's own words."""
    kind: str
    status: str
    tone: str
    who: str
    label: Label
    created_at: datetime
    took: timedelta | None
    over: int
    all: int | None
    about: bool
    """Whether `over` counts more than steps of its plan."""
    share: float | None
    """Of its steps, how many are over."""
    money: Decimal | None
    tokens: int | None
    may_cancel: bool

    @property
    def steps(self) -> str:
        about = "~" if self.about else ""
        return f"{about}{self.over}" if self.all is None else f"{about}{self.over} / {self.all}"


def show_of(text: str | None) -> Show:
    return Show(text) if text in set(Show) else Show.ALL


def kind_of(text: str | None) -> str | None:
    """None is any."""
    return text if text in KINDS else None


def address(path: str, show: Show, kind: str | None, after: str | None = None) -> str:
    told = {"show": None if show is Show.ALL else str(show), "kind": kind, "after": after}
    given = {name: value for name, value in told.items() if value is not None}
    return f"{path}?{urlencode(given)}" if given else path


def chips(show: Show, kind: str | None) -> Sequence[Chip]:
    return [
        Chip(str(each).capitalize(), address("/runs", each, kind), each is show) for each in Show
    ]


def line(run: Run, over: int, known: Known, caller: Principal, now: datetime) -> Line:
    seen = of_run(run, caller)
    words, tone = status_badge(seen)
    trace = known.traces.get(run.id)
    done, all_, about = progress(run, over)
    return Line(
        id=str(run.id),
        title=seen.title,
        note=_note(run, seen, known, trace),
        kind=seen.kind_words,
        status=words,
        tone=tone,
        who=_who(seen, known, caller),
        label=run.label,
        created_at=run.created_at,
        took=_took(run, now),
        over=done,
        all=all_,
        about=about,
        share=_share(run, done, all_),
        money=None if trace is None else trace.money,
        tokens=None if trace is None else trace.usage.input + trace.usage.output,
        may_cancel=powers_of(seen, caller, person=True).cancel,
    )


def progress(run: Run, over: int) -> tuple[int, int | None, bool]:
    """Steps that are over, all of them, and whether the first is no more than about right: of a
    plan under way the journal also counts waits, repeats and what was told."""
    steps = len(outline_from(run.input)) or planned(run)
    if steps is None or run.kind not in {"workflow", "drill"}:
        return over, None, False
    if run.status is RunStatus.DONE:
        return steps, steps, False
    told = over - 1 - len(run.waits_for)
    return min(max(told, 0), steps - max(len(run.waits_for), 1)), steps, True


def _share(run: Run, over: int, all_: int | None) -> float | None:
    if run.status is RunStatus.DONE:
        return 1.0
    return over / all_ if all_ else None


def _took(run: Run, now: datetime) -> timedelta | None:
    if run.started_at is None:
        return None
    return max((run.finished_at or now) - run.started_at, timedelta(0))


def _note(run: Run, seen: Seen, known: Known, trace: RunTrace | None) -> str | None:
    if seen.error is not None:
        return _short(seen.error.message)
    if trace is not None and trace.asked:
        return f"“{_short(trace.asked)}”"
    if (tool := known.tools.get(run.id)) is not None:
        return tool
    question = known.questions.get(run.id)
    return None if question is None else f"“{_short(question)}”"


def _who(seen: Seen, known: Known, caller: Principal) -> str:
    if seen.mine:
        return caller.name
    return known.names.get(seen.principal, f"…{seen.principal[-6:]}")


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _WIDE else f"{flat[: _WIDE - 1]}…"
