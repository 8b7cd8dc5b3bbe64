"""Index what servers offer, and look again."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Final

from portico.engine.ports import Bus
from portico.gateway.catalog import CATALOGUE
from portico.gateway.core.calls import ServerListing, UpstreamTarget, about_listing, about_server
from portico.gateway.core.catalog_snapshot import Tool, slug
from portico.gateway.core.discovery import (
    Unreadable,
    merged,
    merged_of_one,
    read_instructions,
    read_offers,
    read_tools,
    tools_read,
)
from portico.gateway.core.errors import (
    LoginNeeded,
    PinMoved,
    ServerExists,
    ServerNotFound,
    UpstreamDown,
    UpstreamTimedOut,
)
from portico.gateway.core.pins import launch_pin, set_pin
from portico.gateway.core.servers import (
    OURS,
    Identity,
    Inside,
    Server,
    ServerId,
    ToolCounts,
    check_may_start,
    tally,
)
from portico.gateway.core.untrusted_text import visible
from portico.gateway.ports import Servers, Tools, Upstreams, house
from portico.guard.core.principals import Scope
from portico.guard.ports import Audit, UnitOfWork
from portico.guard.principals import require_scope
from portico.kernel.budget import Tokenizer
from portico.kernel.clock import Clock, Entropy
from portico.kernel.errors import PorticoError
from portico.kernel.ids import PrincipalId, SpaceId
from portico.kernel.json import JsonObject
from portico.kernel.label import PUBLIC, Label
from portico.kernel.principal import Principal

# Ask a server what it offers, and remember it: beside what was accepted, never instead of it.

Merge = Callable[[Sequence[Tool], Sequence[Tool]], list[Tool]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Indexed:
    server: Server
    counted: ToolCounts
    unreadable: Sequence[Unreadable]
    """What of it nobody can be let use."""
    left_out: int
    """How many more tools it names than are looked at."""
    changed: bool
    """Whether anything is other than it was."""


@dataclass(frozen=True, slots=True)
class _Read:
    tools: Sequence[Tool]
    offers: JsonObject
    instructions: str | None
    unreadable: Sequence[Unreadable]
    left_out: int


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexServer:
    servers: Servers
    tools: Tools
    audit: Audit
    upstreams: Upstreams
    tokenizer: Tokenizer
    bus: Bus
    clock: Clock

    async def __call__(self, caller: Principal, name: str, *, of_one: bool = False) -> Indexed:
        """`of_one`: nobody has asked for it, and it is seen with the login of whoever happens to
        talk to the server. Raises what starting a server may raise; `PinMoved` if its launch was
        changed meanwhile, and then nothing is written."""
        require_scope(caller, Scope.SERVERS_WRITE)
        server = await self.servers.get(caller, name)
        check_may_start(server)
        try:
            links = caller.may(Scope.TOOLS_WRITE)
            target = UpstreamTarget.of(caller.space, server, caller.id, links=links)
            seen = await self.upstreams.look(target)
        except (UpstreamDown, UpstreamTimedOut, LoginNeeded) as error:
            await self._failed(caller, server, str(error))
            raise
        before = await self.tools.of(caller, server)
        read = await asyncio.to_thread(self._read, server.name, seen, before)
        indexed = await self._written(
            caller, server, seen, read, merged_of_one if of_one else merged
        )
        if indexed.changed:
            self.bus.wake(caller.space, CATALOGUE)
        return indexed

    def _read(self, name: str, seen: ServerListing, before: Sequence[Tool]) -> _Read:
        found, offered = read_tools(seen.tools), read_offers(seen)
        said = read_instructions(seen.instructions)
        bad = [*found.unreadable, *offered.unreadable]
        return _Read(
            tools=tools_read(name, found, before, self.tokenizer.count),
            offers=offered.offers,
            instructions=None if isinstance(said, Unreadable) else said,
            unreadable=[*bad, said] if isinstance(said, Unreadable) else bad,
            left_out=found.left_out,
        )

    async def _written(
        self, caller: Principal, server: Server, seen: ServerListing, read: _Read, merge: Merge
    ) -> Indexed:
        async with self.servers.changing(caller, server.name) as now:
            if now.launch_pin != server.launch_pin:
                raise PinMoved(server.name)
            before = await self.tools.of(caller, now)
            tools = merge(before, read.tools)
            after = replace(
                now,
                set_pin=set_pin(tools),
                instructions=read.instructions,
                offers=read.offers,
                identity=Identity(visible(seen.identity.name), visible(seen.identity.version)),
                protocol_revision=seen.protocol_revision,
                listed_at=self.clock.now(),
                failure=None,
            )
            if tools != before:
                await self.tools.put(caller, now.id, tools)
            await self.servers.put(caller, after)
            await self.audit.note(caller, *about_listing(now, after, before, tools))
        same = tools == before and after == replace(
            now, listed_at=after.listed_at, failure=after.failure
        )
        return Indexed(
            server=after,
            counted=tally(tools),
            unreadable=read.unreadable,
            left_out=read.left_out,
            changed=not same,
        )

    async def _failed(self, caller: Principal, server: Server, reason: str) -> None:
        """Of a server that was taken away meanwhile there is nothing to remember."""
        with suppress(ServerNotFound):
            async with self.servers.changing(caller, server.name) as now:
                if now.launch_pin == server.launch_pin:
                    await self.servers.put(caller, replace(now, failure=reason))


_log: Final = logging.getLogger("portico.gateway")


async def look_again(
    index: IndexServer, space: SpaceId, server: str, login: PrincipalId | None
) -> None:
    """It is asked by the house, with the login of whoever it said so to, if it wants one; what
    others are shown by it is not known then."""
    try:
        await index(house(space, login), server, of_one=login is not None)
    except PorticoError as error:
        _log.warning("the server %s could not be asked what it offers: %s", server, error)


Index = Callable[[Principal, str], Awaitable[object]]


@dataclass(slots=True, kw_only=True)
class KeepBuiltin:
    servers: Servers
    unit_of_work: UnitOfWork
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
            async with self.unit_of_work(caller):
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
