"""Past plans and suggestions in memory; and makers of them."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from portico.gateway.core.calls import ResultId
from portico.kernel.ids import PrincipalId, RunId
from portico.kernel.label import PUBLIC, Label, may_read
from portico.kernel.principal import Principal
from portico.learning.core.suggest.kept_plan import KeptPlan, PastPlanId
from portico.learning.core.suggest.kept_suggestion import (
    LIFE,
    KeptSuggestion,
    NothingSuggested,
    SuggestionNotFound,
)
from portico.learning.core.suggest.mode import Mode
from portico.learning.core.suggest.threshold import Outcome
from portico.testing.kernel import BEGINNING, SeededEntropy
from portico.testing.world import MemoryWorld, RowRefused
from portico.workflows.core.plan_learning import SuggestionId


class MemoryPastPlans:
    def __init__(self, world: MemoryWorld) -> None:
        self._world = world

    async def learn(self, caller: Principal, plan: KeptPlan) -> None:
        _check(self._world, caller, plan.label)
        before = self._world.past_plans.get((caller.space, plan.id))
        self._world.past_plans[caller.space, plan.id] = (
            plan if before is None else _added(before, plan)
        )

    async def latest(self, caller: Principal, most: int, of_another: int) -> Sequence[KeptPlan]:
        every = sorted(self._seen(caller), key=lambda plan: plan.id.value)
        every.sort(key=lambda plan: plan.last_at, reverse=True)
        seen: Counter[PrincipalId] = Counter()
        found = []
        for plan in every:
            seen[plan.principal] += 1
            if plan.principal == caller.id:
                found.append(plan)
            elif seen[plan.principal] <= of_another:
                found.append(replace(plan, intent=""))
        return found[:most]

    async def judge(
        self,
        caller: Principal,
        plans: Sequence[PastPlanId],
        outcome: Outcome,
        *,
        before: Outcome | None,
    ) -> None:
        for plan in self._seen(caller):
            if plan.id in plans:
                self._world.past_plans[caller.space, plan.id] = replace(
                    plan,
                    accepted=_moved(plan.accepted, Outcome.ACCEPTED, outcome, before),
                    rejected=_moved(plan.rejected, Outcome.REJECTED, outcome, before),
                    modified=_moved(plan.modified, Outcome.MODIFIED, outcome, before),
                )

    def _seen(self, caller: Principal) -> list[KeptPlan]:
        return [
            plan
            for (space, _), plan in self._world.past_plans.items()
            if space == caller.space and may_read(caller.clearance, plan.label)
        ]


class MemorySuggestions:
    def __init__(self, world: MemoryWorld) -> None:
        self._world = world

    async def keep(self, caller: Principal, suggestion: KeptSuggestion) -> None:
        _check(self._world, caller, suggestion.label)
        self._world.suggestions.insert((caller.space, suggestion.id), suggestion)

    async def get(self, caller: Principal, suggestion: SuggestionId) -> KeptSuggestion:
        found = [each for each in self._own(caller) if each.id == suggestion]
        if not found:
            raise SuggestionNotFound(str(suggestion))
        return found[0]

    async def of_run(self, caller: Principal, run: RunId) -> KeptSuggestion:
        found = [each for each in self._own(caller) if each.run == run]
        if not found:
            raise NothingSuggested(str(run))
        return found[0]

    async def latest(self, caller: Principal, most: int) -> Sequence[KeptSuggestion]:
        return self._own(caller)[:most]

    async def words_on(
        self, caller: Principal, plans: Sequence[PastPlanId]
    ) -> Mapping[PastPlanId, Outcome]:
        said = [
            (each.settled_at, each.outcome, each.past)
            for each in self._own(caller)
            if each.settled_at and each.outcome and {*plans} & {*each.past}
        ]
        said.sort(key=lambda word: word[0])
        return {plan: outcome for _, outcome, past in said for plan in past}

    async def settle(
        self,
        caller: Principal,
        suggestion: SuggestionId,
        outcome: Outcome,
        at: datetime,
        run: RunId | None = None,
    ) -> KeptSuggestion:
        before = await self.get(caller, suggestion)
        self._world.suggestions[caller.space, suggestion] = replace(
            before, outcome=outcome, run=before.run or run, settled_at=at
        )
        return await self.get(caller, suggestion)

    def _own(self, caller: Principal) -> list[KeptSuggestion]:
        """The latest first."""
        mine = [
            kept
            for (space, _), kept in self._world.suggestions.items()
            if (space, kept.principal) == (caller.space, caller.id)
            and may_read(caller.clearance, kept.label)
        ]
        return sorted(mine, key=lambda kept: (kept.made_at, kept.id.value), reverse=True)


def a_past_plan(
    caller: Principal,
    intent: str = "tidy the notes",
    *,
    label: Label = PUBLIC,
    at: datetime = BEGINNING,
) -> KeptPlan:
    return KeptPlan(
        id=PastPlanId.of(caller.space, caller.id, label, intent),
        principal=caller.id,
        label=label,
        intent=intent,
        vector=b"\0\0\x80?",
        steps=[{"id": "read", "tool": "srv_1.read", "arguments": {}}],
        last_at=at,
    )


def a_suggestion(
    caller: Principal,
    seed: str = "suggestion",
    *,
    label: Label = PUBLIC,
    at: datetime = BEGINNING,
    past: Sequence[PastPlanId] = (),
) -> KeptSuggestion:
    entropy = SeededEntropy(seed)
    return KeptSuggestion(
        id=SuggestionId.mint(at, entropy),
        principal=caller.id,
        label=label,
        mode=Mode.SUGGESTION,
        raw=1.5,
        backing=0.9,
        confidence=0.9,
        past=tuple(past),
        plan=ResultId.mint(at, entropy),
        made_at=at,
        expires_at=at + LIFE,
    )


def _added(before: KeptPlan, later: KeptPlan) -> KeptPlan:
    return replace(
        before,
        runs=before.runs + later.runs,
        accepted=before.accepted + later.accepted,
        rejected=before.rejected + later.rejected,
        modified=before.modified + later.modified,
        last_at=max(before.last_at, later.last_at),
    )


def _moved(times: int, which: Outcome, outcome: Outcome, before: Outcome | None) -> int:
    return max(0, times + (which is outcome) - (which is before))


def _check(world: MemoryWorld, caller: Principal, label: Label) -> None:
    if (caller.space, caller.id) not in world.identities:
        raise RowRefused(f"There is no principal {caller.id}.")
    if not may_read(caller.clearance, label):
        raise RowRefused(f"{caller.id} is not cleared for {label}.")
