"""What a run does, one task at a time, from its journal, plan or trace."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import pairwise
from typing import Final

from portico.agents.core.activation import TurnNoted
from portico.agents.core.traces import ToolUse, TurnTrace, WholeTrace
from portico.engine.core.runs import Run, RunStatus, Step, StepState
from portico.workflows.core.plan_progress import step_asked
from portico.workflows.core.plan_report import (
    Items,
    StepReport,
    StepStatus,
    WorkflowReport,
    owner,
)
from portico.workflows.core.programs import call_name, turns_in


class State(StrEnum):
    """How a task stands; each has a word of its own, so that no colour has to say it alone."""

    QUEUED = "queued"
    RUNNING = "running"
    WAITING = "waiting"
    """For somebody's yes."""
    ASLEEP = "asleep"
    """For a time, or for something to be told."""
    UNCERTAIN = "uncertain"
    DONE = "done"
    FAILED = "failed"
    SKIPPED = "skipped"
    NOT_NEEDED = "not_needed"

    @property
    def over(self) -> bool:
        return self in _OVER

    @property
    def text(self) -> str:
        return _WORDS.get(self, str(self))


_OVER: Final = frozenset({State.DONE, State.FAILED, State.SKIPPED, State.NOT_NEEDED})
_WORDS: Final = {
    State.WAITING: "needs approval",
    State.ASLEEP: "waits",
    State.UNCERTAIN: "nobody knows",
    State.NOT_NEEDED: "not needed",
}


class Sort(StrEnum):
    RAN = "ran"
    FAILED = "failed"
    """An attempt that came to nothing."""
    WAITED = "waited"
    """Nothing was done meanwhile: somebody or a time was waited for."""


@dataclass(frozen=True, slots=True)
class Span:
    start: datetime
    end: datetime | None
    """None while it goes on."""
    sort: Sort = Sort.RAN


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    name: str
    """By which it is known in its run."""
    tool: str
    """`server.tool`, or in words what it is."""
    state: State
    needs: Sequence[str] = ()
    spans: Sequence[Span] = ()
    tries: int = 0
    ahead: bool = False
    """Whether it was begun before it was asked for."""
    items: Items | None = None
    why: str | None = None
    """Why it failed, was left out, or waits."""
    approval: str | None = None
    handle: str | None = None
    """Where what it gave is kept, for whoever may read it."""
    size: int | None = None
    code: str | None = None
    """Of the error that ended it."""

    @property
    def server(self) -> str:
        server, dot, _ = self.tool.partition(".")
        return server if dot else ""

    @property
    def short(self) -> str:
        server, dot, tool = self.tool.partition(".")
        return tool if dot else server

    @property
    def works(self) -> bool:
        """Whether it is more than a pause."""
        return not self.spans or any(span.sort is not Sort.WAITED for span in self.spans)

    @property
    def started(self) -> datetime | None:
        return min((span.start for span in self.spans), default=None)

    @property
    def ended(self) -> datetime | None:
        ends = [span.end for span in self.spans if span.end is not None]
        return max(ends, default=None) if len(ends) == len(self.spans) else None

    def took(self, now: datetime) -> timedelta | None:
        """What it was at work for, without what it waited."""
        work = [span for span in self.spans if span.sort is not Sort.WAITED]
        return covered(work, now) if work else None


def covered(spans: Sequence[Span], now: datetime) -> timedelta:
    """How long at least one of them was on."""
    if len(spans) == 1:
        [span] = spans
        return max((span.end or now) - span.start, timedelta(0))
    return sum((end - start for start, end in merged(spans, now)), timedelta(0))


def merged(spans: Iterable[Span], now: datetime) -> Sequence[tuple[datetime, datetime]]:
    """When at least one of them was on, in order, without overlaps."""
    found: list[tuple[datetime, datetime]] = []
    for start, end in sorted((span.start, max(span.end or now, span.start)) for span in spans):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((start, end))
    return found


_SIGNAL: Final = "signal:"
_APPROVAL: Final = "signal:~approval:"
_UNCERTAIN: Final = "signal:~uncertain:"


def tasks_of_journal(run: Run, journal: Sequence[Step]) -> Sequence[Task]:
    """What follows on what is read from the times: a step came after what had ended before it."""
    waiting = waits_of(journal)
    rows = [row for row in journal if not _folded(row, waiting)]
    tasks = [_task(row, run, waiting.get(row.name)) for row in rows]
    needs = _followed(rows)
    return [replace(task, needs=needs[task.name]) for task in tasks]


