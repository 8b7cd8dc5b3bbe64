"""The edges that one clearance may know of, and graphs of them for what each caller is offered."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Final

from portico.gateway.catalog_snapshot import Shelf
from portico.gateway.core.catalog_snapshot import ToolRef
from portico.gateway.core.inferred_schema import Passed, ToolPlace
from portico.kernel.principal import Principal
from portico.learning.core.graph.analysis import Analysis
from portico.learning.core.graph.edge import KnownEdges, Sightings, ToolEdge
from portico.learning.core.graph.known_graph import KnownGraph, Seen
from portico.learning.core.graph.math import GraphMath
from portico.learning.core.graph.path import Fed

_LONGEST: Final = 10_000
"""What is noted before it is all read again."""
_VIEWS: Final = 8

Lists = tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Analysed:
    """What was found, of which version of the graph, and when."""

    found: Analysis
    version: int
    at: datetime


@dataclass(frozen=True, slots=True)
class Counted:
    """Which results became which arguments, as it was read."""

    flows: Mapping[Passed, int]
    at: datetime


@dataclass(slots=True)
class View:
    """`caught_up`: how much of what was noted is in its graph."""

    shelf: Shelf
    names: "Names"
    graph: KnownGraph
    caught_up: int = 0
    last: Analysed | None = None
    flows: Mapping[Passed, int] | None = None


@dataclass(slots=True, kw_only=True)
class EdgeTable:
    """As it was read, and what was noted since."""

    reader: Principal
    known: KnownEdges
    read: datetime
    flows: Counted | None = None
    """Read when they are asked for."""
    used: datetime = field(init=False)
    log: list[tuple[ToolEdge, Sightings]] = field(default_factory=list)
    views: dict[Lists, View] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.used = self.read

    @property
    def size(self) -> int:
        return len(self.known.edges)

    @property
    def overgrown(self) -> bool:
        return len(self.log) > _LONGEST

    def note(self, edge: ToolEdge, seen: Sightings) -> None:
        """Not of what is to be read again anyway."""
        if not self.overgrown:
            self.log.append((edge, seen))

    def view(self, shelf: Shelf, math: GraphMath, now: datetime) -> View:
        """Between live tools of this shelf."""
        names, graph = Names(shelf), KnownGraph(math, now)
        graph.seen(_of_shelf(self.known, names, graph), now)
        return View(shelf, names, graph)

    def explain(self, view: View, flows: Mapping[Passed, int]) -> None:
        """With the ways by which results became arguments."""
        if view.flows is not flows:
            view.flows = flows
            view.graph.fed(partial(_ways, flows, view.names))

    def catch_up(self, view: View, now: datetime) -> None:
        if view.caught_up < len(self.log):
            view.graph.seen(_noted(self.log[view.caught_up :], view.names, view.graph), now)
            view.caught_up = len(self.log)

    def keep(self, lists: Lists, view: View) -> None:
        if lists not in self.views and len(self.views) >= _VIEWS:
            self.views.clear()
        self.views[lists] = view


class Names:
    """What the tools of a shelf are called."""

    def __init__(self, shelf: Shelf) -> None:
        self._servers = {server.id.value.int: name for name, server in shelf.servers.items()}
        self._tools = shelf.tools

    def of(self, place: ToolPlace) -> ToolRef | None:
        """None of a tool that is not live there."""
        server = self._servers.get(place.server.value.int)
        ref = None if server is None else ToolRef(server, place.tool)
        return ref if ref in self._tools else None


def _of_shelf(known: KnownEdges, names: Names, graph: KnownGraph) -> Iterable[Seen]:
    """Each tool is looked for once, in however many edges it is."""
    refs = [names.of(place) for place in known.places]
    numbers = [-1] * len(refs)
    for earlier, later, kind, seen in known.edges:
        start, end = refs[earlier], refs[later]
        if start is not None and end is not None:
            if numbers[earlier] < 0:
                numbers[earlier] = graph.number(start)
            if numbers[later] < 0:
                numbers[later] = graph.number(end)
            yield numbers[earlier], numbers[later], kind, seen


def _noted(
    edges: Iterable[tuple[ToolEdge, Sightings]], names: Names, graph: KnownGraph
) -> Iterable[Seen]:
    for edge, seen in edges:
        earlier, later = names.of(edge.earlier), names.of(edge.later)
        if earlier is not None and later is not None:
            yield graph.number(earlier), graph.number(later), edge.kind, seen


def _ways(flows: Mapping[Passed, int], names: Names) -> Mapping[tuple[ToolRef, ToolRef], list[Fed]]:
    ways: defaultdict[tuple[ToolRef, ToolRef], list[Fed]] = defaultdict(list)
    for passed, times in flows.items():
        earlier, later = names.of(passed.producer), names.of(passed.consumer)
        if earlier is not None and later is not None:
            ways[earlier, later].append(Fed(passed.path, passed.parameter, times))
    return ways
