"""Run what somebody wants run: a plan as they wrote it, one that is saved, or one that was
suggested to them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from portico.engine.core.runs import Started
from portico.gateway.core.accept_edges import with_edges
from portico.gateway.core.edges.propose import Edge
from portico.gateway.core.plan.expressions import Expressions
from portico.gateway.core.plan.faults import BadPlan, PlanFault
from portico.gateway.core.plan.plan import Plan
from portico.gateway.core.plan.reading import read_plan
from portico.gateway.core.plan.report import Mode
from portico.gateway.core.plan.writing import plan_document
from portico.gateway.core.saved_workflow_errors import OneOfPlanAndName
from portico.gateway.core.suggest.kept_plan import MOST_WORDS
from portico.gateway.core.suggest.kept_suggestion import SuggestionId
from portico.gateway.suggest.take_suggestion import TakeSuggestion
from portico.gateway.workflows.check_plan import CheckPlan
from portico.gateway.workflows.propose_edges import ProposeEdges
from portico.gateway.workflows.run_saved import SavedWish, StartSaved
from portico.gateway.workflows.start_workflow import StartWorkflow, WorkflowWish
from portico.guard.core.errors import NotPermitted
from portico.guard.core.principals import Scope
from portico.guard.principals import permit
from portico.kernel.json import JsonObject
from portico.kernel.label import Label
from portico.kernel.principal import Principal

_OTHERS: Final = 2
"""Of a plan, a name and a suggestion, that are not said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunWorkflowWish:
    plan: JsonObject | None = None
    name: str | None = None
    suggestion: SuggestionId | None = None
    intent: str | None = None
    """What a plan of the caller's own is for: learnt from if it goes well."""
    inputs: JsonObject = field(default_factory=dict)
    mode: Mode = Mode.DURABLE
    key: str | None = None
    label: Label | None = None
    accept: Sequence[str] = ()
    """Proposed references that are meant."""

    @property
    def says_what_to_run(self) -> bool:
        return self.plan is not None or self.name is not None or self.suggestion is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunWorkflow:
    check_plan: CheckPlan
    propose_edges: ProposeEdges
    start_workflow: StartWorkflow
    start_saved: StartSaved
    take_suggestion: TakeSuggestion
    expressions: Expressions

    async def __call__(self, caller: Principal, wish: RunWorkflowWish) -> Started:
        """Nothing is called before all of it is right. What a plan leaves out is not guessed: it
        is said where it could come from, and whoever wants that accepts it.

        Raises `NotPermitted`, `OneOfPlanAndName`, `SuggestionNotFound`, `BadPlan`, and what
        starting it raises."""
        permit(caller, Scope.TOOLS_CALL)
        if [wish.plan, wish.name, wish.suggestion].count(None) != _OTHERS:
            raise OneOfPlanAndName
        if wish.suggestion is not None:
            return await self._suggested(caller, wish, wish.suggestion)
        if wish.plan is None:
            return await self.start_saved.by_name(caller, _saved(wish))
        plan = await self._checked(caller, wish.plan, wish.accept)
        started = await self._started(caller, wish, plan, wish.intent)
        await self.take_suggestion.ran_instead(caller, plan, started.run.id)
        return started

    async def _suggested(
        self, caller: Principal, wish: RunWorkflowWish, suggestion: SuggestionId
    ) -> Started:
        taken = await self.take_suggestion(caller, suggestion)
        plan = await self._checked(caller, taken.plan, wish.accept)
        started = await self._started(caller, wish, plan, taken.intent)
        await self.take_suggestion.ran(caller, suggestion, started.run.id)
        return started

    async def _started(
        self, caller: Principal, wish: RunWorkflowWish, plan: Plan, intent: str | None
    ) -> Started:
        wanted = WorkflowWish(
            plan=plan,
            inputs=wish.inputs,
            mode=wish.mode,
            key=wish.key,
            label=wish.label,
            intent=None if intent is None else intent.strip()[:MOST_WORDS] or None,
        )
        return await self.start_workflow(caller, wanted)

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
