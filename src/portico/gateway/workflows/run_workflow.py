"""Run what somebody wants run: a plan as they wrote it, or one that is saved."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from portico.engine.core.run import Started
from portico.gateway.core.accept_edges import with_edges
from portico.gateway.core.edges.propose import Edge
from portico.gateway.core.plan.expressions import Expressions
from portico.gateway.core.plan.faults import BadPlan, PlanFault
from portico.gateway.core.plan.plan import Plan
from portico.gateway.core.plan.reading import read_plan
from portico.gateway.core.plan.report import Mode
from portico.gateway.core.plan.writing import plan_document
from portico.gateway.core.saved_workflow_errors import OneOfPlanAndName
from portico.gateway.workflows.check_plan import CheckPlan
from portico.gateway.workflows.propose_edges import ProposeEdges
from portico.gateway.workflows.run_saved import SavedWish, StartSaved
from portico.gateway.workflows.start_workflow import StartWorkflow, WorkflowWish
from portico.guard.core.errors import NotPermitted
from portico.guard.core.roles import Scope
from portico.guard.permit import permit
from portico.kernel.json import JsonObject
from portico.kernel.label import Label
from portico.kernel.principal import Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class RunWorkflowWish:
    plan: JsonObject | None = None
    name: str | None = None
    inputs: JsonObject = field(default_factory=dict)
    mode: Mode = Mode.DURABLE
    key: str | None = None
    label: Label | None = None
    accept: Sequence[str] = ()
    """Proposed references that are meant."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunWorkflow:
    check_plan: CheckPlan
    propose_edges: ProposeEdges
    start_workflow: StartWorkflow
    start_saved: StartSaved
    expressions: Expressions

    async def __call__(self, caller: Principal, wish: RunWorkflowWish) -> Started:
        """Nothing is called before all of it is right. What a plan leaves out is not guessed: it
        is said where it could come from, and whoever wants that accepts it.

        Raises `NotPermitted`, `OneOfPlanAndName`, `BadPlan`, and what starting it raises."""
        permit(caller, Scope.TOOLS_CALL)
        if (wish.plan is None) == (wish.name is None):
            raise OneOfPlanAndName
        if wish.plan is None:
            return await self.start_saved.by_name(caller, _saved(wish))
        plan = await self._checked(caller, wish.plan, wish.accept)
        return await self.start_workflow(
            caller,
            WorkflowWish(
                plan=plan, inputs=wish.inputs, mode=wish.mode, key=wish.key, label=wish.label
            ),
        )

    async def _checked(
        self, caller: Principal, document: JsonObject, accept: Sequence[str]
    ) -> Plan:
        """Raises `BadPlan`."""
        plan = read_plan(document, self.expressions)
        if accept:
            plan = with_edges(plan, accept, self.expressions)
        written = plan_document(plan) if accept else document
        try:
            return (await self.check_plan(caller, written)).plan
        except BadPlan as error:
            if not any(fault.left_out for fault in error.faults):
                raise
            proposals = await self._proposals(caller, plan)
            raise BadPlan([*error.faults, *proposals]) from error

    async def _proposals(self, caller: Principal, plan: Plan) -> Sequence[PlanFault]:
        """None for whoever may not look for tools, or of a plan with tools that are not there."""
        try:
            proposed = await self.propose_edges.of(caller, plan)
        except (NotPermitted, BadPlan):
            return []
        places = {step.id: number for number, step in enumerate(plan.steps)}
        proposals = [
            _proposal(edge, places[edge.to_step])
            for edge in proposed.edges
            if (edge.to_step, edge.parameter) in proposed.needed
        ]
        return [*proposals, *_not_sought(proposed.left_out)]


def _not_sought(steps: Sequence[str]) -> Sequence[PlanFault]:
    if not steps:
        return []
    more = f" and {len(steps) - 1} more" if len(steps) > 1 else ""
    what = f"The plan is too long to look for what {steps[0]!r}{more} could be given."
    return [PlanFault("/steps", what, "Say it for them yourself, or make it shorter plans.")]


def _proposal(edge: Edge, number: int) -> PlanFault:
    return PlanFault(
        f"/steps/{number}/arguments/{edge.parameter}",
        f"could come from {str(edge).partition(' ')[0]} ({edge.confidence:.2f}: {edge.reason}).",
        f'If that is meant, accept "{edge}".',
    )


def _saved(wish: RunWorkflowWish) -> SavedWish:
    return SavedWish(
        name=wish.name or "",
        inputs=wish.inputs,
        mode=wish.mode,
        key=wish.key,
        label=wish.label,
    )
