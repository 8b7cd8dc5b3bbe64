"""The tasks of a run of which no more is known than its journal: what was done, in its order."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import pairwise
from typing import Final

from portico.engine.core.runs import Run, RunStatus, Step, StepState
from portico.interfaces.console.screens.run.tasks import Sort, Span, State, Task
from portico.workflows.core.plan_progress import step_asked

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
