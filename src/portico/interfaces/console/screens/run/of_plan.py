"""The tasks of a run that calls tools by a plan or a program: how they stand, and when they ran."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from portico.engine.core.runs import Step
from portico.interfaces.console.screens.run.tasks import Sort, Span, State, Task
from portico.workflows.core.plan_report import StepReport, StepStanding, WorkflowReport, owner
from portico.workflows.core.programs import call_name, turns_in

_STATES: Final[Mapping[StepStanding, State]] = {
    StepStanding.PENDING: State.QUEUED,
    StepStanding.RUNNING: State.RUNNING,
    StepStanding.WAITING: State.WAITING,
    StepStanding.UNCERTAIN: State.UNCERTAIN,
    StepStanding.DONE: State.DONE,
    StepStanding.FAILED: State.FAILED,
    StepStanding.SKIPPED: State.SKIPPED,
    StepStanding.NOT_NEEDED: State.NOT_NEEDED,
}
_SIGNAL: Final = "signal:"
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
    tasks = [_task(step, rows.get(step.id, ())) for step in report.steps]
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


def _task(step: StepReport, rows: Sequence[Step]) -> Task:
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
    sort = Sort.FAILED if step.state is StepStanding.FAILED else Sort.RAN
    over = step.state.over or step.state is StepStanding.WAITING
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
