"""A workflow as its events tell it, followed while it runs."""

import json
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from portico.interfaces.cli.keystrokes import Inbox
from portico.interfaces.cli.server import RESET, Following, Server, api_path
from portico.interfaces.cli.server import ReceivedEvent as ServerTold
from portico.interfaces.cli.tools import whole_result
from portico.interfaces.cli.untrusted_text import visible
from portico.interfaces.cli.workflow_view import (
    ENDED,
    Branch,
    Items,
    State,
    StepView,
    Wait,
    WorkflowView,
    laid_out,
)
from portico.kernel.errors import Kind, PorticoError

# The report of the server is the truth; events arrive sooner, and know when something waited.

Told = Mapping[str, Any]

_CALL: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_-]*)((?:\[\d+\]|/[^~:/]+)*)(?:~[^:]*)?")
"""A call by its name: of a step, of a part of it (`read[3]`, `report/read`), again (`read~2`)."""
_RUN: Final = {
    "run.queued": "queued",
    "run.started": "running",
    "run.waiting": "waiting",
    "run.woken": "running",
    "run.resumed": "running",
    "run.taken_over": "running",
    "run.failed": "failed",
    "run.cancelled": "cancelled",
    "run.stuck": "stuck",
}
"""`run.done` is not among them: whether all of it was done, only the report says."""


def reported(
    report: Told, before: WorkflowView | None = None, as_of: datetime | None = None
) -> WorkflowView:
    """What the server says now; `before` is what was known, with what only events tell; `as_of`
    is when it was asked."""
    known = before.steps if before is not None else {}
    steps = [_step(step, known.get(step["id"])) for step in report["steps"]]
    ends = {step.id: step.ended for step in steps}
    steps = [_since_ready(step, ends, _moment(report["started_at"])) for step in steps]
    fresh = WorkflowView(
        run=report["run"],
        name=report["name"],
        kind=report.get("kind", "workflow"),
        status=report["status"],
        steps={step.id: step for step in steps},
        critical=frozenset(report["critical_path"]),
        started=_moment(report["started_at"]),
        ended=_moment(report["finished_at"]),
        as_of=as_of,
        output=report["output"],
        output_handle=report["output_handle"],
        printed=report.get("printed"),
        error=_failure(report["error"]),
    )
    if before is None:
        return fresh
    return replace(fresh, parked=before.parked, heard_at=before.heard_at)


def heard(view: WorkflowView, event: Told) -> WorkflowView:
    """What is in the report already only adds what the report does not say."""
    at = datetime.fromisoformat(event["at"])
    view = replace(view, heard_at=max(at, view.heard_at or at))
    kind, facts = event["type"], event.get("facts", {})
    old = view.as_of is not None and at <= view.as_of
    if kind in _RUN:
        return _of_run(view, kind, at, old=old)
    act = _ACTS.get(kind)
    name = _CALL.fullmatch(str(facts.get("step", "")))
    step = view.steps.get(name[1]) if name is not None else None
    if act is None or name is None or step is None:
        return view
    changed = act(step, f"{name[1]}{name[2]}", at, facts)
    return replace(view, steps={**view.steps, step.id: _kept(step, changed) if old else changed})


def _kept(step: StepView, changed: StepView) -> StepView:
    """When it waited, and for whom each part of it does."""
    asking = {} if step.state.over else changed.asking
    return replace(step, waits=changed.waits, asking=asking)


def _step(told: Told, before: StepView | None) -> StepView:
    state = State(told["state"])
    items = told["items"]
    asking = dict(before.asking) if before is not None and items is not None else {}
    if state.needs_somebody and not asking:
        asking = {told["id"]: told["approval"] if state is State.WAITING else None}
    ended = _moment(told["finished_at"])
    return StepView(
        id=told["id"],
        tool=told["tool"],
        needs=tuple(told["needs"]),
        state=state,
        why=_failure(told["error"]) or _clean(told["why"]),
        started=_moment(told["started_at"]) or _began_before(before, state),
        ended=ended,
        waits=_closed(before.waits, ended) if before is not None else (),
        tries=told["tries"],
        items=None if items is None else Items(items["all"], items["over"], items["failed"]),
        progress=None if before is None else before.progress,
        asking={} if state.over else asking,
        arguments={part: _called(call) for part, call in told.get("called_with", {}).items()},
    )


def _called(call: Told) -> str:
    """`files.write {"path": "/x"}, begun at 12:00:03`."""
    at = datetime.fromisoformat(call["started_at"]).astimezone()
    arguments = json.dumps(call["arguments"], ensure_ascii=False)
    return f"{visible(call['tool'])} {visible(arguments)}, begun at {at:%H:%M:%S}"


def _began_before(before: StepView | None, state: State) -> datetime | None:
    return before.started if before is not None and not state.over else None


def _since_ready(
    step: StepView, ends: Mapping[str, datetime | None], began: datetime | None
) -> StepView:
    """One that runs began when the last that it needs had ended: nothing else is waited for."""
    if step.state is not State.RUNNING or step.started is not None:
        return step
    needed = [end for end in map(ends.get, step.needs) if end is not None]
    return replace(step, started=max(needed, default=began))


