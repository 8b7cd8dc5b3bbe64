"""Runs: list, filter, cancel several at once."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from typing import Final
from urllib.parse import urlencode
from uuid import UUID

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from portico.agents.core.traces import RunTrace, TraceFilter
from portico.engine.core.runs import Run, RunStatus
from portico.interfaces.console.forms import InvalidForm, form_of
from portico.interfaces.console.page import PageContext, done, page, page_context, part
from portico.interfaces.console.screens.run.page import cancel_one
from portico.interfaces.console.screens.run.run_view import (
    KINDS,
    RunView,
    of_run,
    powers_of,
    status_badge,
)
from portico.interfaces.console.screens.run.tasks import planned
from portico.interfaces.http import runs as run_positions
from portico.interfaces.http.problems import status_of
from portico.interfaces.http.shapes import next_cursor, position
from portico.kernel.errors import PorticoError
from portico.kernel.ids import ApprovalId, RunId
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
class RunLookups:
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


def line(run: Run, over: int, known: RunLookups, caller: Principal, now: datetime) -> Line:
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


def _note(run: Run, seen: RunView, known: RunLookups, trace: RunTrace | None) -> str | None:
    if seen.error is not None:
        return _short(seen.error.message)
    if trace is not None and trace.asked:
        return f"“{_short(trace.asked)}”"
    if (tool := known.tools.get(run.id)) is not None:
        return tool
    question = known.questions.get(run.id)
    return None if question is None else f"“{_short(question)}”"


def _who(seen: RunView, known: RunLookups, caller: Principal) -> str:
    if seen.mine:
        return caller.name
    return known.names.get(seen.principal, f"…{seen.principal[-6:]}")


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _WIDE else f"{flat[: _WIDE - 1]}…"


PLACE: Final = "runs"
_MOST: Final = 40
_PEOPLE: Final = 500
"""Principals whose names are looked up at once; of others the end of their id is shown."""
_DEBATES: Final = 100
_BESIDE: Final = 2
"""So many times more of what they were started for are looked through: others may be in between."""
_MOMENT: Final = timedelta(seconds=5)
"""A trace is begun a moment after its run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    show: Show
    kind: str | None
    lines: Sequence[Line]
    chips: Sequence[Chip]
    older: str | None
    part: str
    """Where this list is asked for again."""
    first: bool
    """Whether it begins with the newest."""

    @property
    def cancellable(self) -> bool:
        return any(each.may_cancel for each in self.lines)


async def listed(desk: PageContext, request: Request) -> Listed:
    """Raises `NotPermitted`, `InvalidCursor`."""
    asked = request.query_params
    show, kind, after = show_of(asked.get("show")), kind_of(asked.get("kind")), asked.get("after")
    found = await desk.services.use.list_runs(
        desk.caller,
        statuses=STATUSES[show],
        kind=kind,
        before=run_positions.read(position(after)),
        limit=_MOST,
    )
    runs = [run for run, _ in found]
    known = RunLookups(
        names=await _names(desk, runs),
        traces=await _traces(desk, runs),
        questions=await _questions(desk, runs),
        tools=await _tools(desk, runs),
    )
    last = run_positions.written(runs[-1].position) if runs else ""
    cursor = next_cursor(found, _MOST, last)
    return Listed(
        show=show,
        kind=kind,
        lines=[line(run, over, known, desk.caller, desk.now) for run, over in found],
        chips=chips(show, kind),
        older=None if cursor is None else address("/runs", show, kind, cursor),
        part=address("/runs/list", show, kind, after),
        first=after is None,
    )


async def _names(desk: PageContext, runs: Sequence[Run]) -> Mapping[str, str]:
    if all(run.principal == desk.caller.id for run in runs):
        return {}
    with suppress(PorticoError):
        found = await desk.services.use.list_principals(desk.caller, after=None, limit=_PEOPLE)
        return {str(each.id): each.name for each in found}
    return {}


