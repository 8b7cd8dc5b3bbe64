"""From what was sent as a key to the principal it stands for."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from portico.guard.core.api_key import ApiKey, Purpose
from portico.guard.core.authentication import genuine, opens, principal_of
from portico.guard.core.errors import InvitationUsed, NotAuthenticated
from portico.guard.ports import KeyRing
from portico.kernel.clock import Clock
from portico.kernel.principal import Principal

_WORTH_NOTING: Final = timedelta(minutes=1)
"""`last_used_at` is this exact and no more, so that reading does not write each time."""


@dataclass(frozen=True, slots=True)
class Entry:
    """Who came in, and by which key."""

    principal: Principal
    key_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Authenticate:
    key_ring: KeyRing
    clock: Clock
    pepper: bytes

    async def __call__(self, shown: str) -> Entry:
        """Raises `NotAuthenticated`, in the same words whatever was wrong.

        `InvitationUsed` only to whoever shows the invitation itself.
        """
        key = ApiKey.parse(shown)
        holder = await self.key_ring.find(key.id) if key else None
        if key is None or holder is None or not genuine(holder, key, self.pepper):
            raise NotAuthenticated
        now = self.clock.now()
        if not opens(holder, now):
            raise InvitationUsed if holder.key.purpose is Purpose.INVITATION else NotAuthenticated

        principal = principal_of(holder)
        last = holder.key.last_used_at
        if last is None or now - last >= _WORTH_NOTING:
            await self.key_ring.used(principal, key.id, now)
        return Entry(principal, key.id)
