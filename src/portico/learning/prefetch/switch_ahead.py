"""Throw a switch: of a space, or of one server in it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from portico.engine.ports import Bus
from portico.gateway.core.calls import about_server
from portico.gateway.core.servers import Server
from portico.gateway.ports import Servers
from portico.guard.core.audit import AuditEntry
from portico.guard.core.principals import Scope
from portico.guard.ports import Audit, SpaceSettings
from portico.guard.principals import permit
from portico.kernel.json import JsonObject
from portico.kernel.principal import Principal
from portico.learning.core.prefetch.switches import (
    AheadMode,
    ServerSwitch,
    SpaceSwitches,
    read_switches,
    switches_json,
)
from portico.learning.prefetch.news import AheadNews
from portico.learning.prefetch.show_ahead import AheadLook, ShowAhead
from portico.learning.prefetch.switchboard import AHEAD


@dataclass(frozen=True, slots=True)
class ServerWish:
    """None: as it is."""

    mode: AheadMode | None = None
    external: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AheadWish:
    """None: as it is."""

    mode: AheadMode | None = None
    learning: bool | None = None
    servers: Mapping[str, ServerWish] = field(default_factory=dict)
    """By name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SwitchAhead:
    settings: SpaceSettings
    servers: Servers
    audit: Audit
    bus: Bus
    show: ShowAhead
    news: AheadNews

    async def __call__(self, caller: Principal, wish: AheadWish) -> AheadLook:
        """In force in every process within a second. Raises `NotPermitted`, `ServerNotFound`."""
        permit(caller, Scope.SERVERS_APPROVE)
        named = [await self.servers.get(caller, name) for name in wish.servers]
        async with self.settings.changing(caller, AHEAD) as found:
            before = read_switches(found)
            after = _switched(before, wish, named)
            if after != before:
                await self.settings.put(caller, AHEAD, switches_json(after))
                await self.audit.note(caller, *_entries(before, after, named))
                await self.news.switched(caller, before, after, named)
        self.bus.wake(caller.space, AHEAD)
        return await self.show.of(caller)


def _switched(before: SpaceSwitches, wish: AheadWish, named: Sequence[Server]) -> SpaceSwitches:
    servers = dict(before.servers)
    for server in named:
        own, wished = servers.get(server.id, ServerSwitch()), wish.servers[server.name]
        servers[server.id] = ServerSwitch(
            own.mode if wished.mode is None else wished.mode,
            own.external if wished.external is None else wished.external,
        )
    return replace(
        before,
        mode=before.mode if wish.mode is None else wish.mode,
        learning=before.learning if wish.learning is None else wish.learning,
        servers=servers,
    )


def _entries(
    before: SpaceSwitches, after: SpaceSwitches, named: Sequence[Server]
) -> Iterator[AuditEntry]:
    was, now = _facts(before), _facts(after)
    if was != now:
        yield AuditEntry(action="ahead.switched", subject="space", facts={"was": was, "now": now})
    for server in named:
        was, now = _own(before, server), _own(after, server)
        if was != now:
            yield about_server("ahead.switched", server, was=was, now=now)


def _facts(switches: SpaceSwitches) -> JsonObject:
    return {"mode": str(switches.mode), "learning": switches.learning}


def _own(switches: SpaceSwitches, server: Server) -> JsonObject:
    own = switches.servers.get(server.id, ServerSwitch())
    return {"mode": str(own.mode), "external": own.external}
