"""What is known of a run, put together for whoever looks: by the use cases that every face has."""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

from portico.agents.core.errors import AgentRunNotFound
from portico.debate.core.debates import DebateId
from portico.engine.core.errors import RunNotFound
from portico.engine.core.runs import Run, Step
from portico.gateway.core.calls import ResultId
from portico.interfaces.console.desk import Desk
from portico.interfaces.console.screens.run.of_journal import planned, tasks_of_journal
from portico.interfaces.console.screens.run.of_plan import tasks_of_plan, tasks_of_program
from portico.interfaces.console.screens.run.of_trace import lost_ahead, tasks_of_trace
from portico.interfaces.console.screens.run.seen import Seen, Trouble, closed, critical_of, of_run
from portico.kernel.errors import PorticoError
from portico.kernel.ids import PrincipalId, RunId
from portico.kernel.json import JsonObject
from portico.kernel.principal import Principal
from portico.workflows.core.errors import NotAWorkflow
from portico.workflows.core.plan_report import WorkflowReport
from portico.workflows.core.programs import ProgramReport

PLACE: Final = "runs"
"""What is read here is not held against what its reader does elsewhere."""


@dataclass(frozen=True, slots=True)
class Looked:
    seen: Seen
    run: Run | None
    """None of one that is carried out in one process, and kept nowhere."""
    journal: Sequence[Step] = ()


async def look(desk: Desk, run: RunId) -> Looked:
    """Raises `NotPermitted`, `RunNotFound`."""
    caller, use = desk.at(PLACE), desk.house.use
    try:
        found, journal = await use.show_run(caller, run)
    except RunNotFound:
        return await _inline(desk, run)
    seen = of_run(found, caller)
    match found.kind:
        case "workflow":
            seen = await _planned(desk, found, seen, journal)
        case "program":
            seen = await _program(desk, run, seen, journal)
        case "agent":
            seen = await _agent(desk, run, found, seen, journal)
        case _:
            tasks = tasks_of_journal(found, journal)
            seen = replace(seen, tasks=tasks, total=planned(found))
    return Looked(_whole(seen, desk), found, journal)


def _whole(seen: Seen, desk: Desk) -> Seen:
    ended = (seen.finished_at or desk.now) if seen.over else None
    tasks = closed(seen.tasks, ended)
    critical = seen.critical or critical_of(tasks, desk.now)
    total = seen.total
    if total is None and seen.over:
        total = sum(task.works for task in tasks)
    return replace(seen, tasks=tasks, critical=critical, total=total)


async def _inline(desk: Desk, run: RunId) -> Looked:
    """Raises `NotPermitted`, `RunNotFound`."""
    caller, gateway = desk.at(PLACE), desk.house.gateway
    try:
        report = await gateway.workflows.show_workflow(caller, run)
        kind, tasks = "workflow", tasks_of_plan(report, ())
        printed = None
    except NotAWorkflow:
        program = await gateway.programs.show_program(caller, run)
        report, printed = program.whole, program.printed
        kind, tasks = "program", tasks_of_program(report, ())
    seen = Seen(
        id=str(run),
        kind=kind,
        status=str(report.status),
        principal=report.principal,
        mine=report.mine,
        label=report.label,
        created_at=report.created_at,
        started_at=report.started_at,
        finished_at=report.finished_at,
        tasks=tasks,
        printed=printed,
    )
    return Looked(_whole(_told(seen, report), desk), None)


async def _planned(desk: Desk, run: Run, seen: Seen, journal: Sequence[Step]) -> Seen:
    show = desk.house.gateway.workflows.show_workflow
    report = await show.of_read(desk.at(PLACE), run, journal)
    seen = replace(seen, tasks=tasks_of_plan(report, journal), total=len(report.steps))
    return _told(seen, report)


async def _program(desk: Desk, run: RunId, seen: Seen, journal: Sequence[Step]) -> Seen:
    program: ProgramReport = await desk.house.gateway.programs.show_program(desk.at(PLACE), run)
    tasks = tasks_of_program(program.whole, journal)
    return _told(replace(seen, tasks=tasks, printed=program.printed), program.whole)


def _told(seen: Seen, report: WorkflowReport) -> Seen:
    error = report.error
    return replace(
        seen,
        status=str(report.status),
        mode=str(report.mode),
        name=report.name,
        critical=frozenset(report.critical_path),
        error=None if error is None else Trouble(error.message, error.code, error.step),
        output=report.output,
        output_handle=report.output_handle,
    )


async def _agent(desk: Desk, run: RunId, found: Run, seen: Seen, journal: Sequence[Step]) -> Seen:
    """To whoever may not know what is said in it, what its journal says."""
    try:
        trace = await desk.house.agents.show_trace(desk.at(PLACE), run)
    except AgentRunNotFound:
        return replace(seen, tasks=tasks_of_journal(found, journal))
    its = trace.run
    error = None if its.error is None else Trouble(its.error, its.error_code)
    return replace(
        seen,
        status=str(its.status),
        tasks=tasks_of_trace(trace, journal),
        trace=trace,
        lost=lost_ahead(journal),
        started_at=seen.started_at or its.started_at,
        finished_at=its.ended_at or seen.finished_at,
        output=its.answer or None,
        error=error or seen.error,
    )


async def name_of_principal(desk: Desk, principal: str) -> str | None:
    """None for who may not know of others."""
    with suppress(PorticoError):
        found = await desk.house.use.show_principal(desk.caller, PrincipalId.parse(principal))
        return found.name
    return None


async def question_of(desk: Desk, seen: Seen) -> str | None:
    if seen.debate is None:
        return None
    with suppress(PorticoError):
        which = DebateId.parse(seen.debate)
        whole = await desk.house.debates.look.one(desk.at(PLACE), which)
        return whole.debate.question.text
    return None


async def plan_of(desk: Desk, seen: Seen) -> JsonObject:
    """What it was started with: for whoever started it; for others, and later, nothing."""
    if seen.plan is None or not seen.mine or seen.mode == "inline":
        return {}
    text = await whole_result(desk.at(PLACE), desk, seen.plan)
    with suppress(ValueError):
        found = json.loads(text) if text else {}
        return found if isinstance(found, Mapping) else {}
    return {}


async def whole_result(caller: Principal, desk: Desk, handle: str) -> str | None:
    """None of what is kept no longer, or for somebody else."""
    with suppress(PorticoError):
        return await desk.house.gateway.read_result.whole(caller, ResultId.parse(handle))
    return None
