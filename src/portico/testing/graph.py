"""The learnt graph and the counters of what could be foreseen, in memory."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from hashlib import sha256

from portico.adapters.graph import RustGraphMath
from portico.gateway.catalog import Catalogues
from portico.kernel.clock import Clock
from portico.kernel.label import Label, may_read
from portico.kernel.principal import Principal
from portico.learning.core.graph.edge import KnownEdges, Sightings, ToolEdge
from portico.learning.core.learnt_count import Count, CountKey
from portico.learning.graph.graphs import Graphs
from portico.testing.learnt import MemorySeenFlows
from portico.testing.world import MemoryWorld


def some_graphs(world: MemoryWorld, catalogues: Catalogues, clock: Clock) -> Graphs:
    return Graphs(
        book=MemoryEdgeBook(world),
        flows=MemorySeenFlows(world),
        catalogues=catalogues,
        math=RustGraphMath(),
        clock=clock,
    )


class MemoryEdgeBook:
    def __init__(self, world: MemoryWorld) -> None:
        self._world = world

    async def learn(
        self, caller: Principal, label: Label, seen: Mapping[ToolEdge, Sightings]
    ) -> None:
        for edge, sightings in seen.items() if may_read(caller.clearance, label) else ():
            ends = (edge.earlier.server, edge.later.server)
            if all((caller.space, server) in self._world.servers for server in ends):
                place = (caller.space, label, edge)
                before = self._world.edges.get(place)
                self._world.edges[place] = sightings.and_then(before) if before else sightings

    async def known(self, caller: Principal, most: int) -> KnownEdges:
        mine = [
            (edge, seen)
            for (space, label, edge), seen in self._world.edges.items()
            if space == caller.space and may_read(caller.clearance, label)
        ]
        if len(mine) > most:
            mine.sort(key=lambda item: (item[1].tasks, item[1].last_seen), reverse=True)
        mine = mine[:most]
        places = [*dict.fromkeys(end for edge, _ in mine for end in (edge.earlier, edge.later))]
        edges = [
            (places.index(edge.earlier), places.index(edge.later), edge.kind, seen)
            for edge, seen in mine
        ]
        return KnownEdges(places, edges)

    async def trim(self, caller: Principal, label: Label, most: int) -> None:
        if may_read(caller.clearance, label):
            mine = [
                (seen.last_seen, place)
                for place, seen in self._world.edges.items()
                if place[:2] == (caller.space, label)
            ]
            for _, place in sorted(mine, key=lambda item: item[0], reverse=True)[most:]:
                del self._world.edges[place]


class MemoryLearntCounts:
    def __init__(self, world: MemoryWorld) -> None:
        self._world = world

    async def learn(
        self, caller: Principal, label: Label, counted: Mapping[CountKey, Count]
    ) -> None:
        for key, count in counted.items() if may_read(caller.clearance, label) else ():
            here = all((caller.space, server) in self._world.servers for server in key.servers)
            if key.fits and here:
                place = (caller.space, label, key)
                before = self._world.counts.get(place)
                self._world.counts[place] = count.and_then(before) if before else count

    async def labels(self, caller: Principal) -> Sequence[Label]:
        labels = {label for space, label, _ in self._world.counts if space == caller.space}
        mine = [label for label in labels if may_read(caller.clearance, label)]
        return sorted(mine, key=lambda label: (label.level, sorted(label.compartments)))

    async def known(
        self, caller: Principal, label: Label, most: int, kinds: Sequence[str] = ()
    ) -> Sequence[tuple[CountKey, Count]]:
        last = self._last(caller, label, most)
        wanted = [item for item in last if not kinds or item[0].kind in kinds]
        return sorted(wanted, key=lambda item: item[1].last_seen)

    async def trim(self, caller: Principal, label: Label, most: int) -> None:
        if may_read(caller.clearance, label):
            kept = {key for key, _ in self._last(caller, label, most)}
            self._world.counts.drop(
                lambda place, _: place[:2] == (caller.space, label) and place[2] not in kept
            )

    def _last(self, caller: Principal, label: Label, most: int) -> Sequence[tuple[CountKey, Count]]:
        """Of each kind the ones seen last."""
        of_kind: defaultdict[str, list[tuple[CountKey, Count]]] = defaultdict(list)
        for (space, its, key), count in self._world.counts.items():
            if (space, its) == (caller.space, label) and may_read(caller.clearance, label):
                of_kind[key.kind].append((key, count))
        return [
            item
            for kind in sorted(of_kind)
            for item in sorted(
                of_kind[kind],
                key=lambda item: (-item[1].last_seen.timestamp(), _digest(item[0])),
            )[:most]
        ]


def _digest(key: CountKey) -> bytes:
    return sha256(key.key.encode()).digest()
