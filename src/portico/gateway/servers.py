"""MCP servers: add, list, change, remove."""

from collections import defaultdict
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

from portico.engine.ports import Bus
from portico.gateway.catalog import CATALOGUE
from portico.gateway.core.calls import ServerHealth, about_server
from portico.gateway.core.catalog_snapshot import ToolStatus, server_name
from portico.gateway.core.errors import ServerBuiltIn, ServerExists, ServerNotFound, ServerNotOurs
from portico.gateway.core.launch import check_launch
from portico.gateway.core.pins import launch_pin
from portico.gateway.core.servers import (
    ADDED,
    OURS,
    RESERVED,
    Confinement,
    ConfinementMode,
    FromSecret,
    Http,
    Inside,
    Launch,
    Server,
    ServerId,
    Stdio,
    Template,
    ToolCounts,
    Value,
    as_approved,
    check_may_start,
    hold_of,
    said,
    standings,
)
from portico.gateway.core.untrusted_text import look_alike
from portico.gateway.discovery import Indexed, IndexServer
from portico.gateway.ports import ServerConfinement, Servers, Tools, Upstreams
from portico.guard.core.errors import Overreach
from portico.guard.core.principals import Scope
from portico.guard.core.secrets import Source, parse_ref
from portico.guard.ports import Audit, UnitOfWork
from portico.guard.principals import require_scope
from portico.kernel.budget import Tokens
from portico.kernel.clock import Clock, Entropy
from portico.kernel.json import JsonObject
from portico.kernel.label import Label, may_read
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Labelling:
    """None: as it is."""

    label: Label | None = None
    clearance: Label | None = None
    trusted: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelServer:
    servers: Servers
    audit: Audit
    bus: Bus

    async def __call__(self, caller: Principal, name: str, wish: Labelling) -> Server:
        """By somebody who is cleared for what it was and for what it becomes: nobody lowers what
        they may not read, or hides it from themselves. Raises `NotPermitted`, `ServerNotFound`,
        `Overreach`."""
        require_scope(caller, Scope.SERVERS_APPROVE)
        async with self.servers.changing(caller, name) as before:
            server = _labelled(before, wish)
            _check(caller, before, server)
            if server != before:
                await self.servers.put(caller, server)
                was, now = _facts(before), _facts(server)
                await self.audit.note(
                    caller, about_server("server.labelled", server, was=was, now=now)
                )
        if server != before:
            self.bus.wake(caller.space, CATALOGUE)
        return server


def _labelled(server: Server, wish: Labelling) -> Server:
    return replace(
        server,
        label=server.label if wish.label is None else wish.label,
        clearance=server.clearance if wish.clearance is None else wish.clearance,
        trusted=server.trusted if wish.trusted is None else wish.trusted,
    )


def _check(caller: Principal, before: Server, after: Server) -> None:
    if not caller.clearance.covers(after.label):
        raise Overreach(f"the label {after.label}")
    raised = not before.clearance.covers(after.clearance)
    if raised and not caller.clearance.covers(after.clearance):
        raise Overreach(f"the clearance {after.clearance}")


