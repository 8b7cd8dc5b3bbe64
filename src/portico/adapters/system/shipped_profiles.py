"""The list of places that well-known servers need, as it comes with the package."""

from functools import cache
from importlib.resources import files

from portico.gateway.core.confinement import ShippedProfiles, parse_profiles


@cache
def shipped_profiles() -> ShippedProfiles:
    listed = files("portico.gateway.core") / "data" / "profiles.json"
    return parse_profiles(listed.read_text(encoding="utf-8"))
