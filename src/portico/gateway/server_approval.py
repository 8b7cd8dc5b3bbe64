"""Approve a server and the effects of its tools."""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from portico.engine.ports import Bus
from portico.gateway.catalog import CATALOGUE
from portico.gateway.core.calls import about_acceptance, about_server
from portico.gateway.core.catalog_snapshot import Definition, Tool, ToolRef, ToolStatus
from portico.gateway.core.effects import ShippedEffects
from portico.gateway.core.errors import (
    NotStartedHere,
    PinMoved,
    ServerGone,
    ToolNotFound,
    ToolQuarantined,
    ToolRefused,
    UnboxedRefused,
)
from portico.gateway.core.launch import shown, to_json
from portico.gateway.core.pins import package_of, unpinned_loaders
from portico.gateway.core.server_approval import (
    Change,
    Effects,
    Proposal,
    accept,
    accepted_server,
    diff_definitions,
    diff_values,
    look_pin,
    propose,
)
from portico.gateway.core.servers import Http, Server, Stdio, Unsandboxed, let_out, standing
from portico.gateway.ports import ServerConfinement, Servers, Tools
from portico.gateway.servers import ConfinementStatus, held
from portico.guard.core.audit import AuditEntry
from portico.guard.core.principals import Scope
from portico.guard.core.rules import fits
from portico.guard.ports import Audit
from portico.guard.principals import require_scope
from portico.kernel.clock import Clock
from portico.kernel.effect import Effect
from portico.kernel.principal import Principal

_log: Final = logging.getLogger("portico.sandbox")


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolReview:
    tool: Tool
    status: ToolStatus
    proposal: Proposal
    changes: Sequence[Change]
    """Since it was accepted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerReview:
    server: Server
    command: str
    """Exactly what would be started, or asked."""
    held: ConfinementStatus
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
    confinement: ServerConfinement
    shipped: ShippedEffects

    async def __call__(self, caller: Principal, name: str | None = None) -> Sequence[ServerReview]:
        """One server, or all of them. Raises `NotPermitted`, `ServerNotFound`."""
        require_scope(caller, Scope.SERVERS_APPROVE)
        if name is not None:
            server = await self.servers.get(caller, name)
            return [await self._review(server, await self.tools.of(caller, server))]
        every, servers = await self.tools.all(caller), await self.servers.all(caller)
        return [await self._review(server, every.get(server.id, ())) for server in servers]

    async def _review(self, server: Server, tools: Sequence[Tool]) -> ServerReview:
        within = await held(server, self.confinement)
        return await asyncio.to_thread(_review, server, tools, within, self.shipped)


@dataclass(frozen=True, slots=True, kw_only=True)
class ApproveLaunch:
    servers: Servers
    confinement: ServerConfinement
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
        require_scope(caller, Scope.SERVERS_APPROVE)
        async with self.servers.changing(caller, name) as before:
            if before.gone_at is not None:
                raise ServerGone(name, before.origin)
            if before.launch_pin != launch_pin:
                raise PinMoved(name)
            approved = replace(
                before,
                unsandboxed=await self._consent(caller, before) if unboxed else None,
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

    async def _consent(self, caller: Principal, server: Server) -> Unsandboxed:
        if not isinstance(server.launch, Stdio):
            raise NotStartedHere(server.name)
        if not await self.confinement.lacking():
            raise UnboxedRefused(server.name, let_out(server.name, server.launch_pin))
        return Unsandboxed(by=caller.name, at=self.clock.now(), launch_pin=server.launch_pin)


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
        require_scope(caller, Scope.SERVERS_APPROVE)
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
    server: Server, tools: Sequence[Tool], within: ConfinementStatus, shipped: ShippedEffects
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
        status=standing(server, tool),
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


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectSet:
    ref: ToolRef
    before: Effect
    after: Effect


@dataclass(frozen=True, slots=True, kw_only=True)
class SetEffects:
    servers: Servers
    tools: Tools
    audit: Audit
    bus: Bus
    clock: Clock

    async def __call__(
        self, caller: Principal, pattern: str, effect: Effect
    ) -> Sequence[EffectSet]:
        """Of every live tool whose `server.tool` it stands for: of these very definitions, so
        that another is unknown again. What waits is decided where it is approved, with the
        definition on view. Raises `NotPermitted`; and where nothing live fits, `ToolRefused`,
        `ToolQuarantined` or `ToolNotFound`."""
        require_scope(caller, Scope.SERVERS_APPROVE)
        found: list[EffectSet] = []
        waiting: list[tuple[ToolStatus, Tool]] = []
        every = await self.tools.all(caller)
        for server in await self.servers.all(caller):
            if not any(fits(str(tool.ref), [pattern]) for tool in every.get(server.id, ())):
                continue
            changed, others = await self._of(caller, server.name, pattern, effect)
            found += changed
            waiting += others
        if not found:
            raise _why(pattern, waiting)
        self.bus.wake(caller.space, CATALOGUE)
        return found

    async def _of(
        self, caller: Principal, name: str, pattern: str, effect: Effect
    ) -> tuple[Sequence[EffectSet], Sequence[tuple[ToolStatus, Tool]]]:
        async with self.servers.changing(caller, name) as server:
            tools = await self.tools.of(caller, server)
            meant = [tool for tool in tools if fits(str(tool.ref), [pattern])]
            live = [tool for tool in meant if standing(server, tool) is ToolStatus.LIVE]
            if live:
                await self._put(caller, server, tools, {tool.ref for tool in live}, effect)
        changes = [EffectSet(ref=it.ref, before=it.effect, after=effect) for it in live]
        return changes, [(standing(server, it), it) for it in meant if it not in live]

    async def _put(
        self,
        caller: Principal,
        server: Server,
        tools: Sequence[Tool],
        meant: set[ToolRef],
        effect: Effect,
    ) -> None:
        after = [replace(it, effect=effect) if it.ref in meant else it for it in tools]
        await self.tools.put(caller, server.id, after)
        signed = replace(server, approved_by=caller.name, approved_at=self.clock.now())
        await self.servers.put(caller, signed)
        await self.audit.note(
            caller,
            *(
                AuditEntry(
                    action="tool.effect_set",
                    subject=str(it.ref),
                    details={"pin": it.pin, "was": str(it.effect), "now": str(effect)},
                )
                for it in tools
                if it.ref in meant
            ),
        )


def _why(
    pattern: str, waiting: Sequence[tuple[ToolStatus, Tool]]
) -> ToolRefused | ToolQuarantined | ToolNotFound:
    for stands, tool in waiting:
        if stands is ToolStatus.REFUSED:
            return ToolRefused(str(tool.ref), tool.refused or "")
        if stands is not ToolStatus.GONE:
            return ToolQuarantined(str(tool.ref), tool.ref.server)
    return ToolNotFound(pattern)
