"""Every space knows the server that is a part of Portico, as it is in this version of it."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Final

from portico.engine.ports import Bus
from portico.gateway.catalogue import CATALOGUE
from portico.gateway.core.audit_facts import about_server
from portico.gateway.core.errors import ServerExists
from portico.gateway.core.names import slug
from portico.gateway.core.pin import launch_pin
from portico.gateway.core.server import OURS, Inside, Server, ServerId
from portico.gateway.house import house
from portico.gateway.ports import Servers
from portico.guard.ports import Audit, Together
from portico.kernel.clock import Clock
from portico.kernel.entropy import Entropy
from portico.kernel.errors import PorticoError
from portico.kernel.ids import SpaceId
from portico.kernel.label import PUBLIC, Label
from portico.kernel.principal import Principal

_log: Final = logging.getLogger("portico.gateway")

Index = Callable[[Principal, str], Awaitable[object]]


@dataclass(slots=True, kw_only=True)
class KeepBuiltin:
    servers: Servers
    together: Together
    audit: Audit
    bus: Bus
    clock: Clock
    entropy: Entropy
    launch: Inside
    label: Label = PUBLIC
    """Of what its tools give."""
    timeout: float | None = None
    """Seconds for one call; None for the setting."""
    _kept: set[SpaceId] = field(default_factory=set)
    _unasked: asyncio.Queue[SpaceId] = field(default_factory=asyncio.Queue)

    def sure(self, space: SpaceId) -> bool:
        """Whether this process has seen to it already."""
        return space in self._kept

    async def __call__(self, space: SpaceId) -> None:
        """Once a process; it waits for approval as any other server does, and so does another
        version of it."""
        if self.sure(space):
            return
        caller = house(space)
        ours = await self._ours(caller)
        if ours is None:
            await self._add(caller)
        elif ours.launch != self.launch:
            await self._bring_up_to_date(caller, ours.name)
        if not self.sure(space):
            self._kept.add(space)
            self._unasked.put_nowait(space)

    async def ask_again(self, space: SpaceId) -> None:
        """What it offers has changed."""
        known = self.sure(space)
        await self(space)
        if known:
            self._unasked.put_nowait(space)

    async def ours(self, space: SpaceId) -> Server | None:
        return await self._ours(house(space))

    async def run(self, index: Index) -> None:
        """What it offers depends on the machine: it is asked anew once a process, until this is
        cancelled."""
        while True:
            space = await self._unasked.get()
            try:
                ours = await self._ours(house(space))
                if ours is not None and ours.may_start:
                    await index(house(space), ours.name)
            except PorticoError as error:
                _log.warning("it is not known what Portico's own tools are here: %s", error)

    async def _ours(self, caller: Principal) -> Server | None:
        """By where it comes from: a server of somebody else's may have had its name before."""
        here = (OURS, self.launch.name)
        servers = await self.servers.all(caller)
        return next((its for its in servers if (its.origin, its.entry) == here), None)

    async def _add(self, caller: Principal) -> None:
        others = {server.name for server in await self.servers.all(caller)}
        now = self.clock.now()
        server = Server(
            id=ServerId.mint(now, self.entropy),
            name=slug(self.launch.name, others),
            origin=OURS,
            entry=self.launch.name,
            launch=self.launch,
            launch_pin=launch_pin(self.launch),
            created_at=now,
            timeout=self.timeout,
            label=self.label,
        )
        with suppress(ServerExists):  # another process was faster
            async with self.together(caller):
                await self.servers.add(caller, server)
                await self.audit.note(caller, about_server("server.added", server))
            self.bus.wake(caller.space, CATALOGUE)

    async def _bring_up_to_date(self, caller: Principal, name: str) -> None:
        async with self.servers.changing(caller, name) as before:
            pin = launch_pin(self.launch)
            after = replace(before, launch=self.launch, launch_pin=pin)
            await self.servers.put(caller, after)
            await self.audit.note(caller, about_server("server.changed", after))
        self.bus.wake(caller.space, CATALOGUE)
