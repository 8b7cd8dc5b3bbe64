"""Effects of well-known tools, looked at by us: by package, version and definition."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from portico.gateway.core.package import Package
from portico.kernel.effect import Effect, worst


@dataclass(frozen=True, slots=True)
class ShippedEffects:
    listed: Mapping[str, Mapping[str, Mapping[str, Effect]]] = field(default_factory=dict)
    """Package, version, pin of the definition."""

    def of(self, package: Package, pin: str) -> Effect | None:
        """Where a launch leaves the version open, the definition alone has to be one we know;
        were it known with several effects, it would have the worst of them."""
        versions = self.listed.get(package.key, {})
        if package.version is not None:
            return versions.get(package.version, {}).get(pin)
        known = [pins[pin] for pins in versions.values() if pin in pins]
        return worst(known) if known else None


def parse_shipped(text: str) -> ShippedEffects:
    """From `{package: {version: {effect: [pin, …]}}}`."""
    return ShippedEffects(
        {
            package: {
                version: {pin: Effect(effect) for effect, pins in effects.items() for pin in pins}
                for version, effects in versions.items()
            }
            for package, versions in json.loads(text).items()
        }
    )
