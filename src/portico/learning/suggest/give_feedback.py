"""Say what a suggestion was worth: only this moves how sure the next one has to be."""

from dataclasses import dataclass

from portico.guard.core.principals import Scope
from portico.guard.principals import permit
from portico.kernel.ids import RunId
from portico.kernel.principal import Principal
from portico.learning.core.suggest.kept_suggestion import KeptSuggestion
from portico.learning.core.suggest.threshold import Outcome
from portico.learning.suggest.settle import Settle
from portico.learning.suggest_ports import Suggestions
from portico.workflows.core.plan_learning import SuggestionId

About = RunId | SuggestionId


def about(text: str) -> About:
    """Raises `BadId`."""
    is_run = text.startswith(f"{RunId.prefix}_")
    return RunId.parse(text) if is_run else SuggestionId.parse(text)


@dataclass(frozen=True, slots=True, kw_only=True)
class GiveFeedback:
    suggestions: Suggestions
    settle: Settle

    async def __call__(self, caller: Principal, of: About, outcome: Outcome) -> KeptSuggestion:
        """Running a suggestion is to accept it, unless something else is said here. Raises
        `NotPermitted`, `SuggestionNotFound`, `NothingSuggested`."""
        permit(caller, Scope.TOOLS_CALL)
        if isinstance(of, RunId):
            of = (await self.suggestions.of_run(caller, of)).id
        return await self.settle(caller, of, outcome)
