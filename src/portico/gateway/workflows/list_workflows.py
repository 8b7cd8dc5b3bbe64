"""Which plans were run: everybody's for those who may see runs, and otherwise one's own."""

from collections.abc import Sequence
from dataclasses import dataclass

from portico.engine.core.runs import Run, RunPosition, RunStatus
from portico.gateway.core.plan.outline import outline_from
from portico.gateway.core.plan.report import StepStanding
from portico.gateway.core.plan.standings import standings
from portico.gateway.core.program.program import PROGRAM
from portico.gateway.core.program.report import calls_in, turns_in
from portico.gateway.workflows.engines import Engines
from portico.gateway.workflows.run_plan import WORKFLOW
from portico.guard.core.principals import Scope
from portico.guard.principals import permit
from portico.kernel.principal import Principal


@dataclass(frozen=True, slots=True)
class WorkflowLine:
    run: Run
    name: str | None
    steps: int
    over: int
    """Steps that are over, however they ended."""
    done: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ListWorkflows:
    engines: Engines

    async def __call__(
        self,
        caller: Principal,
        *,
        statuses: Sequence[RunStatus] = (),
        before: RunPosition | None = None,
        limit: int,
    ) -> Sequence[WorkflowLine]:
        """Newest first, of the durable ones, programs among them. Raises `NotPermitted`."""
        everybodys = caller.may(Scope.RUNS_READ)
        if not everybodys:
            permit(caller, Scope.TOOLS_CALL)
        found = [
            run
            for kind in (WORKFLOW, PROGRAM)
            for run in await self.engines.durable.book.page(
                caller,
                statuses=statuses,
                kind=kind,
                before=before,
                limit=limit,
                of=None if everybodys else caller.id,
            )
        ]
        found.sort(key=lambda run: (run.created_at, run.id), reverse=True)
        return [await self._line(caller, run) for run in found[:limit]]

    async def _line(self, caller: Principal, run: Run) -> WorkflowLine:
        name = run.input.get("name")
        journal = await self.engines.durable.book.steps(caller, run.id)
        program = run.kind == PROGRAM
        outline = calls_in(turns_in(journal)) if program else outline_from(run.input)
        steps = standings(outline, run, journal)
        over = sum(step.state.over for step in steps)
        named = name if isinstance(name, str) else None
        done = sum(step.state is StepStanding.DONE for step in steps)
        return WorkflowLine(run, named, len(outline), over, done)
