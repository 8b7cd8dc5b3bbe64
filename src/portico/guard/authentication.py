"""Authenticate a request, and look up an earlier caller as they are now."""

from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from portico.guard.core.authentication import genuine, left_open, opens, principal_of
from portico.guard.core.errors import InvitationUsed, KeyEnded, NotAuthenticated
from portico.guard.core.keys import ApiKey, KeyHolder, Purpose
from portico.guard.ports import KeyRing
from portico.kernel.clock import Clock
from portico.kernel.ids import ContextId
from portico.kernel.label import meet
from portico.kernel.principal import Principal

_WORTH_NOTING: Final = timedelta(minutes=1)
"""`last_used_at` is this exact and no more, so that reading does not write each time."""


@dataclass(frozen=True, slots=True)
class Entry:
    """Who came in, and by which key: in a session, by that and not by what it was opened with."""

    principal: Principal
    key_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Authenticate:
    key_ring: KeyRing
    clock: Clock
    pepper: bytes
    of_token: Callable[[str], Awaitable[KeyHolder]] | None = None
    """Where tokens of others are taken too. Raises `NotAuthenticated`, `IssuerUnavailable`."""

    async def __call__(self, shown: str) -> Entry:
        """Raises `NotAuthenticated`, in the same words whatever was wrong, also with what a cookie
        holds, and `IssuerUnavailable` if nobody can say whether a token is genuine.

        `InvitationUsed` only to whoever shows the invitation itself.
        """
        holder = await self._holder(shown)
        if holder.key.purpose is Purpose.SESSION:
            raise NotAuthenticated
        now = self.clock.now()
        if not opens(holder, now):
            raise InvitationUsed if holder.key.purpose is Purpose.INVITATION else NotAuthenticated
        return await self._entered(holder, now)

    async def session(self, shown: str) -> Entry:
        """What a cookie holds, and nothing else. Raises `NotAuthenticated`."""
        return await self._entered(*await self._ours(shown, Purpose.SESSION))

    async def handed(self, shown: str) -> KeyHolder:
        """A session, from whoever is to go on in one of their own. Raises `NotAuthenticated`."""
        return (await self._ours(shown, Purpose.SESSION))[0]

    async def access(self, shown: str) -> KeyHolder:
        """An access key of our own making, and nothing else: neither a token of others nor what was
        itself opened with a key. Raises `NotAuthenticated`."""
        holder, now = await self._ours(shown, Purpose.ACCESS)
        await self._entered(holder, now)
        return holder

    async def _entered(self, holder: KeyHolder, now: datetime) -> Entry:
        principal = principal_of(holder)
        last = holder.key.last_used_at
        if last is None or now - last >= _WORTH_NOTING:
            await self.key_ring.used(principal, holder.key.id, now)
        return Entry(principal, holder.key.id)

    async def _ours(self, shown: str, purpose: Purpose) -> tuple[KeyHolder, datetime]:
        holder = await self._found(ApiKey.parse(shown))
        now = self.clock.now()
        if holder.key.purpose is not purpose or not opens(holder, now):
            raise NotAuthenticated
        return holder, now

    async def _holder(self, shown: str) -> KeyHolder:
        key = ApiKey.parse(shown)
        if key is None and self.of_token is not None:
            return await self.of_token(shown)
        return await self._found(key)

    async def _found(self, key: ApiKey | None) -> KeyHolder:
        holder = await self.key_ring.find(key.id) if key else None
        if key is None or holder is None or not genuine(holder, key, self.pepper):
            raise NotAuthenticated
        return holder


# Whoever asked for something a while ago, as they are now: what is done for them later is done with
# what they may then.


@dataclass(frozen=True, slots=True, kw_only=True)
class RevalidatePrincipal:
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
