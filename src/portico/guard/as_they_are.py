"""Whoever asked for something a while ago, as they are now: what is done for them later is done
with what they may then."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from portico.guard.core.api_key import KeyHolder
from portico.guard.core.authentication import left_open, opens, principal_of
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
        """A session that was left is as good as the key that it was opened with: whoever closes
        their browser has not taken back what they asked for. Raises `KeyEnded`."""
        found = await self._still([key])
        if not found:
            raise KeyEnded(key)
        return found[0]

    async def all_of(self, keys: Collection[str]) -> Mapping[str, Principal]:
        """Whoever each of these keys still opens doors for, in one look."""
        return {holder.key.id: principal_of(holder) for holder in await self._still(keys)}

    async def _still(self, keys: Collection[str]) -> list[KeyHolder]:
        now = self.clock.now()
        found = await self.key_ring.find_all(keys)
        left = {holder.key.id: left_open(holder) for holder in found if not opens(holder, now)}
        openers = {opener for opener in left.values() if opener is not None}
        kept = await self.key_ring.find_all(openers) if openers else ()
        good = {opener.key.id for opener in kept if opens(opener, now)}
        return [
            holder for holder in found if holder.key.id not in left or left[holder.key.id] in good
        ]

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
