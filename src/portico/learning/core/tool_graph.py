"""The graph of tools: edges, confidence, paths, figures."""

from collections import OrderedDict, defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from functools import cached_property
from heapq import nlargest
from itertools import pairwise
from math import log, prod, sqrt
from typing import Final, NamedTuple, Protocol

from portico.gateway.core.catalog_snapshot import ToolRef
from portico.gateway.core.inferred_schema import ToolPlace
from portico.kernel.json import JsonObject
from portico.workflows.core.plan import Expressions, Plan, needs_of

# An edge of the learnt graph: one tool came after another, or took what it gave.


class EdgeKind(StrEnum):
    FOLLOWS = "follows"
    FEEDS = "feeds"


@dataclass(frozen=True, slots=True)
class ToolEdge:
    earlier: ToolPlace
    later: ToolPlace
    kind: EdgeKind


class Sightings(NamedTuple):
    """`tasks`: how many of its times were the first of a task. A tuple, since tens of thousands
    are made at once."""

    times: int
    tasks: int
    last_seen: datetime

    def and_then(self, other: "Sightings") -> "Sightings":
        return Sightings(
            self.times + other.times,
            self.tasks + other.tasks,
            max(self.last_seen, other.last_seen),
        )


@dataclass(frozen=True, slots=True)
class KnownEdges:
    """Many edges, in which each tool is named once: an edge is from and to a place in `places`."""

    places: Sequence[ToolPlace]
    edges: Sequence[tuple[int, int, EdgeKind, Sightings]]


_UNSEEN: Final = 2.0
"""Sightings that what was never seen counts for: of one alone nothing is sure."""
_HALF: Final = timedelta(days=60).total_seconds()
"""After which something seen counts for half."""
_ONE_SIDED: Final = 1.645
"""Of a normal distribution 95 % lie above minus this."""


def fresh(seen: Sightings, now: datetime) -> float:
    """How often, what is long ago counting for less."""
    seconds = (now - seen.last_seen).total_seconds()
    return float(seen.times * 0.5 ** (seconds / _HALF)) if seconds > 0 else float(seen.times)


def share(part: float, whole: float) -> float:
    """Of all that was seen, and of what was not seen yet."""
    return part / (max(part, whole) + _UNSEEN)


def at_least(part: float, whole: float) -> float:
    """The lower end of Wilson's interval around the share."""
    count, middle = max(part, whole) + _UNSEEN, share(part, whole)
    square = _ONE_SIDED**2 / count
    spread = _ONE_SIDED * sqrt(middle * (1 - middle) / count + square / (4 * count))
    return max(0.0, (middle + square / 2 - spread) / (1 + square))


@dataclass(slots=True)
class Link:
    """Strengths are as of when it was last seen here."""

    follows: Sightings | None = None
    feeds: Sightings | None = None
    follow_strength: float = 0.0
    feed_strength: float = 0.0
    strength: float = 0.0
    """What both came after and took something is one thing that was seen."""

    def add(self, kind: EdgeKind, seen: Sightings, now: datetime) -> None:
        if kind is EdgeKind.FOLLOWS:
            self.follows = seen if self.follows is None else self.follows.and_then(seen)
            self.follow_strength = fresh(self.follows, now)
        else:
            self.feeds = seen if self.feeds is None else self.feeds.and_then(seen)
            self.feed_strength = fresh(self.feeds, now)
        followed, took = self.follow_strength, self.feed_strength
        self.strength = max(took, followed)

    @property
    def tasks(self) -> int:
        return max(each.tasks for each in (self.follows, self.feeds) if each is not None)

    @property
    def last_seen(self) -> datetime:
        return max(each.last_seen for each in (self.follows, self.feeds) if each is not None)


# What is computed over a graph by a library: over numbers, which know of no tools.

Weighted = tuple[int, int, float]
"""From, to, and a weight or a cost that is not negative."""


class NumberedGraph(Protocol):
    """Directed, without two edges between the same two."""

    def grow(self) -> None:
        """By one node, whose number is how many there were."""
        ...

    def put(self, edges: Iterable[Weighted]) -> None:
        """In the place of what is known between the same two."""
        ...

    def cheapest(self, start: int, goal: int) -> Sequence[int]:
        """From one to another; nothing if there is no way."""
        ...

    def shortest(self, start: int, goal: int) -> Sequence[int]:
        """With the fewest edges."""
        ...


class GraphMath(Protocol):
    def graph(self, nodes: int) -> NumberedGraph: ...

    def ranks(self, nodes: int, edges: Sequence[Weighted]) -> Sequence[float]:
        """PageRank of each node; together one."""
        ...

    def communities(self, nodes: int, edges: Sequence[Weighted]) -> Sequence[int]:
        """Of each node a number that is that of those it belongs to, always the same for the same
        graph; one that has no edge is alone."""
        ...


# What is computed over a whole graph: how central each tool is, and who belongs together.


@dataclass(frozen=True, slots=True)
class Community:
    """Tools that are used together more than with others, the most central first."""

    number: int
    tools: tuple[ToolRef, ...]


@dataclass(frozen=True)
class Communities:
    groups: Sequence[Community]
    """The largest first, numbered from 1."""

    def of(self, tool: ToolRef) -> Community | None:
        return self._of.get(tool)

    def beside(self, tool: ToolRef, most: int = 3) -> Sequence[ToolRef]:
        """Others of its community, the most central first."""
        mine = self._of.get(tool)
        return [each for each in mine.tools if each != tool][:most] if mine else []

    @cached_property
    def numbers(self) -> Mapping[str, int]:
        return {str(tool): group.number for tool, group in self._of.items()}

    @cached_property
    def _of(self) -> Mapping[ToolRef, Community]:
        return {tool: group for group in self.groups for tool in group.tools}


