"""The operator's word on what tools can change: by name, or by a pattern of names."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from portico.engine.ports import Bus
from portico.gateway.catalogue import CATALOGUE
from portico.gateway.core.errors import ToolNotFound, ToolQuarantined, ToolRefused
from portico.gateway.core.server import Server, standing
from portico.gateway.core.tool import Standing, Tool, ToolRef
from portico.gateway.ports import Servers, Tools
from portico.guard.core.audit import AuditEntry
from portico.guard.core.principals import Scope
from portico.guard.core.rules import fits
from portico.guard.ports import Audit
from portico.guard.principals import permit
from portico.kernel.clock import Clock
from portico.kernel.effect import Effect
from portico.kernel.principal import Principal


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
        permit(caller, Scope.SERVERS_APPROVE)
        found: list[EffectSet] = []
        waiting: list[tuple[Standing, Tool]] = []
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
    ) -> tuple[Sequence[EffectSet], Sequence[tuple[Standing, Tool]]]:
        async with self.servers.changing(caller, name) as server:
            tools = await self.tools.of(caller, server)
            meant = [tool for tool in tools if fits(str(tool.ref), [pattern])]
            live = [tool for tool in meant if standing(server, tool) is Standing.LIVE]
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
                    facts={"pin": it.pin, "was": str(it.effect), "now": str(effect)},
                )
                for it in tools
                if it.ref in meant
            ),
        )


def _why(
    pattern: str, waiting: Sequence[tuple[Standing, Tool]]
) -> ToolRefused | ToolQuarantined | ToolNotFound:
    for stands, tool in waiting:
        if stands is Standing.REFUSED:
            return ToolRefused(str(tool.ref), tool.refused or "")
        if stands is not Standing.GONE:
            return ToolQuarantined(str(tool.ref), tool.ref.server)
    return ToolNotFound(pattern)
