"""Which servers there are: add them, look at them, switch them, take them away."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from portico.engine.ports import Bus
from portico.gateway.catalogue import CATALOGUE
from portico.gateway.core.audit_facts import about_server
from portico.gateway.core.errors import ServerBuiltIn, ServerExists, ServerNotOurs
from portico.gateway.core.launch_text import check_launch
from portico.gateway.core.look_alikes import look_alike
from portico.gateway.core.names import server_name
from portico.gateway.core.pin import launch_pin
from portico.gateway.core.server import (
    ADDED,
    OURS,
    RESERVED,
    Launch,
    Server,
    ServerId,
    as_approved,
    check_may_start,
)
from portico.gateway.core.tally import Tally, standings
from portico.gateway.core.tool import Standing
from portico.gateway.core.upstream import Vitals
from portico.gateway.held import Held, held
from portico.gateway.index_server import Indexed, IndexServer
from portico.gateway.ports import Servers, Tools, Upstreams, Walls
from portico.guard.core.principals import Scope
from portico.guard.ports import Audit, Together
from portico.guard.principals import permit
from portico.kernel.clock import Clock
from portico.kernel.entropy import Entropy
from portico.kernel.principal import Principal
from portico.kernel.tokens import Tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerWish:
    name: str
    launch: Launch
    timeout: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerLook:
    server: Server
    vitals: Vitals
    """In this process."""
    tools: Mapping[Standing, int]
    tokens: Tokens
    """What its tools would cost a client without a gateway."""
    held: Held
    """What it may reach."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AddServer:
    servers: Servers
    names: Servers
    """All of them, whoever may know of which: two of one name would be one to everybody."""
    together: Together
    audit: Audit
    bus: Bus
    clock: Clock
    entropy: Entropy

    async def __call__(self, caller: Principal, wish: ServerWish) -> Server:
        """It is not started before somebody approves it. Raises `NotPermitted`, `BadLaunch`,
        `BadServerName`, `ServerExists`."""
        permit(caller, Scope.SERVERS_WRITE)
        check_launch(wish.launch)
        name, now = server_name(wish.name), self.clock.now()
        names = [*RESERVED, *(server.name for server in await self.names.all(caller))]
        if alike := name if name in RESERVED else look_alike(name, names):
            seen = {*RESERVED, *(server.name for server in await self.servers.all(caller))}
            raise ServerExists(name, alike if alike in seen else name)
        server = Server(
            id=ServerId.mint(now, self.entropy),
            name=name,
            origin=ADDED,
            launch=wish.launch,
            launch_pin=launch_pin(wish.launch),
            created_at=now,
            timeout=wish.timeout,
        )
        async with self.together(caller):
            await self.servers.add(caller, server)
            await self.audit.note(caller, about_server("server.added", server))
        self.bus.wake(caller.space, CATALOGUE)
        return server


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveServer:
    servers: Servers
    audit: Audit
    upstreams: Upstreams
    bus: Bus

    async def __call__(self, caller: Principal, name: str) -> None:
        """Raises `NotPermitted`, `ServerNotFound`, `ServerBuiltIn` for a part of Portico, and
        `ServerNotOurs` for one that its file still names."""
        permit(caller, Scope.SERVERS_WRITE)
        async with self.servers.changing(caller, name) as server:
            if server.origin == OURS:
                raise ServerBuiltIn(name)
            if server.origin != ADDED and server.gone_at is None:
                raise ServerNotOurs(name, server.origin)
            await self.servers.remove(caller, server.id)
            await self.audit.note(caller, about_server("server.removed", server))
        self.bus.wake(caller.space, CATALOGUE)
        await self.upstreams.stop(caller.space, name)


@dataclass(frozen=True, slots=True, kw_only=True)
class SwitchServer:
    servers: Servers
    audit: Audit
    upstreams: Upstreams
    bus: Bus

    async def __call__(self, caller: Principal, name: str, *, enabled: bool) -> Server:
        """Wherever it is described: what was approved stays approved. Raises `NotPermitted`,
        `ServerNotFound`."""
        permit(caller, Scope.SERVERS_WRITE)
        async with self.servers.changing(caller, name) as before:
            server = replace(before, enabled=enabled)
            await self.servers.put(caller, server)
            if server != before:
                await self.audit.note(
                    caller, about_server("server.switched", server, enabled=enabled)
                )
        if server != before:
            self.bus.wake(caller.space, CATALOGUE)
        if not enabled:
            await self.upstreams.stop(caller.space, name)
        return server


@dataclass(frozen=True, slots=True, kw_only=True)
class RestartServer:
    servers: Servers
    upstreams: Upstreams
    index_server: IndexServer

    async def __call__(self, caller: Principal, name: str) -> Indexed:
        """And ask it anew what it offers. Raises `NotPermitted`, and what starting it may raise."""
        permit(caller, Scope.SERVERS_WRITE)
        check_may_start(await self.servers.get(caller, name))
        await self.upstreams.stop(caller.space, name)
        return await self.index_server(caller, name)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListServers:
    servers: Servers
    tools: Tools
    upstreams: Upstreams
    walls: Walls

    async def __call__(self, caller: Principal) -> Sequence[ServerLook]:
        """By name. What servers say is told as far as it is approved, unless the caller is one
        who approves."""
        permit(caller, Scope.SERVERS_READ)
        counted = await self.tools.tally(caller)
        return [
            _look(
                caller,
                server,
                counted.get(server.id, Tally()),
                self.upstreams,
                await held(server, self.walls),
            )
            for server in await self.servers.all(caller)
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowServer:
    servers: Servers
    tools: Tools
    upstreams: Upstreams
    walls: Walls

    async def __call__(self, caller: Principal, name: str) -> ServerLook:
        """As `ListServers` tells it. Raises `ServerNotFound`."""
        permit(caller, Scope.SERVERS_READ)
        server = await self.servers.get(caller, name)
        counted = (await self.tools.tally(caller)).get(server.id, Tally())
        return _look(caller, server, counted, self.upstreams, await held(server, self.walls))


def _look(
    caller: Principal, server: Server, counted: Tally, upstreams: Upstreams, within: Held
) -> ServerLook:
    vitals = upstreams.vitals(caller.space, server.name)
    approves = caller.may(Scope.SERVERS_APPROVE)
    return ServerLook(
        server=server if approves else as_approved(server),
        vitals=vitals if approves else replace(vitals, last_words=()),
        tools=standings(server, counted),
        tokens=counted.tokens,
        held=within,
    )
