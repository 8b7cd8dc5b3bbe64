"""What became of a suggestion, and so of the past plans that it leant on."""

from dataclasses import dataclass

from portico.guard.ports import Together
from portico.kernel.clock import Clock
from portico.kernel.ids import RunId
from portico.kernel.principal import Principal
from portico.learning.core.suggest.kept_suggestion import KeptSuggestion
from portico.learning.core.suggest.threshold import Outcome
from portico.learning.suggest_ports import PastPlanBook, Suggestions
from portico.workflows.core.plan_learning import SuggestionId


@dataclass(frozen=True, slots=True, kw_only=True)
class Settle:
    suggestions: Suggestions
    past: PastPlanBook
    together: Together
    clock: Clock

    async def __call__(
        self,
        caller: Principal,
        suggestion: SuggestionId,
        outcome: Outcome,
        run: RunId | None = None,
    ) -> KeptSuggestion:
        """As it is now. Of what one principal says of a past plan, however often, the latest word
        counts, and once. Raises `SuggestionNotFound`."""
        async with self.together(caller):
            past = (await self.suggestions.get(caller, suggestion)).past
            said = await self.suggestions.words_on(caller, past)
            for before in {said.get(plan) for plan in past} - {outcome}:
                plans = [plan for plan in past if said.get(plan) is before]
                await self.past.judge(caller, plans, outcome, before=before)
            return await self.suggestions.settle(caller, suggestion, outcome, self.clock.now(), run)