@dataclass(frozen=True, slots=True)
class Analysis:
    ranks: Mapping[ToolRef, float]
    """PageRank: together one."""
    communities: Communities


def analysed(tools: Sequence[ToolRef], edges: Sequence[Weighted], math: GraphMath) -> Analysis:
    """Of tools by number, and of edges between the numbers."""
    ranks = dict(zip(tools, math.ranks(len(tools), edges), strict=True))
    groups: defaultdict[int, list[ToolRef]] = defaultdict(list)
    for tool, number in zip(tools, math.communities(len(tools), edges), strict=True):
        groups[number].append(tool)
    for members in groups.values():
        members.sort(key=lambda tool: (-ranks[tool], tool))
    ordered = sorted(groups.values(), key=lambda members: (-len(members), members[0]))
    numbered = [Community(number, tuple(each)) for number, each in enumerate(ordered, 1)]
    return Analysis(ranks, Communities(numbered))


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


MOST: Final = 50_000
"""Edges that one graph has."""
Flows = Callable[[], Mapping[tuple[ToolRef, ToolRef], Iterable[Fed]]]
EdgeSightings = tuple[int, int, EdgeKind, Sightings]
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

    def seen(self, edges: Iterable[EdgeSightings], now: datetime) -> None:
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


_TOP: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphMetrics:
    tools: int
    """That any edge begins or ends at."""
    offered: int
    """That the caller could use, learnt of or not."""
    edges: int
    feeding: int
    """Edges by which something was handed on."""
    density: float
    """Of the edges that there could be between these tools."""
    communities: int
    """Of at least two tools."""
    central: Sequence[tuple[ToolRef, float]]
    """By PageRank. Search never looks at it."""
    surest: Sequence[Hop]


def graph_figures(graph: KnownGraph, analysis: Analysis, offered: int) -> GraphMetrics:
    hops, tools = graph.hops, len(graph.tools)
    central = nlargest(_TOP, analysis.ranks.items(), key=lambda item: (item[1], str(item[0])))
    surest = nlargest(_TOP, hops, key=lambda hop: (hop.at_least, hop.earlier, hop.later))
    return GraphMetrics(
        tools=tools,
        offered=offered,
        edges=len(hops),
        feeding=sum(1 for hop in hops if hop.took),
        density=len(hops) / (tools * tools) if tools else 0.0,
        communities=sum(1 for group in analysis.communities.groups if len(group.tools) > 1),
        central=central,
        surest=surest,
    )


# A graph as JSON that other programs read: nodes, and edges between their ids.


def node_link(graph: KnownGraph, analysis: Analysis) -> JsonObject:
    """The node-link form that networkx, graphology and d3 take."""
    return {
        "directed": True,
        "multigraph": False,
        "graph": {"name": "portico tools", "as_of": graph.now.isoformat()},
        "nodes": [_node(tool, analysis) for tool in sorted(graph.tools)],
        "edges": [
            _edge(hop) for hop in sorted(graph.hops, key=lambda hop: (hop.earlier, hop.later))
        ],
    }


def _node(tool: ToolRef, analysis: Analysis) -> JsonObject:
    community = analysis.communities.of(tool)
    return {
        "id": str(tool),
        "server": tool.server,
        "tool": tool.name,
        "rank": round(analysis.ranks.get(tool, 0.0), 6),
        "community": None if community is None else community.number,
    }


def _edge(hop: Hop) -> JsonObject:
    return {
        "source": str(hop.earlier),
        "target": str(hop.later),
        "confidence": round(hop.confidence, 4),
        "at_least": round(hop.at_least, 4),
        "needed": round(hop.needed, 4),
        "followed": hop.followed,
        "took": hop.took,
        "tasks": hop.tasks,
        "last_seen": hop.last_seen.isoformat(),
        "fed": [
            {"path": fed.path, "parameter": fed.parameter, "times": fed.times} for fed in hop.fed
        ],
    }


# The edges of a plan that went well: what waited for what, and what took what it gave.


def plan_edges(
    plan: Plan,
    done: Collection[str],
    place: Callable[[ToolRef], ToolPlace | None],
    expressions: Expressions,
) -> Iterator[ToolEdge]:
    """Between the steps that were done, each edge once."""
    places = {step.id: place(step.tool) for step in plan.steps if step.id in done}
    pairs = {
        (need.needs, step.id, need.given and need.place.startswith("/arguments"))
        for step in plan.steps
        for need in needs_of(step, expressions)
    }
    for before, after, fed in sorted(pairs):
        earlier, later = places.get(before), places.get(after)
        if earlier is not None and later is not None:
            yield ToolEdge(earlier, later, EdgeKind.FEEDS if fed else EdgeKind.FOLLOWS)


# How often one task may teach one edge: whoever is made to go round in circles teaches little.

TIMES: Final = 2
WITHIN: Final = timedelta(minutes=30)
_MOST: Final = 20_000


@dataclass(slots=True)
class TaskBound:
    _seen: OrderedDict[tuple[Hashable, ToolEdge], tuple[datetime, int]] = field(
        default_factory=OrderedDict
    )

    def counted(self, task: Hashable, edge: ToolEdge, now: datetime) -> Sightings | None:
        """What this sighting counts for: nothing, once the task has taught the edge often enough.
        The time begins with the first of them, and is not prolonged by others."""
        since, times = self._seen.get((task, edge), (now, 0))
        if now - since > WITHIN:
            since, times = now, 0
        if times >= TIMES:
            return None
        self._seen[task, edge] = (since, times + 1)
        self._seen.move_to_end((task, edge))
        if len(self._seen) > _MOST:
            self._seen.popitem(last=False)
        return Sightings(1, 1 if times == 0 else 0, now)
