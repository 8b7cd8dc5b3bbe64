"""The lists of well-known tools and profiles that come with the package."""

from functools import cache
from importlib.resources import files

from portico.gateway.core.confinement import ShippedProfiles, parse_profiles
from portico.gateway.core.effects import ShippedEffects, parse_shipped


@cache
def shipped_effects() -> ShippedEffects:
    listed = files("portico.gateway.core") / "data" / "effects.json"
    return parse_shipped(listed.read_text(encoding="utf-8"))


@cache
def shipped_profiles() -> ShippedProfiles:
    listed = files("portico.gateway.core") / "data" / "profiles.json"
    return parse_profiles(listed.read_text(encoding="utf-8"))