def waits_of(journal: Sequence[Step]) -> Mapping[str, tuple[State, Step, str | None]]:
    """By the call that waits for people: for what, since when, and which request that is."""
    asked = {row.name: row.output for row in journal}
    found: dict[str, tuple[State, Step, str | None]] = {}
    for row in journal:
        if row.state is not StepState.OPEN:
            continue
        if row.name.startswith(_APPROVAL):
            call = step_asked(row.name.removeprefix(_SIGNAL))
            output = asked.get(call)
            approval = output.get("approval") if isinstance(output, Mapping) else None
            named = approval if isinstance(approval, str) else None
            found[call] = (State.WAITING, row, named)
        elif row.name.startswith(_UNCERTAIN):
            call = row.name.removeprefix(_UNCERTAIN).rpartition(":")[0]
            found[call] = (State.UNCERTAIN, row, None)
    return found


def _folded(row: Step, waiting: Mapping[str, tuple[State, Step, str | None]]) -> bool:
    """A wait is drawn with the call that waits."""
    return any(row is each for _, each, _ in waiting.values())


def _task(row: Step, run: Run, waits: tuple[State, Step, str | None] | None) -> Task:
    is_wait = row.due_at is not None or row.name.startswith(_SIGNAL)
    sort = Sort.WAITED if is_wait else Sort.RAN
    spans = [Span(row.started_at, row.finished_at, sort if row.failure is None else Sort.FAILED)]
    state, approval = _state(row, run, is_wait=is_wait), None
    if waits is not None:
        state, wait, approval = waits
        spans.append(Span(wait.started_at, None, Sort.WAITED))
    return Task(
        name=row.name,
        tool=_words(row.name),
        state=state,
        spans=spans,
        tries=1,
        why=None if row.failure is None else row.failure.message,
        approval=approval,
        code=None if row.failure is None else row.failure.code,
    )


def _state(row: Step, run: Run, *, is_wait: bool) -> State:
    match row.state:
        case StepState.DONE:
            return State.DONE
        case StepState.FAILED:
            return State.FAILED
        case StepState.OPEN if run.status.over:
            return State.SKIPPED
        case StepState.OPEN:
            return State.ASLEEP if is_wait else State.RUNNING


def _words(name: str) -> str:
    if not name.startswith(_SIGNAL):
        return name
    return f"wait for {name.removeprefix(_SIGNAL)}"


def _followed(rows: Sequence[Step]) -> Mapping[str, tuple[str, ...]]:
    """Of each, what had ended before it began and nothing else had come in between; one after the
    other where no two were on at once."""
    if all(
        before.finished_at is not None and before.finished_at <= row.started_at
        for before, row in pairwise(rows)
    ):
        names = [row.name for row in rows]
        return {name: (names[at - 1],) if at else () for at, name in enumerate(names)}
    ended = sorted(
        ((row.finished_at, at) for at, row in enumerate(rows) if row.finished_at is not None)
    )
    ends = [end for end, _ in ended]
    latest: list[tuple[datetime, int]] = []  # of the first n to end, which began last
    for _, at in ended:
        began = (rows[at].started_at, at)
        latest.append(max(latest[-1], began) if latest else began)
    return {row.name: _before(row, rows, ended, ends, latest) for row in rows}


def _before(
    row: Step,
    rows: Sequence[Step],
    ended: Sequence[tuple[datetime, int]],
    ends: Sequence[datetime],
    latest: Sequence[tuple[datetime, int]],
) -> tuple[str, ...]:
    many = bisect_right(ends, row.started_at)
    while many and rows[ended[many - 1][1]] is row:
        many -= 1
    if not many:
        return ()
    since, last = latest[many - 1]
    first = bisect_right(ends, since)
    near = {at for _, at in ended[first:many] if rows[at] is not row} | {last}
    return tuple(rows[at].name for at in sorted(near) if rows[at] is not row)


def planned(run: Run) -> int | None:
    """How many steps a drill is to have: it is the only one that says so beforehand."""
    many = run.input.get("steps")
    known = run.kind == "drill" and isinstance(many, int)
    return many if known and isinstance(many, int) else None


def goes_on(run: Run) -> bool:
    return run.status in {RunStatus.QUEUED, RunStatus.RUNNING}


_STATES: Final[Mapping[StepStatus, State]] = {
    StepStatus.PENDING: State.QUEUED,
    StepStatus.RUNNING: State.RUNNING,
    StepStatus.WAITING: State.WAITING,
    StepStatus.UNCERTAIN: State.UNCERTAIN,
    StepStatus.DONE: State.DONE,
    StepStatus.FAILED: State.FAILED,
    StepStatus.SKIPPED: State.SKIPPED,
    StepStatus.NOT_NEEDED: State.NOT_NEEDED,
}
_RETRIED: Final = re.compile(r"(.*):retried:[0-9]+")
_TOLD: Final = re.compile(r"[^:]*:[a-z]")
"""What was told of a step, and is no work of its own."""
_ASIDE: Final = re.compile(r".*~(?:when|items|approved(?:-[0-9]+)?|said-[0-9]+)")
"""What takes no time to speak of."""


