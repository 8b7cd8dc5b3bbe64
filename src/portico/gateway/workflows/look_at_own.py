"""How the caller's own runs stand: which there are, and how far one has come, without a value."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from portico.engine.core.errors import RunNotFound
from portico.engine.core.runs import Run, Step
from portico.gateway.core.plan.report import StepReport
from portico.gateway.workflows.engines import Engines, EngineSide
from portico.gateway.workflows.run_plan import WORKFLOW
from portico.gateway.workflows.show_workflow import ShowWorkflow
from portico.guard.core.principals import Scope
from portico.guard.principals import permit
from portico.kernel.ids import RunId
from portico.kernel.principal import Principal

_LATEST: Final = 200
"""Runs among which those of one task are looked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnStep:
    name: str
    state: str
    tool: str | None = None
    seconds: float | None = None
    approval: str | None = None
    """The request for approval that it waits for, or waited for."""
    error: str | None = None
    """A code."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnRun:
    id: RunId
    kind: str
    status: str
    created_at: datetime
    finished_at: datetime | None
    name: str | None = None
    error: str | None = None
    """A code."""
    output: str | None = None
    """Where what it gave is kept, if it is and it was a plan."""
    steps: Sequence[OwnStep] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LookAtOwn:
    engines: Engines
    show: ShowWorkflow

    async def latest(self, caller: Principal, *, limit: int) -> Sequence[OwnRun]:
        """Those that are kept in the database, newest first, without their steps.
        Raises `NotPermitted`."""
        permit(caller, Scope.TOOLS_CALL)
        found = await self.engines.durable.book.page(
            caller,
            statuses=(),
            kind=None,
            before=None,
            limit=_LATEST if caller.shared else limit,
            of=caller.id,
        )
        return [_told(run) for run in found if _own(caller, run)][:limit]

    async def one(self, caller: Principal, run: RunId) -> OwnRun:
        """That of another does not exist. Raises `NotPermitted`, `RunNotFound`."""
        permit(caller, Scope.TOOLS_CALL)
        found, side = await self.engines.find(caller, run)
        if not _own(caller, found):
            raise RunNotFound(str(run))
        if found.kind == WORKFLOW:
            return await self._plan(caller, found, side)
        steps = await side.book.steps(caller, run)
        return _told(found, steps=[_step(step) for step in steps])

    async def _plan(self, caller: Principal, run: Run, side: EngineSide) -> OwnRun:
        report = await self.show.report(caller, run, side)
        return _told(
            run,
            status=str(report.status),
            name=report.name,
            output=report.output_handle,
            steps=[_step_of_plan(step) for step in report.steps],
        )


def _own(caller: Principal, run: Run) -> bool:
    """Of an agent that acts for several people, what was begun in the task that it is at."""
    if run.principal != caller.id:
        return False
    asker = run.input.get("asker")
    at = asker.get("context") if isinstance(asker, Mapping) else None
    return not caller.shared or at == str(caller.context)


def _told(
    run: Run,
    *,
    status: str | None = None,
    name: str | None = None,
    output: str | None = None,
    steps: Sequence[OwnStep] = (),
) -> OwnRun:
    return OwnRun(
        id=run.id,
        kind=run.kind,
        status=status or str(run.status),
        created_at=run.created_at,
        finished_at=run.finished_at,
        name=name,
        error=None if run.failure is None else run.failure.code or run.failure.type,
        output=output,
        steps=steps,
    )


def _step(step: Step) -> OwnStep:
    took = None if step.finished_at is None else step.finished_at - step.started_at
    return OwnStep(
        name=step.name,
        state=str(step.state),
        seconds=None if took is None else took.total_seconds(),
        error=None if step.failure is None else step.failure.code or step.failure.type,
    )


def _step_of_plan(step: StepReport) -> OwnStep:
    return OwnStep(
        name=step.id,
        state=str(step.state),
        tool=step.tool,
        seconds=step.seconds,
        approval=step.approval,
        error=None if step.error is None else step.error.code,
    )
