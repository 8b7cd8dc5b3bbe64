"""Ask a server what it offers, and remember it: beside what was accepted, never instead of it."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from portico.engine.ports import Bus
from portico.gateway.catalogue import CATALOGUE
from portico.gateway.core.audit_facts import about_listing
from portico.gateway.core.errors import (
    LoginNeeded,
    PinMoved,
    ServerNotFound,
    UpstreamDown,
    UpstreamTimedOut,
)
from portico.gateway.core.hidden_text import visible
from portico.gateway.core.listing import merged, merged_of_one, tools_read
from portico.gateway.core.pin import set_pin
from portico.gateway.core.reading import Unreadable, read_instructions, read_offers, read_tools
from portico.gateway.core.server import Identity, Server, check_may_start
from portico.gateway.core.tally import Tally, tally
from portico.gateway.core.tool import Tool
from portico.gateway.core.upstream import Seen, Target
from portico.gateway.ports import Servers, Tools, Upstreams
from portico.guard.core.principals import Scope
from portico.guard.ports import Audit
from portico.guard.principals import permit
from portico.kernel.clock import Clock
from portico.kernel.json import JsonObject
from portico.kernel.principal import Principal
from portico.kernel.tokens import Tokenizer

Merge = Callable[[Sequence[Tool], Sequence[Tool]], list[Tool]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Indexed:
    server: Server
    counted: Tally
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
        permit(caller, Scope.SERVERS_WRITE)
        server = await self.servers.get(caller, name)
        check_may_start(server)
        try:
            links = caller.may(Scope.TOOLS_WRITE)
            target = Target.of(caller.space, server, caller.id, links=links)
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

    def _read(self, name: str, seen: Seen, before: Sequence[Tool]) -> _Read:
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
        self, caller: Principal, server: Server, seen: Seen, read: _Read, merge: Merge
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
                era=seen.era,
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
