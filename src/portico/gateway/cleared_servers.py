"""The servers that somebody is cleared for: to them, the others do not exist."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from portico.gateway.core.errors import ServerNotFound
from portico.gateway.core.server import Server, ServerId
from portico.gateway.ports import Servers
from portico.kernel.label import may_read
from portico.kernel.principal import Principal


class ClearedServers:
    """What people and agents look at and change goes through here; what the house does for all
    of them, such as keeping the catalogue, does not."""

    def __init__(self, servers: Servers) -> None:
        self._servers = servers

    async def all(self, caller: Principal) -> Sequence[Server]:
        return [its for its in await self._servers.all(caller) if _cleared(caller, its)]

    async def get(self, caller: Principal, name: str) -> Server:
        server = await self._servers.get(caller, name)
        if not _cleared(caller, server):
            raise ServerNotFound(name)
        return server

    @asynccontextmanager
    async def changing(self, caller: Principal, name: str) -> AsyncIterator[Server]:
        async with self._servers.changing(caller, name) as server:
            if not _cleared(caller, server):
                raise ServerNotFound(name)
            yield server

    async def add(self, caller: Principal, server: Server) -> None:
        await self._servers.add(caller, server)

    async def put(self, caller: Principal, server: Server) -> None:
        await self._servers.put(caller, server)

    async def remove(self, caller: Principal, server: ServerId) -> None:
        await self._servers.remove(caller, server)


def _cleared(caller: Principal, server: Server) -> bool:
    return may_read(caller.clearance, server.label)