def _of_run(view: WorkflowView, kind: str, at: datetime, *, old: bool) -> WorkflowView:
    status = view.status if old else _RUN[kind]
    parked = [*_closed(view.parked, at), *([Wait(at)] if kind == "run.waiting" else [])]
    return replace(view, status=status, parked=parked, started=view.started or _start(kind, at))


def _start(kind: str, at: datetime) -> datetime | None:
    return at if kind == "run.started" else None


def _started(step: StepView, name: str, at: datetime, _facts: Told) -> StepView:
    waits = _over(step, name, at)
    return replace(step, state=State.RUNNING, started=step.started or at, ended=None, waits=waits)


def _done(step: StepView, name: str, at: datetime, facts: Told) -> StepView:
    """One of many that is done is not the whole step; nor is one of the steps inside it."""
    began = at - timedelta(seconds=facts.get("seconds") or 0.0)
    known = replace(step, started=step.started or began, waits=_over(step, name, began))
    if name == step.id and step.items is None:
        return replace(known, state=State.DONE, ended=at, asking={})
    items = step.items
    if items is not None and name != step.id:
        items = replace(items, over=min(items.over + 1, items.all))
    return _settled(replace(known, state=State.RUNNING, ended=None, items=items), name)


def _failed(step: StepView, name: str, at: datetime, facts: Told) -> StepView:
    """Whether what failed is tried again, or stood in for, the report says."""
    began = at - timedelta(seconds=facts.get("seconds") or 0.0)
    return _settled(replace(step, started=step.started or began), name)


def _whole_done(step: StepView, _name: str, at: datetime, _facts: Told) -> StepView:
    return _ended(step, State.DONE, at, step.why)


def _whole_failed(step: StepView, _name: str, at: datetime, facts: Told) -> StepView:
    return _ended(step, State.FAILED, at, _clean(facts.get("code")))


def _skipped(step: StepView, _name: str, at: datetime, facts: Told) -> StepView:
    state = State(facts.get("state", State.SKIPPED))
    return _ended(step, state, at, _clean(facts.get("why")))


def _waiting(step: StepView, name: str, at: datetime, facts: Told) -> StepView:
    return _asks(step, State.WAITING, name, at, facts.get("approval"))


def _uncertain(step: StepView, name: str, at: datetime, _facts: Told) -> StepView:
    return _asks(step, State.UNCERTAIN, name, at, None)


def _retried(step: StepView, _name: str, _at: datetime, facts: Told) -> StepView:
    return replace(step, tries=max(step.tries, facts.get("attempt") or 0))


def _progress(step: StepView, name: str, _at: datetime, facts: Told) -> StepView:
    if name != step.id or not facts.get("total"):
        return step
    return replace(step, progress=min(facts["done"] / facts["total"], 1.0))


_ACTS: Final[Mapping[str, Callable[[StepView, str, datetime, Told], StepView]]] = {
    "step.started": _started,
    "step.done": _done,
    "step.failed": _failed,
    "workflow.step_done": _whole_done,
    "workflow.step_failed": _whole_failed,
    "workflow.step_skipped": _skipped,
    "workflow.step_waiting": _waiting,
    "workflow.step_uncertain": _uncertain,
    "workflow.step_retried": _retried,
    "workflow.step_progress": _progress,
}


def _asks(step: StepView, state: State, name: str, at: datetime, approval: str | None) -> StepView:
    waits = (*_closed(step.waits, at), Wait(at))
    others = {part: it for part, it in step.asking.items() if part != step.id}
    asking = {**others, name: approval}
    began = step.started or at
    return replace(step, state=state, started=began, ended=None, waits=waits, asking=asking)


def _ended(step: StepView, state: State, at: datetime, why: str | None) -> StepView:
    return replace(step, state=state, ended=at, why=why, waits=_closed(step.waits, at), asking={})


def _settled(step: StepView, name: str) -> StepView:
    """Nobody is asked about this part any more."""
    return replace(step, asking={key: it for key, it in step.asking.items() if key != name})


def _over(step: StepView, name: str, at: datetime) -> Sequence[Wait]:
    """A wait ends when the step itself goes on; another part of it does not end it."""
    return _closed(step.waits, at) if name == step.id else step.waits


def _closed(waits: Sequence[Wait], at: datetime | None) -> Sequence[Wait]:
    if at is None or not waits or waits[-1].until is not None:
        return waits
    return (*waits[:-1], replace(waits[-1], until=max(at, waits[-1].since)))


def _moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def _failure(error: Told | None) -> str | None:
    if error is None:
        return None
    code, message = error.get("code"), error["message"]
    return _clean(f"{code}: {message}" if code else message)


def _clean(text: str | None) -> str | None:
    """What others wrote is one line, does not move the cursor, and hides nothing."""
    return None if text is None else visible(" ".join(text.split()))


_KEPT: Final = re.compile(r"res_[0-9a-z]{26}")
_MOST: Final = 20
"""Steps whose words are asked for; of more, what the server says of them is enough."""
_LONGEST: Final = 500


