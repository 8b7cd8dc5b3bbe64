"""How much may be done ahead: what the configuration allows."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from types import MappingProxyType

from portico.guard.core.rules import fits
from portico.learning.core.prefetch.switches import AheadMode


@dataclass(frozen=True, slots=True, kw_only=True)
class AheadTerms:
    mode: AheadMode = AheadMode.LIVE
    external: frozenset[str] = frozenset()
    """Servers by name of which what they read elsewhere may be read ahead."""
    least_gain: timedelta = timedelta(milliseconds=50)
    """A tool that usually answers sooner is not called ahead: nothing would be won."""
    keep: timedelta = timedelta(seconds=10)
    """How long what came of a call waits to be asked for."""
    calls_at_once: int = 4
    """In this process."""
    calls_a_principal: int = 2
    """At once, of those."""
    calls_a_minute: int = 60
    """Of one principal."""
    longest: timedelta = timedelta(seconds=5)
    dollars: float = 0.10
    """What the calls made ahead for one task may cost in an hour."""
    prices: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    """Dollars a call, by wildcards of tools."""
    share: float = 0.25
    """Of a server's or a tool's limit, the most that is used up ahead."""

    def price_of(self, tool: str) -> float:
        """The highest that a wildcard which stands for it names; nothing if none does."""
        return max((price for name, price in self.prices.items() if fits(tool, [name])), default=0)
