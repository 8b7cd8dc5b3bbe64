"""Whoever asked for something a while ago, as they are now: what is done for them later is done
with what they may then."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from portico.guard.core.api_key import KeyHolder
from portico.guard.core.authentication import opens, principal_of
from portico.guard.core.errors import KeyEnded
from portico.guard.ports import KeyRing
from portico.kernel.clock import Clock
from portico.kernel.ids import ContextId
from portico.kernel.label import meet
from portico.kernel.principal import Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class AsTheyAre:
    key_ring: KeyRing
    clock: Clock

    async def __call__(
        self, worker: Principal, *, key: str | None, at: ContextId | None
    ) -> Principal:
        """`worker` stands in for them in a run; `key` is what they came with, and `at` the task
        that they said they were at. Raises `KeyEnded`."""
        if key is None:
            return replace(worker, context=at)
        holder = await self.opening(key)
        if holder.identity.id != worker.id:
            raise KeyEnded(key)
        return replace(principal_of(holder), context=at, window=worker.window)

    async def opening(self, key: str) -> KeyHolder:
        """Raises `KeyEnded`."""
        holder = await self.key_ring.find(key)
        if holder is None or not opens(holder, self.clock.now()):
            raise KeyEnded(key)
        return holder

    async def all_of(self, keys: Collection[str]) -> Mapping[str, Principal]:
        """Whoever each of these keys still opens doors for, in one look."""
        now = self.clock.now()
        found = await self.key_ring.find_all(keys)
        return {holder.key.id: principal_of(holder) for holder in found if opens(holder, now)}

    async def no_more(
        self, worker: Principal, *, key: str | None, at: ContextId | None
    ) -> Principal:
        """The same, with no more than they had when they asked. Raises `KeyEnded`."""
        now = await self(worker, key=key, at=at)
        return replace(
            now,
            scopes=frozenset(now.scopes & worker.scopes),
            clearance=meet(now.clearance, worker.clearance),
        )
