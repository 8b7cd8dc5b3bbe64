"""Run what was suggested, or something else instead: either says what the suggestion was worth."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from portico.gateway.core.calls import KeptResult
from portico.gateway.core.errors import ResultNotFound
from portico.gateway.ports import Results
from portico.guard.ports import Contexts
from portico.kernel.clock import Clock
from portico.kernel.errors import PorticoError
from portico.kernel.ids import RunId
from portico.kernel.principal import Principal
from portico.learning.core.suggest.kept_suggestion import KeptSuggestion, SuggestionNotFound
from portico.learning.core.suggest.threshold import Outcome
from portico.learning.suggest.settle import Settle
from portico.learning.suggest_ports import Suggestions
from portico.workflows.core.plan import Expressions, Plan
from portico.workflows.core.plan_documents import plan_document, read_plan
from portico.workflows.core.plan_learning import AcceptedSuggestion, SuggestionId

_OPEN: Final = 3
"""Of the latest suggestions, that a plan may be made of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TakeSuggestion:
    suggestions: Suggestions
    results: Results
    contexts: Contexts
    settle: Settle
    expressions: Expressions
    clock: Clock

    async def __call__(self, caller: Principal, suggestion: SuggestionId) -> AcceptedSuggestion:
        """Raises `SuggestionNotFound`, also when its hour is over."""
        kept = await self._kept(caller, await self.suggestions.get(caller, suggestion))
        await self.contexts.rise(caller, kept.label, untrusted=kept.untrusted)
        return _taken(kept)

    async def ran(self, caller: Principal, suggestion: SuggestionId, run: RunId) -> None:
        """As it was suggested."""
        found = await self.suggestions.get(caller, suggestion)
        if found.outcome is None:
            await self.settle(caller, suggestion, Outcome.ACCEPTED, run)

    async def ran_instead(self, caller: Principal, plan: Plan, run: RunId) -> None:
        """A plan of the caller's own. If it has the same tools as one that was suggested lately,
        it is that one, changed. That it could not be noted is no reason not to run it."""
        with suppress(PorticoError):
            for found in await self.suggestions.latest(caller, _OPEN):
                if found.outcome_at(self.clock.now()) is None:
                    taken = _taken(await self._kept(caller, found))
                    if (outcome := self._compared(taken, plan)) is not None:
                        await self.settle(caller, found.id, outcome, run)
                        return

    async def _kept(self, caller: Principal, found: KeptSuggestion) -> KeptResult:
        """Raises `SuggestionNotFound`."""
        try:
            return await self.results.get(caller, found.plan, self.clock.now())
        except ResultNotFound as error:
            raise SuggestionNotFound(str(found.id)) from error

    def _compared(self, taken: AcceptedSuggestion, plan: Plan) -> Outcome | None:
        suggested = read_plan(taken.plan, self.expressions)
        if plan_document(suggested) == plan_document(plan):
            return Outcome.ACCEPTED
        same = [step.tool for step in suggested.steps] == [step.tool for step in plan.steps]
        return Outcome.MODIFIED if same else None


def _taken(kept: KeptResult) -> AcceptedSuggestion:
    content = kept.content if isinstance(kept.content, Mapping) else {}
    plan = content.get("plan")
    return AcceptedSuggestion(plan if isinstance(plan, Mapping) else {}, str(content.get("intent")))