def _facts(server: Server) -> JsonObject:
    return {
        "label": str(server.label),
        "clearance": str(server.clearance),
        "trusted": server.trusted,
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class FindSecretUses:
    servers: Servers
    """Those that the caller may know of."""

    async def __call__(self, caller: Principal) -> Mapping[str, Sequence[str]]:
        found: defaultdict[str, list[str]] = defaultdict(list)
        for server in await self.servers.all(caller):
            for name in {*secrets_of(server.launch)}:
                found[name].append(server.name)
        return found


def secrets_of(launch: Launch) -> Iterator[str]:
    """The names of those that were set."""
    for value in _values(launch):
        parts = value.parts if isinstance(value, Template) else (value,)
        for part in parts:
            ref = parse_ref(part.ref) if isinstance(part, FromSecret) else None
            if ref is not None and ref.source is Source.SECRET:
                yield ref.name


def _values(launch: Launch) -> Iterator[Value]:
    if isinstance(launch, Stdio):
        yield from launch.arguments
        yield from launch.environment.values()
    if isinstance(launch, Http):
        yield from launch.headers.values()


@dataclass(frozen=True, slots=True)
class ConfinementStatus:
    confinement: Confinement
    said: str
    """In one line."""


async def held(server: Server, walls: ServerConfinement) -> ConfinementStatus:
    confinement = await _confinement(server, walls)
    return ConfinementStatus(confinement, said(confinement, walls.home))


async def _confinement(server: Server, walls: ServerConfinement) -> Confinement:
    match server.launch:
        case Http():
            return Confinement(mode=ConfinementMode.ELSEWHERE, profile=None)
        case Inside():
            return Confinement(mode=ConfinementMode.OURS, profile=None)
        case launch:
            profile = server.profile
            hold = hold_of(
                server.name,
                server.launch_pin,
                server.unsandboxed,
                offered=await walls.offered(),
                lacking=await walls.lacking(),
                named=walls.named,
            )
            return Confinement(
                mode=hold,
                profile=await walls.default(launch) if profile is None else profile,
                stated=profile is not None,
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerRegistration:
    name: str
    launch: Launch
    timeout: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerDetails:
    server: Server
    health: ServerHealth
    """In this process."""
    tools: Mapping[ToolStatus, int]
    tokens: Tokens
    """What its tools would cost a client without a gateway."""
    held: ConfinementStatus
    """What it may reach."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AddServer:
    servers: Servers
    names: Servers
    """All of them, whoever may know of which: two of one name would be one to everybody."""
    unit_of_work: UnitOfWork
    audit: Audit
    bus: Bus
    clock: Clock
    entropy: Entropy

    async def __call__(self, caller: Principal, wish: ServerRegistration) -> Server:
        """It is not started before somebody approves it. Raises `NotPermitted`, `InvalidLaunch`,
        `InvalidServerName`, `ServerExists`."""
        require_scope(caller, Scope.SERVERS_WRITE)
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
        async with self.unit_of_work(caller):
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
        require_scope(caller, Scope.SERVERS_WRITE)
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
        require_scope(caller, Scope.SERVERS_WRITE)
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
        require_scope(caller, Scope.SERVERS_WRITE)
        check_may_start(await self.servers.get(caller, name))
        await self.upstreams.stop(caller.space, name)
        return await self.index_server(caller, name)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListServers:
    servers: Servers
    tools: Tools
    upstreams: Upstreams
    confinement: ServerConfinement

    async def __call__(self, caller: Principal) -> Sequence[ServerDetails]:
        """By name. What servers say is told as far as it is approved, unless the caller is one
        who approves."""
        require_scope(caller, Scope.SERVERS_READ)
        counted = await self.tools.tally(caller)
        return [
            _look(
                caller,
                server,
                counted.get(server.id, ToolCounts()),
                self.upstreams,
                await held(server, self.confinement),
            )
            for server in await self.servers.all(caller)
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowServer:
    servers: Servers
    tools: Tools
    upstreams: Upstreams
    confinement: ServerConfinement

    async def __call__(self, caller: Principal, name: str) -> ServerDetails:
        """As `ListServers` tells it. Raises `ServerNotFound`."""
        require_scope(caller, Scope.SERVERS_READ)
        server = await self.servers.get(caller, name)
        counted = (await self.tools.tally(caller)).get(server.id, ToolCounts())
        return _look(caller, server, counted, self.upstreams, await held(server, self.confinement))


def _look(
    caller: Principal,
    server: Server,
    counted: ToolCounts,
    upstreams: Upstreams,
    within: ConfinementStatus,
) -> ServerDetails:
    vitals = upstreams.health(caller.space, server.name)
    approves = caller.may(Scope.SERVERS_APPROVE)
    return ServerDetails(
        server=server if approves else as_approved(server),
        health=vitals if approves else replace(vitals, last_words=()),
        tools=standings(server, counted),
        tokens=counted.tokens,
        held=within,
    )
