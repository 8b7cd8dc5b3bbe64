"""The list of well-known tools that comes with the package."""

from functools import cache
from importlib.resources import files

from portico.gateway.core.effects import ShippedEffects, parse_shipped


@cache
def shipped_effects() -> ShippedEffects:
    listed = files("portico.gateway.core") / "data" / "effects.json"
    return parse_shipped(listed.read_text(encoding="utf-8"))
