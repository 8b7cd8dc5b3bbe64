"""The graph of tools: load, show, and list as a table."""

import asyncio
from collections import OrderedDict, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from portico.gateway.catalog import Catalogs
from portico.gateway.catalog_snapshot import CatalogSnapshot
from portico.gateway.core.catalog_snapshot import ToolRef
from portico.gateway.core.inferred_schema import Passed, ToolPlace
from portico.gateway.ports import keep_written
from portico.guard.core.contexts import context_of
from portico.guard.core.principals import Scope
from portico.guard.principals import require_scope
from portico.kernel.clock import Clock
from portico.kernel.errors import PorticoError
from portico.kernel.ids import SpaceId
from portico.kernel.json import JsonObject
from portico.kernel.label import Label
from portico.kernel.principal import Principal
from portico.learning.core.tool_graph import (
    MOST,
    Analysis,
    Communities,
    Community,
    EdgeSightings,
    Fed,
    GraphMath,
    GraphMetrics,
    Hop,
    KnownEdges,
    KnownGraph,
    Path,
    Sightings,
    TaskBound,
    ToolEdge,
    analysed,
    graph_figures,
    node_link,
)
from portico.learning.observation import EdgeStore, ObservedFlows, at_label

# The edges that one clearance may know of, and graphs of them for what each caller is offered.

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

    snapshot: CatalogSnapshot
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

    def view(self, shelf: CatalogSnapshot, math: GraphMath, now: datetime) -> View:
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

    def __init__(self, shelf: CatalogSnapshot) -> None:
        self._servers = {server.id.value.int: name for name, server in shelf.servers.items()}
        self._tools = shelf.tools

    def of(self, place: ToolPlace) -> ToolRef | None:
        """None of a tool that is not live there."""
        server = self._servers.get(place.server.value.int)
        ref = None if server is None else ToolRef(server, place.tool)
        return ref if ref in self._tools else None


def _of_shelf(known: KnownEdges, names: Names, graph: KnownGraph) -> Iterable[EdgeSightings]:
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
) -> Iterable[EdgeSightings]:
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


_TABLES: Final = 8
"""Graphs of clearances that are kept in memory."""
_WAITING: Final = 20_000
"""Edges that wait to be written down."""
_ROWS: Final = 2 * MOST
"""Read of the store: an edge can be of both kinds, and at several labels."""
_FLOWS: Final = 5_000
_AT_ONCE: Final = 8_000
"""Edges that a graph is made of at once; of more, in a thread."""