def tasks_of_plan(report: WorkflowReport, journal: Sequence[Step]) -> Sequence[Task]:
    """Without a journal, as far as the report says when it was."""
    rows: dict[str, list[Step]] = {}
    for row in journal:
        rows.setdefault(owner(row.name), []).append(row)
    tasks = [_planned_task(step, rows.get(step.id, ())) for step in report.steps]
    return _running(tasks, report)


def tasks_of_program(report: WorkflowReport, journal: Sequence[Step]) -> Sequence[Task]:
    """A call was made when the program had what earlier ones gave: by its turns."""
    needs: dict[str, tuple[str, ...]] = {}
    for turn in turns_in(journal):
        given = tuple(call_name(number) for number in turn.given)
        needs |= {call_name(number): given for number in turn.calls}
    tasks = tasks_of_plan(report, journal)
    return [replace(task, needs=needs.get(task.name, ())) for task in tasks]


def owner_of(name: str, kind: str) -> str:
    """The task that a name in the journal of such a run belongs to."""
    if kind in {"workflow", "program"}:
        return owner(name)
    if name.startswith(_SIGNAL):
        call = name.removeprefix(f"{_SIGNAL}~approval:").removeprefix(f"{_SIGNAL}~uncertain:")
        return call.rpartition(":")[0] if call != name else name
    return re.split(r"[~:]", name, maxsplit=1)[0] if kind == "agent" else name


def _planned_task(step: StepReport, rows: Sequence[Step]) -> Task:
    return Task(
        name=step.id,
        tool=step.tool,
        state=_STATES[step.state],
        needs=tuple(step.needs),
        spans=_spans(step, rows),
        tries=step.tries,
        items=step.items,
        why=step.why,
        approval=step.approval,
        handle=step.handle,
        size=step.size,
        code=None if step.error is None else step.error.code,
    )


def _spans(step: StepReport, rows: Sequence[Step]) -> Sequence[Span]:
    if not rows:
        return _told_spans(step)
    if len(rows) == 1 and rows[0].name == step.id:
        return _attempts(rows[0], ())  # as most are
    retries: dict[str, list[Step]] = {}
    for row in rows:
        if (fits := _RETRIED.fullmatch(row.name)) is not None:
            retries.setdefault(fits[1], []).append(row)
    spans: list[Span] = []
    for row in rows:
        if row.name.startswith(_SIGNAL):
            spans.append(Span(row.started_at, row.finished_at, Sort.WAITED))
        elif not _TOLD.match(row.name) and not _ASIDE.fullmatch(row.name):
            spans += _attempts(row, retries.get(row.name, ()))
    return sorted(spans, key=lambda span: span.start)


def _told_spans(step: StepReport) -> Sequence[Span]:
    if step.started_at is None:
        return ()
    sort = Sort.FAILED if step.state is StepStatus.FAILED else Sort.RAN
    over = step.state.over or step.state is StepStatus.WAITING
    return [Span(step.started_at, (step.finished_at or step.started_at) if over else None, sort)]


def _attempts(row: Step, retries: Sequence[Step]) -> Sequence[Span]:
    """Each that failed ended when it was told so; then there was a pause."""
    start, found = row.started_at, list[Span]()
    for told in sorted(retries, key=lambda told: told.started_at):
        found.append(Span(start, max(told.started_at, start), Sort.FAILED))
        pause = told.output.get("seconds") if isinstance(told.output, Mapping) else None
        seconds = pause if isinstance(pause, int | float) else 0
        start = told.started_at + timedelta(seconds=seconds)
    end = row.finished_at
    sort = Sort.RAN if row.failure is None else Sort.FAILED
    return [*found, Span(start if end is None else min(start, end), end, sort)]


def _running(tasks: Sequence[Task], report: WorkflowReport) -> Sequence[Task]:
    """What is under way is not in the journal yet: it began when what it waits for was over."""
    ended = {task.name: task.ended for task in tasks}
    begun = report.started_at
    if begun is None:
        return tasks
    return [
        replace(task, spans=(*task.spans, Span(_since(task, ended, begun), None)))
        if task.state is State.RUNNING and not any(span.end is None for span in task.spans)
        else task
        for task in tasks
    ]


