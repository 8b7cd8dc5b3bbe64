"""Profiles that confine a server, as text and as shipped."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from portico.gateway.core.pins import Package
from portico.gateway.core.servers import Unsandboxed
from portico.kernel.json import JsonObject, JsonValue
from portico.sandbox.core.errors import InvalidProfile
from portico.sandbox.core.profile import Network, NetworkEndpoint, Profile

MOST: Final = 64
"""Folders, and places, of one profile."""
_LONGEST: Final = 4096


def profile_json(profile: Profile) -> JsonObject:
    return {
        "read": list(profile.read),
        "write": list(profile.write),
        "network": profile.network.value,
        "reach": [str(place) for place in profile.reach],
    }


def profile_from(value: JsonValue) -> Profile:
    """Raises `InvalidProfile`, `InvalidNetworkEndpoint`."""
    if not isinstance(value, Mapping):
        raise InvalidProfile("it is not an object")
    unknown = sorted(set(value) - {"read", "write", "network", "reach"})
    if unknown:
        raise InvalidProfile(f"nobody knows what {unknown[0][:80]!r} is in it")
    return Profile(
        read=tuple(_path(each) for each in _texts(value, "read")),
        write=tuple(_path(each) for each in _texts(value, "write")),
        network=_network(value.get("network", Network.NONE.value)),
        reach=tuple(NetworkEndpoint.parse(each) for each in _texts(value, "reach")),
    )


def unboxed_json(consent: Unsandboxed) -> JsonObject:
    return {"by": consent.by, "at": consent.at.isoformat(), "launch_pin": consent.launch_pin}


def unboxed_from(value: Mapping[str, str]) -> Unsandboxed:
    """As `unboxed_json` wrote it."""
    at = datetime.fromisoformat(value["at"])
    return Unsandboxed(by=value["by"], at=at, launch_pin=value["launch_pin"])


def _network(value: JsonValue) -> Network:
    try:
        return Network(str(value))
    except ValueError as error:
        raise InvalidProfile("its network is neither none nor public") from error


def _texts(value: Mapping[str, JsonValue], field: str) -> Sequence[str]:
    found = value.get(field, ())
    if isinstance(found, str) or not isinstance(found, Sequence):
        raise InvalidProfile(f"{field} is not a list")
    if len(found) > MOST:
        raise InvalidProfile(f"{field} names more than {MOST}")
    return [_text(each, field) for each in dict.fromkeys(map(_hashable, found))]


def _hashable(value: JsonValue) -> str | None:
    return value if isinstance(value, str) else None


def _text(value: str | None, field: str) -> str:
    if value is None:
        raise InvalidProfile(f"{field} names what is no text")
    return value


def _path(text: str) -> str:
    """A whole path as it would be found by whoever looks, and not the whole disk."""
    parts = text.split("/")
    if not text.startswith("/") or len(text) > _LONGEST:
        raise InvalidProfile(f"{text[:200]!r} is not a whole path")
    if ".." in parts or any(not letter.isprintable() for letter in text):
        raise InvalidProfile(f"{text[:200]!r} could be taken for another path")
    plain = "/" + "/".join(part for part in parts if part not in {"", "."})
    if plain == "/":
        raise InvalidProfile("it names the whole disk")
    return plain


# Tighter profiles for well-known servers, proposed and never imposed: by package.


@dataclass(frozen=True, slots=True)
class ShippedProfiles:
    listed: Mapping[str, tuple[NetworkEndpoint, ...]] = field(default_factory=dict)
    """The places that a package has to reach, by `npm:name` or `pypi:name`; none for one that
    works without a network."""

    def of(self, package: Package | None, default: Profile) -> Profile | None:
        """With the folders that it has anyway, and the places that its launch names; None for a
        package that we do not know, and where nothing would be tighter."""
        if package is None or package.key not in self.listed:
            return None
        places = dict.fromkeys((*self.listed[package.key], *default.reach))
        tighter = replace(default, network=Network.NONE, reach=tuple(places))
        return None if tighter == default else tighter


def parse_profiles(text: str) -> ShippedProfiles:
    """From `{package: [host:port, …]}`."""
    return ShippedProfiles(
        {
            package: tuple(NetworkEndpoint.parse(place) for place in places)
            for package, places in json.loads(text).items()
        }
    )