@dataclass(slots=True, kw_only=True)
class Graphs:
    """Whoever asks is told only what was learnt at labels within their clearance, between tools
    that they are offered. A graph is read from the store when it is first asked for, and again
    from time to time for what other processes have learnt."""

    book: EdgeStore
    flows: ObservedFlows
    catalogues: Catalogs
    math: GraphMath
    clock: Clock
    every: timedelta = timedelta(seconds=2)
    again: timedelta = timedelta(minutes=5)
    rest: timedelta = timedelta(seconds=30)
    """How old what was computed over the whole may be, when the graph has changed since."""
    soon: timedelta = timedelta(seconds=5)
    """How old the ways may be by which results became arguments."""
    _bound: TaskBound = field(default_factory=TaskBound)
    _waiting: dict[tuple[SpaceId, Label], tuple[Principal, dict[ToolEdge, Sightings]]] = field(
        default_factory=dict
    )
    _tables: OrderedDict[tuple[SpaceId, Label], EdgeTable] = field(default_factory=OrderedDict)
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Whoever writes or reads all: so that nothing is counted twice, or not at all."""
    _trimmed: dict[tuple[SpaceId, Label], datetime] = field(default_factory=dict)

    def note(self, caller: Principal, label: Label, edges: Iterable[ToolEdge]) -> None:
        """`label`: of all that the task has read by now. Known here at once, to others soon."""
        now, task = self.clock.now(), (caller.space, caller.id, context_of(caller))
        writer = at_label(caller, label)
        _, waiting = self._waiting.setdefault((caller.space, label), (writer, {}))
        tables = [
            table
            for (space, clearance), table in self._tables.items()
            if space == caller.space and clearance.covers(label)
        ]
        for edge in edges:
            seen = self._bound.counted(task, edge, now)
            if seen is None or (edge not in waiting and len(waiting) >= _WAITING):
                continue
            before = waiting.get(edge)
            waiting[edge] = seen if before is None else before.and_then(seen)
            for table in tables:
                table.note(edge, seen)

    async def of(self, caller: Principal) -> KnownGraph:
        """Raises `StoreUnavailable`, if it was never read yet."""
        return (await self._view(caller))[1].graph

    async def explained(self, caller: Principal) -> KnownGraph:
        """The same, with the ways by which results became arguments."""
        table, view = await self._view(caller)
        table.explain(view, await self._counted(table, caller))
        return view.graph

    async def analysis(self, caller: Principal) -> Analysis:
        """Of the graph as it is, or was a short while ago."""
        _, view = await self._view(caller)
        last, now = view.last, self.clock.now()
        if last is not None and (last.version == view.graph.version or now - last.at < self.rest):
            return last.found
        graph, version = view.graph, view.graph.version
        tools, edges = [*graph.tools], graph.weighted()
        found = await asyncio.to_thread(analysed, tools, edges, self.math)
        view.last = Analysed(found, version, now)
        return found

    async def communities(self, caller: Principal) -> Communities:
        return (await self.analysis(caller)).communities

    async def flush(self) -> None:
        """All that is noted. What cannot be written now waits on."""
        async with self._turn:
            for place in list(self._waiting):
                writer, edges = self._waiting.pop(place)
                try:
                    await self.book.learn(writer, place[1], edges)
                    await self._trim(writer, place)
                except (PorticoError, asyncio.CancelledError):
                    self._put_back(place, writer, edges)
                    raise

    async def read_again(self) -> None:
        """What is in use, for what others have learnt; what is not asked for any more is let go."""
        now = self.clock.now()
        for place, table in [*self._tables.items()]:
            if now - table.used > 6 * self.again:
                del self._tables[place]
            elif now - table.read > self.again:
                self._tables[place] = await self._read(table.reader)
                self._tables[place].used = table.used

    async def run(self) -> None:
        await keep_written(self.every, self._in_turn, self.flush)

    async def _in_turn(self) -> None:
        await self.flush()
        await self.read_again()

    async def _view(self, caller: Principal) -> tuple[EdgeTable, View]:
        shelf = await self.catalogues.offered(caller)
        table = await self._table(caller)
        now = self.clock.now()
        table.used = now
        view = table.views.get(caller.tools)
        if view is None or view.snapshot is not shelf:
            view = await self._made(table, shelf, now)
            table.keep(caller.tools, view)
        table.catch_up(view, now)
        return table, view

    async def _counted(self, table: EdgeTable, caller: Principal) -> Mapping[Passed, int]:
        now = self.clock.now()
        if table.flows is None or now - table.flows.at > self.soon:
            table.flows = Counted(await self.flows.counted(caller, _FLOWS), now)
        return table.flows.flows

    async def _made(self, table: EdgeTable, shelf: CatalogSnapshot, now: datetime) -> View:
        if table.size <= _AT_ONCE:
            return table.view(shelf, self.math, now)
        return await asyncio.to_thread(table.view, shelf, self.math, now)

    async def _table(self, caller: Principal) -> EdgeTable:
        place = (caller.space, caller.clearance)
        table = self._tables.get(place)
        if table is None or table.overgrown:
            read = await self._read(caller)
            table = self._tables[place] = read
            while len(self._tables) > _TABLES:
                self._tables.popitem(last=False)
        self._tables.move_to_end(place)
        return table

    async def _read(self, caller: Principal) -> EdgeTable:
        async with self._turn:
            known = await self.book.known(caller, _ROWS)
            table = EdgeTable(reader=caller, known=known, read=self.clock.now())
            for (space, label), (_, waiting) in self._waiting.items():
                if space == caller.space and caller.clearance.covers(label):
                    table.log.extend(waiting.items())
            return table

    async def _trim(self, writer: Principal, place: tuple[SpaceId, Label]) -> None:
        now = self.clock.now()
        if now - self._trimmed.get(place, now - 2 * self.again) > self.again:
            self._trimmed[place] = now
            await self.book.trim(writer, place[1], MOST)

    def _put_back(
        self, place: tuple[SpaceId, Label], writer: Principal, edges: dict[ToolEdge, Sightings]
    ) -> None:
        _, since = self._waiting.setdefault(place, (writer, {}))
        for edge, seen in edges.items():
            since[edge] = seen.and_then(since[edge]) if edge in since else seen


# Look at the learnt graph: its figures, ways through it, who belongs together. It is told to each
# as far as they may know of it, and it ranks no search.


@dataclass(frozen=True, slots=True)
class Ways:
    """From one tool to another; None where none is known."""

    likeliest: Path | None
    shortest: Path | None


@dataclass(frozen=True, slots=True)
class Neighbours:
    after: Sequence[Hop]
    before: Sequence[Hop]
    beside: Sequence[ToolRef]
    """Of its community, the most central first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowGraphMetrics:
    graphs: Graphs
    catalogues: Catalogs

    async def __call__(self, caller: Principal) -> GraphMetrics:
        require_scope(caller, Scope.TOOLS_READ)
        shelf = await self.catalogues.offered(caller)
        graph = await self.graphs.explained(caller)
        return graph_figures(graph, await self.graphs.analysis(caller), len(shelf.tools))


@dataclass(frozen=True, slots=True, kw_only=True)
class FindWays:
    graphs: Graphs
    catalogues: Catalogs

    async def __call__(self, caller: Principal, start: ToolRef, goal: ToolRef) -> Ways:
        """Raises what looking for either tool raises, also if it is none that is offered."""
        require_scope(caller, Scope.TOOLS_READ)
        shelf = await self.catalogues.offered(caller)
        shelf.find(start)
        shelf.find(goal)
        graph = await self.graphs.explained(caller)
        return Ways(graph.path(start, goal), graph.shortest(start, goal))


@dataclass(frozen=True, slots=True, kw_only=True)
class ListCommunities:
    graphs: Graphs

    async def __call__(self, caller: Principal) -> Sequence[Community]:
        """Of at least two tools, the largest first."""
        require_scope(caller, Scope.TOOLS_READ)
        communities = await self.graphs.communities(caller)
        return [group for group in communities.groups if len(group.tools) > 1]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListNeighbours:
    graphs: Graphs
    catalogues: Catalogs

    async def __call__(self, caller: Principal, tool: ToolRef, most: int = 10) -> Neighbours:
        """Raises what looking for the tool raises."""
        require_scope(caller, Scope.TOOLS_READ)
        (await self.catalogues.offered(caller)).find(tool)
        graph = await self.graphs.explained(caller)
        communities = await self.graphs.communities(caller)
        return Neighbours(
            after=graph.after(tool, most),
            before=graph.before(tool, most),
            beside=communities.beside(tool, most),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportGraph:
    graphs: Graphs

    async def __call__(self, caller: Principal) -> JsonObject:
        require_scope(caller, Scope.TOOLS_READ)
        graph = await self.graphs.explained(caller)
        return node_link(graph, await self.graphs.analysis(caller))
