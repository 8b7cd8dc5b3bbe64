"""The token of one person at one server, good for the request that is about to be made."""

import asyncio
from dataclasses import dataclass, field
from weakref import WeakValueDictionary

from portico.guard.core.errors import GrantRefused
from portico.guard.core.login import LoginPlace, Tokens
from portico.guard.login_ports import AuthorizationServers, Logins
from portico.kernel.clock import Clock


@dataclass(frozen=True, slots=True, kw_only=True)
class FreshToken:
    servers: AuthorizationServers
    logins: Logins
    clock: Clock
    _turns: "WeakValueDictionary[LoginPlace, asyncio.Lock]" = field(
        default_factory=WeakValueDictionary
    )
    """In this process; others are kept out by `Logins.holding`, which is dear to wait in."""

    async def __call__(self, place: LoginPlace, *, refused: str | None = None) -> str | None:
        """None if they have to log in. `refused` is one that the server did not take any more.
        Raises `LoginUnavailable`."""
        tokens = await self.logins.get(place)
        if tokens is None or tokens.url != place.url:
            return None
        if self._good(tokens, refused):
            return tokens.access
        turn = self._turns.setdefault(place, asyncio.Lock())
        async with turn, self.logins.holding(place) as now:
            return None if now is None else await self._refreshed(place, now, refused)

    def _good(self, tokens: Tokens, refused: str | None) -> bool:
        return tokens.access != refused and tokens.good(self.clock.now())

    async def _refreshed(
        self, place: LoginPlace, tokens: Tokens, refused: str | None
    ) -> str | None:
        """Somebody else may have been faster. One that cannot be had is not tried for again."""
        if self._good(tokens, refused):
            return tokens.access
        if tokens.refresh is not None:
            try:
                new = await self.servers.refresh(tokens, self.clock.now())
            except GrantRefused:
                pass
            else:
                await self.logins.put(place, new)
                return new.access
        await self.logins.forget(place)
        return None