@dataclass(frozen=True, slots=True)
class Failures:
    server: Server
    _words: dict[str, str] = field(default_factory=dict)
    """By where they are kept; empty if they are not for us."""

    def told(self, report: dict[str, Any]) -> dict[str, Any]:
        """The report, with each tool's own words for why it failed."""
        return {**report, "steps": [_saying(step, self._of(step)) for step in report["steps"]]}

    def _of(self, step: Told) -> str:
        error = step["error"]
        found = _KEPT.search(error["message"]) if error is not None else None
        if found is None:
            return ""
        if found[0] not in self._words and len(self._words) < _MOST:
            self._words[found[0]] = self._asked(found[0])
        return self._words.get(found[0], "")

    def _asked(self, kept: str) -> str:
        try:
            document = json.loads(whole_result(self.server, kept))
        except (PorticoError, ValueError):
            return ""
        text = str(document.get("text", "")) if isinstance(document, Mapping) else ""
        return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _saying(step: dict[str, Any], words: str) -> dict[str, Any]:
    return {**step, "error": {**step["error"], "message": words}} if words else step


# Each event counts at once, and the report soon after.

_RARELY: Final = 0.5
"""Seconds at least between two reports; a large one takes its time, and is asked for less often."""
_PATIENCE: Final = 4
"""So many times as long as the last one took is waited for the next."""
_SAME_CLOCK: Final = timedelta(seconds=2)
"""The server tells its time in whole seconds; a small difference is none."""


@dataclass(frozen=True, slots=True)
class Notice:
    """The server has gone, or is back."""

    text: str


@dataclass(frozen=True, slots=True)
class Bell:
    """Something may have happened."""


@dataclass(frozen=True, slots=True)
class Over:
    """There is nothing more to tell."""


News = ServerTold | Notice | Bell | Over | PorticoError


@dataclass(slots=True)
class Followed:
    server: Server
    run: str
    view: WorkflowView
    report: dict[str, Any]
    """As the server gave it."""
    _failures: Failures
    tree: tuple[Branch, ...] = ()
    stale: bool = False
    _shape: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _ask_again: float = 0.0
    _ahead: timedelta = timedelta()

    @classmethod
    def of(cls, server: Server, run: str) -> "Followed":
        asked = _our_time()
        report = server.get(api_path("workflows", run))
        followed = cls(server, run, reported(report), report, Failures(server))
        followed._look(report, asked)
        return followed

    @property
    def inline(self) -> bool:
        return bool(self.report["mode"] == "inline")

    def take(self, told: ServerTold | Bell) -> None:
        self.stale = True
        if isinstance(told, ServerTold) and told.type != RESET and "at" in told.data:
            self.view = heard(self.view, told.data)

    def refresh(self, *, at_once: bool = False) -> None:
        """Ask how it stands, if it is time. A server that has gone is asked again later."""
        began = time.monotonic()
        if not at_once and (not self.stale or began < self._ask_again):
            return
        try:
            asked = self.now()
            self._look(self.server.get(api_path("workflows", self.run)), asked)
            self.stale = False
        except PorticoError as error:
            if at_once or error.kind is not Kind.UNAVAILABLE:
                raise
        spent = time.monotonic() - began
        self._ask_again = time.monotonic() + max(_RARELY, spent * _PATIENCE)

    def now(self) -> datetime:
        """By the server's clock."""
        ours = _our_time() + self._ahead
        return max(ours, self.view.heard_at or ours)

    def met(self, server_time: datetime | None) -> None:
        if server_time is not None:
            difference = server_time - _our_time()
            self._ahead = difference if abs(difference) > _SAME_CLOCK else timedelta()

    def _look(self, report: dict[str, Any], as_of: datetime | None) -> None:
        self.report = report
        self.view = reported(self._failures.told(report), self.view, as_of)
        shape = {step.id: tuple(step.needs) for step in self.view.steps.values()}
        if shape != self._shape:
            self._shape, self.tree = shape, tuple(laid_out(shape))


def listening(followed: Followed) -> Inbox[News]:
    """What happens, told by another thread from now on, from the beginning of the run."""
    inbox: Inbox[News] = Inbox()
    threading.Thread(target=_listen, args=(followed, inbox), daemon=True).start()
    return inbox


def _listen(followed: Followed, inbox: Inbox[News]) -> None:
    try:
        for news in _asking(followed) if followed.inline else _hearing(followed, inbox):
            inbox.put(news)
        inbox.put(Over())
    except PorticoError as error:
        inbox.put(error)


def _hearing(followed: Followed, inbox: Inbox[News]) -> Iterator[News]:
    following = Following(followed.server, lambda text: inbox.put(Notice(text)))
    for number, told in enumerate(following(api_path("runs", followed.run, "events"))):
        if number == 0:
            followed.met(following.began_at)
        yield told


def _asking(followed: Followed) -> Iterator[News]:
    """What leaves no trace tells nothing by itself."""
    while True:
        report = followed.server.get(api_path("workflows", followed.run), wait=1)
        if report["status"] in ENDED:
            return
        yield Bell()


def _our_time() -> datetime:
    return datetime.now(UTC)  # noqa: TID251 # shown to a person
