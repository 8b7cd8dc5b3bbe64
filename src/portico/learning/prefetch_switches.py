"""The switches of each space, at hand in every process and obeyed at once."""

import asyncio
import logging
from collections.abc import Collection
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final, Protocol

from portico.engine.ports import Bus, Wakeups
from portico.gateway.ports import house
from portico.guard.ports import SpaceSettings
from portico.kernel.errors import PorticoError
from portico.kernel.ids import SpaceId
from portico.kernel.principal import Principal
from portico.learning.core.prefetch_gates import (
    SHUT,
    PrefetchLimits,
    SpaceSwitches,
    Switches,
    read_switches,
)

# The switches of each space, at hand in every process, and obeyed at once when they are thrown.
#
# A process that is told of a change reads them anew before it goes by them; one that was not told
# does so after a second at the latest. So nothing is begun or served by switches that were thrown
# longer ago than that, and what is under way or waits to be served by then is ended.

_log: Final = logging.getLogger("portico.ahead")

AHEAD: Final = "ahead"
"""What the bus calls a change of a space's switches, and the space what it has decided."""


class Obedient(Protocol):
    """Who has calls under way, or results that wait."""

    @property
    def spaces(self) -> Collection[SpaceId]:
        """In which it has any."""
        ...

    def switched(self, space: SpaceId, switches: Switches) -> None:
        """These are in force from now on: what they do not allow is ended, and nothing of it is
        served. Called again with the same ones, it does nothing more."""
        ...


@dataclass(slots=True)
class _Room:
    bell: Wakeups
    switches: Switches | None = None
    read_at: float = 0.0
    reading: asyncio.Lock = field(default_factory=asyncio.Lock)


@dataclass(slots=True, kw_only=True)
class Switchboard:
    settings: SpaceSettings
    bus: Bus
    terms: PrefetchLimits
    oldest: timedelta = timedelta(milliseconds=750)
    every: timedelta = timedelta(milliseconds=200)
    """How often it is looked after what is under way."""
    _obedient: list[Obedient] = field(default_factory=list)
    _rooms: dict[SpaceId, _Room] = field(default_factory=dict)
    _listening: ExitStack = field(default_factory=ExitStack)

    def obeyed_by(self, obedient: Obedient) -> None:
        self._obedient.append(obedient)

    async def current(self, caller: Principal) -> Switches:
        """Whoever asks."""
        room = self._room(caller.space)
        if room.switches is None or self._stale(room):
            return await self._read(caller.space, room)
        return room.switches

    async def run(self) -> None:
        """Look after what is under way, until it is cancelled."""
        while True:
            await asyncio.sleep(self.every.total_seconds())
            for space in {space for each in self._obedient for space in each.spaces}:
                await self._look_after(space)

    async def _look_after(self, space: SpaceId) -> None:
        """What nobody can say is allowed is not: the database is away."""
        room = self._room(space)
        if not self._stale(room):
            return
        try:
            await self._read(space, room)
        except PorticoError as error:
            _log.warning("nothing is done ahead while its switches cannot be read: %s", error)
            self._tell(space, self._made(SHUT))

    async def _read(self, space: SpaceId, room: _Room) -> Switches:
        async with room.reading:
            if room.switches is not None and not self._stale(room):
                return room.switches
            if room.bell.rung:
                await room.bell.wait()
            begun = asyncio.get_running_loop().time()
            found = self._made(read_switches(await self.settings.get(house(space), AHEAD)))
            changed, room.switches, room.read_at = found != room.switches, found, begun
        if changed:
            self._tell(space, found)
        return found

    def _made(self, space: SpaceSwitches) -> Switches:
        return Switches(installation=self.terms.mode, external=self.terms.external, space=space)

    def _tell(self, space: SpaceId, switches: Switches) -> None:
        for each in self._obedient:
            each.switched(space, switches)

    def _stale(self, room: _Room) -> bool:
        age = asyncio.get_running_loop().time() - room.read_at
        return room.switches is None or room.bell.rung or age >= self.oldest.total_seconds()

    def _room(self, space: SpaceId) -> _Room:
        room = self._rooms.get(space)
        if room is None:
            bell = self._listening.enter_context(self.bus.listen(space, AHEAD))
            room = self._rooms[space] = _Room(bell)
        return room
