"""A way from one tool to another, and how sure each hop of it is, in figures and in words."""

from dataclasses import dataclass
from datetime import datetime
from math import prod

from portico.gateway.core.catalog_snapshot import ToolRef


@dataclass(frozen=True, slots=True)
class Fed:
    """What was at `path` of the result became the argument `parameter`."""

    path: str
    parameter: str
    times: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Hop:
    """`later` was called after `earlier`, or with what it gave."""

    earlier: ToolRef
    later: ToolRef
    confidence: float
    """The share of what came after `earlier`, what was never seen counting too."""
    at_least: float
    """The lower end of an interval around it."""
    needed: float
    """The share of the calls of `later` that took something of `earlier`."""
    followed: int
    took: int
    """How often it came right after, and how often it took something."""
    tasks: int
    last_seen: datetime
    fed: tuple[Fed, ...] = ()

    @property
    def times(self) -> int:
        return max(self.followed, self.took)


@dataclass(frozen=True, slots=True)
class Path:
    hops: tuple[Hop, ...]

    @property
    def tools(self) -> tuple[ToolRef, ...]:
        return (self.hops[0].earlier, *(hop.later for hop in self.hops))

    @property
    def direct(self) -> bool:
        return len(self.hops) == 1

    @property
    def confidence(self) -> float:
        return prod(hop.confidence for hop in self.hops)

    @property
    def at_least(self) -> float:
        return prod(hop.at_least for hop in self.hops)

    def __str__(self) -> str:
        start, *between, end = self.tools
        if self.direct:
            return f"{start} -> {end}, directly ({self.confidence:.2f})"
        factors = " x ".join(f"{hop.confidence:.2f}" for hop in self.hops)
        by_way = ", ".join(map(str, between))
        return f"{start} -> {end}, by way of {by_way} ({factors} = {self.confidence:.2f})"