def _since(task: Task, ended: Mapping[str, datetime | None], begun: datetime) -> datetime:
    after = [end for need in task.needs if (end := ended.get(need)) is not None]
    own = [] if task.ended is None else [task.ended]
    return max([begun, *after, *own])


_MODEL: Final = "model"


def tasks_of_trace(trace: WholeTrace, journal: Sequence[Step]) -> Sequence[Task]:
    uses: dict[int, list[ToolUse]] = {}
    for use in trace.uses:
        uses.setdefault(use.turn, []).append(use)
    tasks: list[Task] = []
    before: tuple[str, ...] = ()
    for turn in sorted(trace.turns, key=lambda turn: turn.number):
        tasks.append(_turn(turn, before))
        used = sorted(uses.get(turn.number, ()), key=lambda use: use.position)
        tasks += [_use(use) for use in used]
        tasks += _waiting(turn, used, journal)
        before = tuple(task.name for task in tasks if task.name.startswith(f"call-{turn.number}-"))
        before = before or (tasks[-1].name,)
    return [*tasks, *_under_way(trace, tasks, before)]


def lost_ahead(journal: Sequence[Step]) -> int:
    """Calls that were begun early for an answer that then came to nothing."""
    turns = [TurnNoted.from_json(row.output) for row in journal if turn_of(row.name) is not None]
    return sum(turn.lost for turn in turns)


def turn_of(name: str) -> int | None:
    """The number of the turn that a task of such a run is."""
    number = name.removeprefix("turn-")
    return int(number) if name.startswith("turn-") and number.isdigit() else None


def use_of(name: str) -> tuple[int, int] | None:
    """The turn, and the place in it, of a use of a tool."""
    parts = name.split("-")
    if len(parts) == 3 and parts[0] == "call" and parts[1].isdigit() and parts[2].isdigit():
        return int(parts[1]), int(parts[2])
    return None


def _turn(turn: TurnTrace, before: tuple[str, ...]) -> Task:
    return Task(
        name=f"turn-{turn.number}",
        tool=f"{_MODEL}.turn {turn.number}",
        state=State.DONE,
        needs=before,
        spans=[Span(turn.started_at, turn.started_at + turn.took)],
        tries=turn.attempts,
    )


def _use(use: ToolUse) -> Task:
    sort = Sort.FAILED if use.failed else Sort.RAN
    return Task(
        name=f"call-{use.turn}-{use.position}",
        tool=use.tool,
        state=State.FAILED if use.failed else State.DONE,
        needs=(f"turn-{use.turn}",),
        spans=[Span(use.started_at, use.started_at + use.took, sort)],
        tries=1,
        ahead=use.early,
        approval=None if use.approval is None else str(use.approval),
        code=use.code,
    )


def _waiting(turn: TurnTrace, used: Sequence[ToolUse], journal: Sequence[Step]) -> Sequence[Task]:
    """What is asked for, and not written down as done yet."""
    known = {f"call-{use.turn}-{use.position}" for use in used}
    found: list[Task] = []
    for call, (state, row, approval) in waits_of(journal).items():
        place = use_of(call)
        if place is None or place[0] != turn.number or call in known:
            continue
        tool = turn.calls[place[1]].name if place[1] < len(turn.calls) else call
        found.append(
            Task(
                name=call,
                tool=_aimed(journal, place) or tool,
                state=state,
                needs=(f"turn-{turn.number}",),
                spans=[Span(row.started_at, None, Sort.WAITED)],
                approval=approval,
            )
        )
    return found


def _aimed(journal: Sequence[Step], place: tuple[int, int]) -> str | None:
    """Which tool a call of a turn means, as the journal has it."""
    row = next((row for row in journal if row.name == f"turn-{place[0]}"), None)
    aims = row.output.get("aims") if row is not None and isinstance(row.output, Mapping) else None
    if not isinstance(aims, Sequence) or place[1] >= len(aims):
        return None
    match aims[place[1]]:
        case [str(tool), *_]:
            return tool
        case _:
            return None


def _under_way(trace: WholeTrace, tasks: Sequence[Task], before: tuple[str, ...]) -> Sequence[Task]:
    if trace.run.status.over or any(not task.state.over for task in tasks):
        return ()
    ends = [task.ended for task in tasks if task.ended is not None]
    since: datetime = max(ends, default=trace.run.started_at)
    number = len(trace.turns) + 1
    return [
        Task(
            name=f"turn-{number}",
            tool=f"{_MODEL}.turn {number}",
            state=State.RUNNING,
            needs=before,
            spans=[Span(since, None)],
        )
    ]