async def _traces(desk: PageContext, runs: Sequence[Run]) -> Mapping[RunId, RunTrace]:
    agents = [run for run in runs if run.kind == "agent"]
    if not agents:
        return {}
    which = TraceFilter(since=agents[-1].created_at - _MOMENT, until=agents[0].created_at + _MOMENT)
    with suppress(PorticoError):
        found = await desk.services.agents.list_traces(
            desk.at(PLACE), which, before=None, limit=len(agents) + 10
        )
        return {trace.run: trace for trace in found}
    return {}


async def _questions(desk: PageContext, runs: Sequence[Run]) -> Mapping[RunId, str]:
    if not any(run.kind in {"debate", "analysis"} for run in runs):
        return {}
    with suppress(PorticoError):
        found = await desk.services.debates.look.page(desk.at(PLACE), limit=_DEBATES)
        return {debate.run: debate.question.text for debate in found}
    return {}


async def _tools(desk: PageContext, runs: Sequence[Run]) -> Mapping[RunId, str]:
    named = _approvals([run for run in runs if run.kind == "approved_call"])
    if not named:
        return {}
    with suppress(PorticoError):
        found = await desk.services.gateway.approvals.list_approvals(
            desk.at(PLACE), before=_above(named), limit=_BESIDE * len(named)
        )
        return {asked.run: f"{asked.tool} for {asked.requester.name}" for asked in found}
    return {}


def _approvals(runs: Sequence[Run]) -> Sequence[ApprovalId]:
    """What these runs were started for."""
    found: list[ApprovalId] = []
    for run in runs:
        with suppress(PorticoError):
            found.append(ApprovalId.parse(str(run.input.get("approval"))))
    return found


def _above(ids: Sequence[ApprovalId]) -> ApprovalId:
    """What the newest of them comes right after, in a list that begins with the newest."""
    return ApprovalId(UUID(int=max(each.value.int for each in ids) + 1))


_MOST_CHOSEN: Final = 50
_SAID: Final = {
    "cancelled": "Cancelled. What was done stays done.",
    "some": "Some were over already, or are not yours to end; the others are cancelled.",
}


async def show(request: Request) -> Response:
    return await _drawn(request)


async def show_list(request: Request) -> Response:
    values = {"listed": await listed(page_context(request), request)}
    return part(request, "runs/_list.html", values)


async def cancel(request: Request) -> Response:
    """The one whose button it was, or all that are chosen."""
    desk, form = page_context(request), await form_of(request)
    back = address("/runs", show_of(form.maybe("show")), kind_of(form.maybe("kind")))
    try:
        one = form.maybe("one", most=64)
        chosen = [one] if one else form.many("run", most=_MOST_CHOSEN)
        if not chosen:
            raise InvalidForm("run", "choose at least one")
        failed: list[PorticoError] = []
        for each in dict.fromkeys(chosen):
            try:
                found, _ = await desk.services.use.show_run(desk.caller, RunId.parse(each))
                await cancel_one(desk, found)
            except PorticoError as error:
                failed.append(error)
        if len(failed) == len(set(chosen)):
            raise failed[0]
    except PorticoError as error:
        return await _drawn(request, error)
    return done(back, "some" if failed else "cancelled")


async def _drawn(request: Request, problem: PorticoError | None = None) -> Response:
    values = {
        "listed": await listed(page_context(request), request),
        "kinds": KINDS,
        "said": _SAID.get(request.query_params.get("done", "")),
        "problem": problem,
        "base_url": page_context(request).services.use.base_url,
    }
    status = 200 if problem is None else status_of(problem)
    return await page(request, "runs/page.html", values, title="Runs", status=status)


routes: Final = [
    Route("/runs", show, methods=["GET"]),
    Route("/runs/list", show_list, methods=["GET"]),
    Route("/runs/cancel", cancel, methods=["POST"]),
]
