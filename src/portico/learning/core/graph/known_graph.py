"""The learnt graph as one caller may know it: what comes after what, by which way, how surely."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from math import log
from typing import Final

from portico.gateway.core.catalog_snapshot import ToolRef
from portico.learning.core.graph.confidence import at_least, share
from portico.learning.core.graph.edge import EdgeKind, Sightings
from portico.learning.core.graph.link import Link
from portico.learning.core.graph.math import GraphMath, NumberedGraph, Weighted
from portico.learning.core.graph.path import Fed, Hop, Path

MOST: Final = 50_000
"""Edges that one graph has."""
Flows = Callable[[], Mapping[tuple[ToolRef, ToolRef], Iterable[Fed]]]
Seen = tuple[int, int, EdgeKind, Sightings]
"""From and to, by the numbers of tools."""


class KnownGraph:
    """Grows with what is seen. Each tool has a number, by which the library knows it too."""

    def __init__(self, math: GraphMath, now: datetime) -> None:
        self.now = now
        self.version = 0
        """Another whenever anything was put to it."""
        self._math = math
        self._tools: list[ToolRef] = []
        self._number: dict[ToolRef, int] = {}
        self._after: list[dict[int, Link]] = []
        self._before: list[dict[int, Link]] = []
        self._total: list[float] = []
        """Of each tool, the strength of all that came after it."""
        self._called: list[float] = []
        self._took: list[float] = []
        """Of each tool, how often it came after anything, and the most that it took of one."""
        self._flows: Flows = dict
        self._ways: dict[tuple[ToolRef, ToolRef], tuple[Fed, ...]] | None = None
        self._edges = 0
        self._numbered: NumberedGraph | None = None

    def number(self, tool: ToolRef) -> int:
        """Its own, which it has from now on."""
        number = self._number.get(tool)
        if number is None:
            number = self._number[tool] = len(self._tools)
            self._tools.append(tool)
            self._after.append({})
            self._before.append({})
            for sums in (self._total, self._called, self._took):
                sums.append(0.0)
            if self._numbered is not None:
                self._numbered.grow()
        return number

    def seen(self, edges: Iterable[Seen], now: datetime) -> None:
        """Put to what is known; beyond `MOST` edges nothing new is."""
        self.now, self.version = now, self.version + 1
        changed: set[int] = set()
        for earlier, later, kind, sightings in edges:
            link = self._after[earlier].get(later) or self._link(earlier, later)
            if link is not None:
                strength, followed = link.strength, link.follow_strength
                link.add(kind, sightings, now)
                self._total[earlier] += link.strength - strength
                self._called[later] += link.follow_strength - followed
                self._took[later] = max(self._took[later], link.feed_strength)
                changed.add(earlier)
        if self._numbered is not None:
            self._numbered.put(edge for tool in changed for edge in self._costs(tool))

    def fed(self, flows: Flows) -> None:
        """By which ways results became arguments: asked for when it is first told."""
        self._flows, self._ways = flows, None

    @property
    def tools(self) -> Sequence[ToolRef]:
        """By their numbers: those that anything was seen of."""
        return self._tools

    @property
    def size(self) -> int:
        return self._edges

    @property
    def hops(self) -> Sequence[Hop]:
        return [
            self._hop(earlier, later)
            for earlier, links in enumerate(self._after)
            for later in links
        ]

    @property
    def tasks(self) -> Mapping[tuple[str, str], int]:
        """In how many tasks one came after the other, or took something of it."""
        names = [str(tool) for tool in self._tools]
        return {
            (names[earlier], names[later]): link.tasks
            for earlier, links in enumerate(self._after)
            for later, link in links.items()
        }

    def after(self, tool: ToolRef, most: int = 10) -> Sequence[Hop]:
        """What came after it, the likeliest first."""
        number = self._number.get(tool)
        if number is None:
            return []
        return [self._hop(number, later) for later in self._strongest(self._after[number])[:most]]

    def before(self, tool: ToolRef, most: int = 10) -> Sequence[Hop]:
        """What it came after, the one of most sightings first."""
        number = self._number.get(tool)
        if number is None:
            return []
        best = self._strongest(self._before[number])[:most]
        return [self._hop(earlier, number) for earlier in best]

    def path(self, start: ToolRef, goal: ToolRef) -> Path | None:
        """The most probable way."""
        one, other = self._number.get(start), self._number.get(goal)
        if one is None or other is None:
            return None
        return (
            self._again(one) if one == other else self._walked(self._graph().cheapest(one, other))
        )

    def shortest(self, start: ToolRef, goal: ToolRef) -> Path | None:
        """The way with the fewest hops."""
        one, other = self._number.get(start), self._number.get(goal)
        if one is None or other is None:
            return None
        return (
            self._again(one) if one == other else self._walked(self._graph().shortest(one, other))
        )

    def weighted(self) -> Sequence[Weighted]:
        """By number and strength, for what is computed over the whole; of a tool that came after
        itself nothing."""
        return [
            (earlier, later, link.strength)
            for earlier, links in enumerate(self._after)
            for later, link in links.items()
            if earlier != later
        ]

    def _strongest(self, links: Mapping[int, Link]) -> Sequence[int]:
        return sorted(links, key=lambda tool: (-links[tool].strength, self._tools[tool]))

    def _link(self, earlier: int, later: int) -> Link | None:
        if self._edges >= MOST:
            return None
        link = self._after[earlier][later] = self._before[later][earlier] = Link()
        self._edges += 1
        return link

    def _hop(self, earlier: int, later: int) -> Hop:
        link, whole = self._after[earlier][later], self._total[earlier]
        start, end = self._tools[earlier], self._tools[later]
        return Hop(
            earlier=start,
            later=end,
            confidence=share(link.strength, whole),
            at_least=at_least(link.strength, whole),
            needed=share(link.feed_strength, self._calls(later)),
            followed=0 if link.follows is None else link.follows.times,
            took=0 if link.feeds is None else link.feeds.times,
            tasks=link.tasks,
            last_seen=link.last_seen,
            fed=self._fed().get((start, end), ()),
        )

    def _fed(self) -> Mapping[tuple[ToolRef, ToolRef], tuple[Fed, ...]]:
        if self._ways is None:
            self._ways = {
                ends: tuple(sorted(ways, key=lambda fed: (-fed.times, fed.path, fed.parameter)))
                for ends, ways in self._flows().items()
            }
        return self._ways

    def _calls(self, tool: int) -> float:
        """How often it was called after anything. Each call came right after one other, if it was
        not made by a plan; what it took, it may have taken of several."""
        return max(self._called[tool], self._took[tool])

    def _graph(self) -> NumberedGraph:
        if self._numbered is None:
            self._numbered = self._math.graph(len(self._tools))
            self._numbered.put(
                edge for tool in range(len(self._tools)) for edge in self._costs(tool)
            )
        return self._numbered

    def _costs(self, tool: int) -> Iterable[Weighted]:
        """Of what comes after it: costs are added where probabilities are multiplied."""
        whole = self._total[tool]
        for later, link in self._after[tool].items():
            yield tool, later, -log(share(link.strength, whole))

    def _again(self, tool: int) -> Path | None:
        """To itself, if it came after itself."""
        return Path((self._hop(tool, tool),)) if tool in self._after[tool] else None

    def _walked(self, numbers: Sequence[int]) -> Path | None:
        hops = tuple(self._hop(earlier, later) for earlier, later in pairwise(numbers))
        return Path(hops) if hops else None
