"""Word that a server offers something else by now, passed on to whoever will look."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final, TypeAlias

from portico.adapters.mcp.station import Station
from portico.adapters.mcp.streamable import Spawn
from portico.adapters.mcp.terms import Terms
from portico.gateway.core.calls import Target
from portico.kernel.ids import PrincipalId, SpaceId

Changed: TypeAlias = Callable[[SpaceId, str, PrincipalId | None], Awaitable[None]]
"""Told that what a server offers is not what it was, and with whose login that was seen."""

_log: Final = logging.getLogger("portico.upstreams")


class Telling:
    """Not each word of it: mostly there are several, and some servers never stop."""

    def __init__(self, changed: Changed, terms: Terms, spawn: Spawn) -> None:
        self._changed = changed
        self._settle = terms.settle.total_seconds()
        self._spawn = spawn
        self._now = asyncio.get_running_loop().time

    def __call__(self, station: Station) -> None:
        station.changes += 1
        if station.telling is None or station.telling.done():
            station.telling = self._spawn(self._tell(station))

    async def _tell(self, station: Station) -> None:
        """Of one that has ended meanwhile there is nothing to tell: whoever calls it starts it
        again, and that is told."""
        while station.changes:
            await asyncio.sleep(station.pace.pause(self._now(), self._settle))
            station.changes = 0
            if station.conversation is not None and not station.dismissed:
                await self._told(station.target)
                station.pace.listed(self._now())

    async def _told(self, target: Target) -> None:
        try:
            login = target.login if target.personal else None
            await self._changed(target.space, target.server, login)
        except Exception:  # noqa: BLE001 # the next change has to be told all the same
            _log.exception("nobody could be told what %s offers by now", target.server)
