"""Where past plans and suggestions are kept."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Protocol

from portico.kernel.ids import RunId
from portico.kernel.principal import Principal
from portico.learning.core.suggest.kept_plan import KeptPlan, PastPlanId
from portico.learning.core.suggest.kept_suggestion import KeptSuggestion
from portico.learning.core.suggest.threshold import Outcome
from portico.workflows.core.plan_learning import SuggestionId


class PastPlanBook(Protocol):
    """The plans of a space that went well. What is above a caller's clearance is not there."""

    async def learn(self, caller: Principal, plan: KeptPlan) -> None:
        """Its runs are added to those of the one with the same id."""
        ...

    async def latest(self, caller: Principal, most: int, of_another: int) -> Sequence[KeptPlan]:
        """The lately used first, no more than `of_another` of anybody else; without the words of
        others."""
        ...

    async def judge(
        self,
        caller: Principal,
        plans: Sequence[PastPlanId],
        outcome: Outcome,
        *,
        before: Outcome | None,
    ) -> None:
        """One more such outcome of each, and one less of what it was `before`."""
        ...


class Suggestions(Protocol):
    """Each only for whoever it was made for."""

    async def keep(self, caller: Principal, suggestion: KeptSuggestion) -> None: ...

    async def get(self, caller: Principal, suggestion: SuggestionId) -> KeptSuggestion:
        """Raises `SuggestionNotFound`."""
        ...

    async def of_run(self, caller: Principal, run: RunId) -> KeptSuggestion:
        """Raises `NothingSuggested`."""
        ...

    async def latest(self, caller: Principal, most: int) -> Sequence[KeptSuggestion]:
        """The latest first."""
        ...

    async def words_on(
        self, caller: Principal, plans: Sequence[PastPlanId]
    ) -> Mapping[PastPlanId, Outcome]:
        """The latest that the caller said of anything that leant on them; until the transaction
        ends, they say nothing else."""
        ...

    async def settle(
        self,
        caller: Principal,
        suggestion: SuggestionId,
        outcome: Outcome,
        at: datetime,
        run: RunId | None = None,
    ) -> KeptSuggestion:
        """As it is then. The latest word counts, and of several runs the first. Raises
        `SuggestionNotFound`."""
        ...
