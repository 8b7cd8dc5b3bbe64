"""The two acts of an operator: allow a server to be started, then let in what it offers."""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from portico.engine.ports import Bus
from portico.gateway.catalogue import CATALOGUE
from portico.gateway.core.acceptance import Effects, accept, accepted_server, look_pin
from portico.gateway.core.audit_facts import about_acceptance, about_server
from portico.gateway.core.confinement import Unboxed, let_out
from portico.gateway.core.diff import Change, diff_definitions, diff_values
from portico.gateway.core.errors import NotStartedHere, PinMoved, ServerGone, UnboxedRefused
from portico.gateway.core.launch_text import shown, to_json
from portico.gateway.core.package import package_of
from portico.gateway.core.pin import unpinned_loaders
from portico.gateway.core.proposal import Proposal, propose
from portico.gateway.core.server import Http, Server, Stdio, standing
from portico.gateway.core.shipped_effects import ShippedEffects
from portico.gateway.core.tool import Definition, Standing, Tool
from portico.gateway.held import Held, held
from portico.gateway.ports import Servers, Tools, Walls
from portico.guard.core.principals import Scope
from portico.guard.ports import Audit
from portico.guard.principals import permit
from portico.kernel.clock import Clock
from portico.kernel.principal import Principal

_log: Final = logging.getLogger("portico.sandbox")


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolReview:
    tool: Tool
    standing: Standing
    proposal: Proposal
    changes: Sequence[Change]
    """Since it was accepted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerReview:
    server: Server
    command: str
    """Exactly what would be started, or asked."""
    held: Held
    """What it may reach once it is started."""
    launch_changes: Sequence[Change]
    """Since it was allowed to be started."""
    loaders: Sequence[str]
    """Variables that decide which code runs, and which no pin holds."""
    pin: str
    """Of all that is looked at here beside the launch; to be named when it is accepted."""
    tools: Sequence[ToolReview]
    said: Sequence[Change]
    """What else it says, as far as that has changed since it was accepted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewServers:
    servers: Servers
    tools: Tools
    walls: Walls
    shipped: ShippedEffects

    async def __call__(self, caller: Principal, name: str | None = None) -> Sequence[ServerReview]:
        """One server, or all of them. Raises `NotPermitted`, `ServerNotFound`."""
        permit(caller, Scope.SERVERS_APPROVE)
        if name is not None:
            server = await self.servers.get(caller, name)
            return [await self._review(server, await self.tools.of(caller, server))]
        every, servers = await self.tools.all(caller), await self.servers.all(caller)
        return [await self._review(server, every.get(server.id, ())) for server in servers]

    async def _review(self, server: Server, tools: Sequence[Tool]) -> ServerReview:
        within = await held(server, self.walls)
        return await asyncio.to_thread(_review, server, tools, within, self.shipped)


@dataclass(frozen=True, slots=True, kw_only=True)
class ApproveLaunch:
    servers: Servers
    walls: Walls
    audit: Audit
    bus: Bus
    clock: Clock

    async def __call__(
        self, caller: Principal, name: str, launch_pin: str, *, unboxed: bool = False
    ) -> Server:
        """What another launch offered, nobody has seen this one offer: its tools wait to be
        accepted anew. `unboxed` is the consent to start exactly this one without a box, where
        there is none; an approval without it takes it back. Raises `NotPermitted`,
        `ServerNotFound`, `UnboxedRefused`, and `PinMoved` if it would be started otherwise by
        now."""
        permit(caller, Scope.SERVERS_APPROVE)
        async with self.servers.changing(caller, name) as before:
            if before.gone_at is not None:
                raise ServerGone(name, before.origin)
            if before.launch_pin != launch_pin:
                raise PinMoved(name)
            approved = replace(
                before,
                unboxed=await self._consent(caller, before) if unboxed else None,
                approved_launch_pin=launch_pin,
                approved_launch=before.launch,
                tools_accepted=before.tools_accepted and before.approved_launch_pin == launch_pin,
            )
            server = _signed(approved, caller, self.clock)
            await self.servers.put(caller, server)
            entry = about_server("server.launch_approved", server, unboxed=unboxed)
            await self.audit.note(caller, entry)
        if unboxed:
            _log.warning(
                "%s (%s) agrees that the server %s runs without a box: %s",
                *(caller.name, caller.id, name, shown(server.launch)),
            )
        self.bus.wake(caller.space, CATALOGUE)
        return server

    async def _consent(self, caller: Principal, server: Server) -> Unboxed:
        if not isinstance(server.launch, Stdio):
            raise NotStartedHere(server.name)
        if not await self.walls.lacking():
            raise UnboxedRefused(server.name, let_out(server.name, server.launch_pin))
        return Unboxed(by=caller.name, at=self.clock.now(), launch_pin=server.launch_pin)


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptTools:
    servers: Servers
    tools: Tools
    audit: Audit
    shipped: ShippedEffects
    bus: Bus
    clock: Clock

    async def __call__(self, caller: Principal, name: str, pin: str, effects: Effects) -> Server:
        """`pin` is the one of the review. Raises `NotPermitted`, `ServerNotFound`, `ToolNotFound`,
        `ToolRefused`, and `PinMoved` if it offers something else by now, or nothing yet."""
        permit(caller, Scope.SERVERS_APPROVE)
        async with self.servers.changing(caller, name) as before:
            if before.gone_at is not None:
                raise ServerGone(name, before.origin)
            if before.set_pin is None or look_pin(before) != pin:
                raise PinMoved(name)
            tools = await self.tools.of(caller, before)
            after = await asyncio.to_thread(
                accept, tools, effects, lambda it: _proposal(before, it, self.shipped).effect
            )
            if after != tools:
                await self.tools.put(caller, before.id, after)
            server = _signed(accepted_server(before), caller, self.clock)
            await self.servers.put(caller, server)
            await self.audit.note(caller, *about_acceptance(server, tools, after))
        self.bus.wake(caller.space, CATALOGUE)
        return server


def _signed(server: Server, caller: Principal, clock: Clock) -> Server:
    return replace(server, approved_by=caller.name, approved_at=clock.now())


def _review(
    server: Server, tools: Sequence[Tool], within: Held, shipped: ShippedEffects
) -> ServerReview:
    accepted = {"instructions": server.accepted_instructions, **server.accepted_offers}
    seen = {"instructions": server.instructions, **server.offers}
    return ServerReview(
        server=server,
        command=shown(server.launch),
        held=within,
        launch_changes=_launch_changes(server),
        loaders=unpinned_loaders(server.launch),
        pin=look_pin(server),
        tools=[_tool_review(server, tool, shipped) for tool in tools],
        said=diff_values(accepted, seen),
    )


def _launch_changes(server: Server) -> Sequence[Change]:
    before = server.approved_launch
    return () if before is None else diff_values(to_json(before), to_json(server.launch))


def _tool_review(server: Server, tool: Tool, shipped: ShippedEffects) -> ToolReview:
    before = tool.accepted
    return ToolReview(
        tool=tool,
        standing=standing(server, tool),
        proposal=_proposal(server, tool.definition, shipped),
        changes=() if before is None else diff_definitions(before, tool.definition),
    )


def _proposal(server: Server, definition: Definition, shipped: ShippedEffects) -> Proposal:
    return propose(
        definition,
        shipped=shipped,
        package=package_of(server.launch),
        remote=isinstance(server.launch, Http),
    )
