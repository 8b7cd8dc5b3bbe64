"""How the tools of a plan hang together: what came before what, and how surely, hop by hop."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Final

from portico.learning.core.suggest.needs import Learnt

_LEAST: Final = 0.1
_MOST: Final = 20


@dataclass(frozen=True, slots=True)
class Hop:
    from_tool: str
    to_tool: str
    confidence: float


@dataclass(frozen=True, slots=True)
class DependencyPath:
    hops: Sequence[Hop]

    @property
    def direct(self) -> bool:
        return len(self.hops) == 1

    @property
    def confidence(self) -> float:
        return prod(hop.confidence for hop in self.hops)

    def __str__(self) -> str:
        first, last = self.hops[0].from_tool, self.hops[-1].to_tool
        if self.direct:
            return f"{last} needs {first} directly ({self.confidence:.2f})"
        through = ", ".join(hop.to_tool for hop in self.hops[:-1])
        shares = " x ".join(f"{hop.confidence:.2f}" for hop in self.hops)
        return f"{last} needs {first} by way of {through} ({shares} = {self.confidence:.2f})"


def paths(tools: Sequence[str], learnt: Learnt) -> Sequence[DependencyPath]:
    """Between the tools of a plan, in their order: each hop itself, and from where nothing came
    before to what each hop leads to in the end."""
    once = list(dict.fromkeys(tools))
    hops = list(_hops(once, learnt))
    direct = [DependencyPath([hop]) for hop in hops]
    into = {hop.to_tool for hop in hops}
    out = {hop.from_tool for hop in hops}
    far = [
        path
        for first in hops
        if first.from_tool not in into
        for path in _further([first], hops)
        if path.hops[-1].to_tool not in out
    ]
    return [*direct, *far][:_MOST]


def _hops(tools: Sequence[str], learnt: Learnt) -> Iterator[Hop]:
    for place, later in enumerate(tools):
        for earlier in tools[:place]:
            share = learnt.need(later, earlier)
            if share >= _LEAST:
                yield Hop(earlier, later, share)


def _further(before: Sequence[Hop], hops: Sequence[Hop]) -> Iterator[DependencyPath]:
    """The surest way on from here, to its end; nothing if there is none."""
    on = [hop for hop in hops if hop.from_tool == before[-1].to_tool]
    if on:
        surest = max(on, key=lambda hop: hop.confidence)
        yield from _further([*before, surest], hops)
    elif len(before) > 1:
        yield DependencyPath(before)
