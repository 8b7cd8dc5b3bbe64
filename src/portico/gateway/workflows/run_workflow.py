"""Run what somebody wants run: a plan as they wrote it, one that is saved, or one that was
suggested to them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from portico.engine.core.runs import Started
from portico.gateway.core.accept_edges import with_edges
from portico.gateway.core.plan.expressions import Expressions
from portico.gateway.core.plan.faults import BadPlan, PlanFault
from portico.gateway.core.plan.plan import Plan
from portico.gateway.core.plan.reading import read_plan
from portico.gateway.core.plan.report import Mode
from portico.gateway.core.plan.suggested_plan import (
    LONGEST_INTENT,
    AcceptedSuggestion,
    SuggestionId,
)
from portico.gateway.core.plan.writing import plan_document
from portico.gateway.core.saved_workflow_errors import OneOfPlanAndName
from portico.gateway.workflows.check_plan import CheckPlan
from portico.gateway.workflows.run_saved import SavedWish, StartSaved
from portico.gateway.workflows.start_workflow import StartWorkflow, WorkflowWish
from portico.guard.core.principals import Scope
from portico.guard.principals import permit
from portico.kernel.ids import RunId
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


class ProposedReferences(Protocol):
    """Guesses where the arguments that a plan leaves out could come from."""

    async def as_faults(self, caller: Principal, plan: Plan) -> Sequence[PlanFault]:
        """Each says how it is accepted. None for whoever may not look for tools, or of a plan with
        tools that are not there."""
        ...


class SuggestedPlans(Protocol):
    """Plans that were suggested to a caller; whether they are run tells what they were worth."""

    async def __call__(self, caller: Principal, suggestion: SuggestionId) -> AcceptedSuggestion:
        """Raises `SuggestionNotFound`, also when its hour is over."""
        ...

    async def ran(self, caller: Principal, suggestion: SuggestionId, run: RunId) -> None:
        """As it was suggested."""
        ...

    async def ran_instead(self, caller: Principal, plan: Plan, run: RunId) -> None:
        """A plan of the caller's own; it may be a suggested one, changed. Raises nothing."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RunWorkflow:
    check_plan: CheckPlan
    propose_edges: ProposedReferences
    start_workflow: StartWorkflow
    start_saved: StartSaved
    take_suggestion: SuggestedPlans
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
            intent=None if intent is None else intent.strip()[:LONGEST_INTENT] or None,
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
            proposals = await self.propose_edges.as_faults(caller, plan)
            raise BadPlan([*error.faults, *proposals]) from error


def _saved(wish: RunWorkflowWish) -> SavedWish:
    return SavedWish(
        name=wish.name or "",
        inputs=wish.inputs,
        mode=wish.mode,
        key=wish.key,
        label=wish.label,
    )
