"""Whether calls are made ahead, in one space and of one server: the strictest word counts."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from portico.gateway.core.servers import Server, ServerId
from portico.kernel.ids import BadId
from portico.kernel.json import JsonObject, JsonValue


class AheadMode(StrEnum):
    """In the order of what they let happen."""

    OFF = "off"
    """Nothing is foretold, and nothing is made."""
    SHADOW = "shadow"
    """What would be made is foretold and compared with what is asked for, and not made."""
    LIVE = "live"
    """What has proved right is made."""


_ORDER: Final = tuple(AheadMode)


def strictest(*modes: AheadMode) -> AheadMode:
    return min(modes, key=_ORDER.index)


@dataclass(frozen=True, slots=True)
class ServerSwitch:
    mode: AheadMode = AheadMode.LIVE
    external: bool | None = None
    """Whether what it reads elsewhere may be read ahead; None: as the configuration says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceSwitches:
    """What a space has decided."""

    mode: AheadMode = AheadMode.LIVE
    learning: bool = True
    """Off: of its calls nothing is noted."""
    servers: Mapping[ServerId, ServerSwitch] = field(default_factory=lambda: MappingProxyType({}))


SHUT: Final = SpaceSwitches(mode=AheadMode.OFF, learning=False)
"""What is taken for decided where nobody can tell what was."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Switches:
    """What is in force in a space."""

    installation: AheadMode
    external: frozenset[str]
    """The servers by name of which the configuration lets what they read elsewhere be read."""
    space: SpaceSwitches

    @property
    def mode(self) -> AheadMode:
        return strictest(self.installation, self.space.mode)

    @property
    def learning(self) -> bool:
        return self.space.learning

    def mode_of(self, server: Server) -> AheadMode:
        return strictest(self.mode, self.own(server).mode)

    def external_for(self, server: Server) -> bool:
        own = self.own(server).external
        return server.name in self.external if own is None else own

    def own(self, server: Server) -> ServerSwitch:
        return self.space.servers.get(server.id, ServerSwitch())


def switches_json(switches: SpaceSwitches) -> JsonObject:
    return {
        "mode": str(switches.mode),
        "learning": switches.learning,
        "servers": {
            str(server): {"mode": str(switch.mode), "external": switch.external}
            for server, switch in switches.servers.items()
        },
    }


def read_switches(found: JsonValue) -> SpaceSwitches:
    """As `switches_json` wrote it; of what cannot be read, nothing is let happen."""
    if found is None:
        return SpaceSwitches()
    try:
        return _read(found)
    except (BadId, ValueError, KeyError, TypeError):
        return SHUT


def _read(found: JsonValue) -> SpaceSwitches:
    whole = _object(found)
    servers = {
        ServerId.parse(key): _switch(each) for key, each in _object(whole["servers"]).items()
    }
    return SpaceSwitches(
        mode=_mode(whole["mode"]), learning=whole["learning"] is True, servers=servers
    )


def _switch(found: JsonValue) -> ServerSwitch:
    switch = _object(found)
    external = switch["external"]
    return ServerSwitch(_mode(switch["mode"]), None if external is None else external is True)


def _mode(found: JsonValue) -> AheadMode:
    return AheadMode(str(found))


def _object(found: JsonValue) -> JsonObject:
    if not isinstance(found, Mapping):
        raise TypeError
    return found
