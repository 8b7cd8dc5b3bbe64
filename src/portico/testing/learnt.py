"""What is learnt from results, in memory."""

from collections.abc import Iterable, Mapping

from portico.gateway.core.inferred_schema import Passed, SeenShape, ToolPlace
from portico.kernel.clock import Clock
from portico.kernel.label import Label
from portico.kernel.principal import Principal
from portico.learning.core.graph.edge import ToolEdge
from portico.learning.lessons import Lessons
from portico.learning.ports import EdgeNotes
from portico.testing.contexts import MemoryTaskContexts
from portico.testing.world import MemoryWorld


class MemoryShapes:
    def __init__(self, world: MemoryWorld) -> None:
        self._world = world

    async def learn(self, caller: Principal, seen: Mapping[ToolPlace, SeenShape]) -> None:
        for place, later in seen.items():
            if (caller.space, place.server) in self._world.servers:
                before = self._world.shapes.get((caller.space, place))
                whole = later if before is None else before.and_then(later)
                self._world.shapes[caller.space, place] = whole

    async def known(
        self, caller: Principal, wanted: Mapping[ToolPlace, str]
    ) -> Mapping[ToolPlace, SeenShape]:
        found = {place: self._world.shapes.get((caller.space, place)) for place in wanted}
        return {
            place: seen
            for place, seen in found.items()
            if seen is not None and seen.pin == wanted[place]
        }


class MemorySeenFlows:
    def __init__(self, world: MemoryWorld) -> None:
        self._world = world

    async def learn(self, caller: Principal, passed: Mapping[Passed, int]) -> None:
        for each, times in passed.items():
            ends = (each.producer.server, each.consumer.server)
            if all((caller.space, server) in self._world.servers for server in ends):
                place = (caller.space, each)
                self._world.flows[place] = self._world.flows.get(place, 0) + times

    async def counted(self, caller: Principal, most: int) -> Mapping[Passed, int]:
        mine = [
            (passed, times)
            for (space, passed), times in self._world.flows.items()
            if space == caller.space
        ]
        return dict(sorted(mine, key=lambda item: (-item[1], _order(item[0])))[:most])


def _order(passed: Passed) -> tuple[object, ...]:
    producer, consumer = passed.producer, passed.consumer
    return (
        consumer.server.value,
        consumer.tool,
        passed.parameter,
        producer.server.value,
        producer.tool,
        passed.path,
    )


class NotedEdges:
    """Which tool came after which, one by one."""

    def __init__(self) -> None:
        self.noted: list[tuple[Principal, Label, ToolEdge]] = []

    def note(self, caller: Principal, label: Label, edges: Iterable[ToolEdge]) -> None:
        self.noted += [(caller, label, edge) for edge in edges]


def some_lessons(
    clock: Clock, world: MemoryWorld | None = None, edges: EdgeNotes | None = None
) -> Lessons:
    world = world or MemoryWorld()
    return Lessons(
        shapes=MemoryShapes(world),
        flows=MemorySeenFlows(world),
        edges=edges or NotedEdges(),
        contexts=MemoryTaskContexts(world),
        clock=clock,
        key=b"digests",
    )
