"""Secrets and budgets in memory, and a place for secrets that every process would share."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from portico.adapters.secrets import Change, Kept
from portico.guard.core.errors import BudgetNotFound, BudgetTaken
from portico.guard.core.secrets import KeptSecret
from portico.kernel.budget import Budget, Cost, OverBudget, Tokens
from portico.kernel.ids import SpaceId
from portico.kernel.principal import Principal


class MemoryDrawer:
    title = "memory"

    def __init__(self) -> None:
        self._kept: dict[str, dict[str, Kept]] = {}

    def get(self, space: str, name: str) -> Kept | None:
        return self._kept.get(space, {}).get(name)

    def change(self, space: str, name: str, to: Change) -> Kept | None:
        place = self._kept.setdefault(space, {})
        before = place.get(name)
        after = to(before)
        if after is None:
            place.pop(name, None)
        else:
            place[name] = after
        return before

    def all(self, space: str) -> Mapping[str, Kept]:
        return self._kept.get(space, {})

    def spaces(self) -> Iterator[str]:
        return iter([space for space, kept in self._kept.items() if kept])


class MemorySecrets:
    def __init__(self) -> None:
        self._kept: dict[tuple[SpaceId, str], tuple[KeptSecret, str]] = {}

    async def where(self) -> str:
        return "memory"

    async def get(self, caller: Principal, name: str) -> str | None:
        found = self._kept.get((caller.space, name))
        return None if found is None else found[1]

    async def put(self, caller: Principal, secret: KeptSecret, value: str) -> None:
        self._kept[caller.space, secret.name] = secret, value

    async def remove(self, caller: Principal, name: str) -> bool:
        return self._kept.pop((caller.space, name), None) is not None

    async def all(self, caller: Principal) -> Sequence[KeptSecret]:
        own = [kept for (space, _), (kept, _) in self._kept.items() if space == caller.space]
        return sorted(own, key=lambda kept: kept.name)


class NamedUses:
    """What a test says is given which secret."""

    def __init__(self, uses: Mapping[str, Sequence[str]] | None = None) -> None:
        self._uses = uses or {}

    async def __call__(self, caller: Principal) -> Mapping[str, Sequence[str]]:  # noqa: ARG002 # whoever asks
        return self._uses


class MemoryBudgets:
    def __init__(self) -> None:
        self._budgets: dict[tuple[SpaceId, str], Budget] = {}

    async def open(self, caller: Principal, budget: str, cap: Cost) -> None:
        if (caller.space, budget) in self._budgets:
            raise BudgetTaken(budget)
        self._budgets[caller.space, budget] = Budget(cap)

    async def reserve(
        self, caller: Principal, budget: str, name: str, amount: Cost
    ) -> OverBudget | None:
        now = self._get(caller, budget)
        if name in now.reserved:
            raise BudgetTaken(f"{budget}/{name}")
        after = now.reserve(name, amount)
        if isinstance(after, OverBudget):
            return after
        self._budgets[caller.space, budget] = after
        return None

    async def settle(self, caller: Principal, budget: str, name: str, actual: Cost) -> None:
        now = self._get(caller, budget)
        if name not in now.reserved:
            raise BudgetNotFound(f"{budget}/{name}")
        self._budgets[caller.space, budget] = now.settle(name, actual)

    async def release(self, caller: Principal, budget: str, name: str) -> None:
        await self.settle(caller, budget, name, Cost())

    async def left(self, caller: Principal, budget: str) -> Cost:
        now = self._get(caller, budget)
        cap, held = now.cap, now.committed
        return replace(
            cap,
            tokens=Tokens(cap.tokens - held.tokens),
            money=cap.money - held.money,
            time=cap.time - held.time,
            calls=cap.calls - held.calls,
        )

    async def close(self, caller: Principal, budget: str) -> None:
        self._budgets.pop((caller.space, budget), None)

    def _get(self, caller: Principal, budget: str) -> Budget:
        found = self._budgets.get((caller.space, budget))
        if found is None:
            raise BudgetNotFound(budget)
        return found
