"""The learnt graph in memory, for each clearance its own: noted in passing, written down later."""

import asyncio
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from portico.gateway.catalog import Catalogues
from portico.gateway.catalog_snapshot import Shelf
from portico.gateway.core.inferred_schema import Passed
from portico.gateway.ports import keep_written
from portico.guard.core.contexts import context_of
from portico.kernel.clock import Clock
from portico.kernel.errors import PorticoError
from portico.kernel.ids import SpaceId
from portico.kernel.label import Label
from portico.kernel.principal import Principal
from portico.learning.core.graph.analysis import Analysis, Communities, analysed
from portico.learning.core.graph.edge import Sightings, ToolEdge
from portico.learning.core.graph.known_graph import MOST, KnownGraph
from portico.learning.core.graph.math import GraphMath
from portico.learning.core.graph.task_bound import TaskBound
from portico.learning.graph.table import Analysed, Counted, EdgeTable, View
from portico.learning.graph.writing import at_label
from portico.learning.graph_ports import EdgeBook
from portico.learning.ports import SeenFlows

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

    book: EdgeBook
    flows: SeenFlows
    catalogues: Catalogues
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

    async def write_down(self) -> None:
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
        await keep_written(self.every, self._in_turn, self.write_down)

    async def _in_turn(self) -> None:
        await self.write_down()
        await self.read_again()

    async def _view(self, caller: Principal) -> tuple[EdgeTable, View]:
        shelf = await self.catalogues.offered(caller)
        table = await self._table(caller)
        now = self.clock.now()
        table.used = now
        view = table.views.get(caller.tools)
        if view is None or view.shelf is not shelf:
            view = await self._made(table, shelf, now)
            table.keep(caller.tools, view)
        table.catch_up(view, now)
        return table, view

    async def _counted(self, table: EdgeTable, caller: Principal) -> Mapping[Passed, int]:
        now = self.clock.now()
        if table.flows is None or now - table.flows.at > self.soon:
            table.flows = Counted(await self.flows.counted(caller, _FLOWS), now)
        return table.flows.flows

    async def _made(self, table: EdgeTable, shelf: Shelf, now: datetime) -> View:
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
