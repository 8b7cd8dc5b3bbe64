"""Tighter profiles for well-known servers, proposed and never imposed: by package."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from portico.gateway.core.package import Package
from portico.sandbox.core.profile import Network, Place, Profile


@dataclass(frozen=True, slots=True)
class ShippedProfiles:
    listed: Mapping[str, tuple[Place, ...]] = field(default_factory=dict)
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
            package: tuple(Place.parse(place) for place in places)
            for package, places in json.loads(text).items()
        }
    )
