"""The servers of a space, the one that is a part of Portico always among them."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from contextvars import Context

from portico.gateway.core.servers import Server, ServerId
from portico.gateway.discovery import KeepBuiltin
from portico.gateway.ports import Servers
from portico.kernel.principal import Principal


class ServersWithBuiltin:
    """Spaces are founded at any time, by any process, and cannot be counted: so whoever first
    asks for the servers of one is the reason to see to it."""

    def __init__(self, servers: Servers, keep: KeepBuiltin) -> None:
        self._servers = servers
        self._keep = keep

    async def all(self, caller: Principal) -> Sequence[Server]:
        await self._see_to_it(caller)
        return await self._servers.all(caller)

    async def get(self, caller: Principal, name: str) -> Server:
        await self._see_to_it(caller)
        return await self._servers.get(caller, name)

    @asynccontextmanager
    async def changing(self, caller: Principal, name: str) -> AsyncIterator[Server]:
        await self._see_to_it(caller)
        async with self._servers.changing(caller, name) as server:
            yield server

    async def add(self, caller: Principal, server: Server) -> None:
        await self._see_to_it(caller)
        await self._servers.add(caller, server)

    async def put(self, caller: Principal, server: Server) -> None:
        await self._servers.put(caller, server)

    async def remove(self, caller: Principal, server: ServerId) -> None:
        await self._servers.remove(caller, server)

    async def _see_to_it(self, caller: Principal) -> None:
        """In a task that inherits nothing, and so in a transaction of its own: whatever becomes of
        that of whoever asks, it is there."""
        if not self._keep.sure(caller.space):
            await asyncio.create_task(self._keep(caller.space), context=Context())
