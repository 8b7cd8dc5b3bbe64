"""The learnt graph in memory: known at once, written down soon, and to nobody who may not know."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta

import pytest

from portico.engine.core.errors import StoreUnavailable
from portico.gateway.core.calls import ToolResult
from portico.gateway.core.catalog_snapshot import Tool
from portico.gateway.core.inferred_schema import Passed, ToolPlace
from portico.guard.core.access_request import AccessRequest, ActionTarget
from portico.guard.core.errors import NotPermitted
from portico.kernel.effect import Effect
from portico.kernel.ids import ContextId
from portico.kernel.label import PUBLIC, Label, Level
from portico.kernel.principal import Principal
from portico.learning import tool_graph
from portico.learning import tool_graph as graphs_module
from portico.learning.core.tool_graph import EdgeKind, Sightings, ToolEdge
from portico.learning.observation import at_label
from portico.learning.tool_graph import Graphs
from portico.testing.gateway_fakes import ANYTHING
from portico.testing.guard import MemoryRules
from portico.testing.learning import MemoryEdgeStore, some_graphs
from tests.gateway.open_room import ANA, READ, SECRETARY, WEATHER, OpenRoom, ref

TEAM, SECRET = Label(Level.TEAM), Label(Level.RESTRICTED, frozenset({"hr"}))


class GraphRoom(OpenRoom):
    """In which everything is allowed."""

    def __init__(self) -> None:
        super().__init__(rules=MemoryRules([ANYTHING]))
        self.graphs: Graphs = self.gateway.graphs

    def place(self, tool: str) -> ToolPlace:
        where = ref(tool)
        return ToolPlace(self._server(where.server)[1].id, where.name)

    def edge(self, text: str) -> ToolEdge:
        earlier, arrow, later = text.split()
        kind = EdgeKind.FOLLOWS if arrow == "->" else EdgeKind.FEEDS
        return ToolEdge(self.place(earlier), self.place(later), kind)

    def note(self, *edges: str, caller: Principal = ANA, label: Label = TEAM) -> None:
        self.graphs.note(caller, label, [self.edge(text) for text in edges])

    async def known(self, caller: Principal = ANA, graphs: Graphs | None = None) -> dict[str, int]:
        hops = (await (graphs or self.graphs).of(caller)).hops
        return {f"{hop.earlier} -> {hop.later}": hop.times for hop in hops}

    async def called(self, caller: Principal, *tools: Tool) -> None:
        for tool in tools:
            await self.use.call_tool(caller, tool.ref, {})
            self.clock.turn(timedelta(seconds=1))
        await self.gateway.observations.flush()


@pytest.fixture
def room() -> GraphRoom:
    return GraphRoom()


def in_task(caller: Principal, number: int) -> Principal:
    return replace(caller, context=ContextId.of_digest(str(number).encode()))


async def test_of_calls_it_is_learnt_which_came_after_which(room: GraphRoom) -> None:
    await room.called(ANA, READ, WEATHER, READ)

    assert await room.known() == {
        "files.read -> sky.forecast": 1,
        "sky.forecast -> files.read": 1,
    }


async def test_and_which_took_what_another_gave(room: GraphRoom) -> None:
    room.upstreams.replies[READ.ref] = ToolResult([], structured={"city": "Reykjavik"})
    await room.use.call_tool(ANA, READ.ref, {})
    room.clock.turn(timedelta(seconds=1))
    await room.use.call_tool(ANA, WEATHER.ref, {"place": "Reykjavik"})
    await room.gateway.observations.flush()

    [hop] = (await room.graphs.explained(ANA)).before(WEATHER.ref)

    assert (hop.earlier, hop.took, hop.tasks) == (READ.ref, 1, 1)
    assert [(fed.path, fed.parameter) for fed in hop.fed] == [("json.city", "place")]


async def test_calls_that_overlap_do_not_follow_each_other(room: GraphRoom) -> None:
    lessons, server = room.gateway.observations, room._server("files")[1]
    act, began = _act(), room.clock.now()

    lessons.note(act, server, began, ToolResult([]))
    lessons.note(act, server, began, ToolResult([]))
    await lessons.flush()

    assert await room.known() == {}


async def test_what_is_called_for_a_run_teaches_no_order(room: GraphRoom) -> None:
    lessons, server = room.gateway.observations, room._server("files")[1]
    for _ in range(3):
        lessons.note(_act(), server, room.clock.now(), ToolResult([]), in_run=True)
        room.clock.turn(timedelta(seconds=1))
    await lessons.flush()

    assert await room.known() == {}


async def test_where_nothing_may_be_learnt_nothing_is_noted(room: GraphRoom) -> None:
    async def never(_caller: Principal, /) -> bool:
        return False

    room.gateway.observations.learns = never
    await room.called(ANA, READ, WEATHER, READ)

    assert await room.known() == {}
    assert room.world.shapes == {}


async def test_what_was_noted_is_known_at_once_and_written_down_soon(room: GraphRoom) -> None:
    assert await room.known() == {}

    room.note("files.read -> sky.forecast")

    assert await room.known() == {"files.read -> sky.forecast": 1}
    assert room.world.edges == {}
    await room.graphs.flush()
    [(place_, seen)] = room.world.edges.items()
    assert (place_[1], seen.times, seen.tasks) == (TEAM, 1, 1)
    assert await room.known() == {"files.read -> sky.forecast": 1}


@pytest.fixture
async def watched(room: GraphRoom) -> AsyncIterator[None]:
    """As in a running house: the catalogue is held, and listens for changes."""
    running = asyncio.create_task(room.gateway.catalogues.run())
    await asyncio.sleep(0)
    await room.gateway.catalogues.current(ANA)
    yield
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running


@pytest.mark.usefixtures("watched")
async def test_ways_and_ranks_follow_what_is_noted(room: GraphRoom) -> None:
    room.note("files.read -> sky.forecast")
    assert (await room.graphs.of(ANA)).path(READ.ref, ref("files.write")) is None
    assert len((await room.graphs.analysis(ANA)).ranks) == 2

    room.note("sky.forecast -> files.write")

    found = (await room.graphs.of(ANA)).path(READ.ref, ref("files.write"))
    assert found is not None
    assert not found.direct
    assert len((await room.graphs.analysis(ANA)).ranks) == 2, "for a while the old ones will do"
    room.clock.turn(timedelta(minutes=1))
    assert len((await room.graphs.analysis(ANA)).ranks) == 3
    assert len((await room.graphs.communities(ANA)).numbers) == 3


@pytest.mark.requirement("gateway:graph:poison")
async def test_one_task_that_goes_round_in_circles_teaches_little(room: GraphRoom) -> None:
    round_ = [room.edge("files.read -> sky.forecast"), room.edge("sky.forecast -> files.read")]
    for _ in range(500):
        room.graphs.note(ANA, TEAM, round_)
    for number in range(5):
        room.note("files.read -> files.write", caller=in_task(ANA, number))

    after = (await room.graphs.of(ANA)).after(READ.ref)

    assert [(str(hop.later), hop.times, hop.tasks) for hop in after] == [
        ("files.write", 5, 5),
        ("sky.forecast", 2, 1),
    ]


@pytest.mark.requirement("gateway:graph:clearance")
async def test_nobody_is_told_what_was_learnt_above_their_clearance(room: GraphRoom) -> None:
    secret = room.edge("files.read -> sky.forecast")
    room.graphs.note(SECRETARY, SECRET, [secret])
    room.note("sky.forecast -> files.write", caller=SECRETARY)

    async def told(caller: Principal) -> tuple[object, ...]:
        graph, analysis = await room.graphs.of(caller), await room.graphs.analysis(caller)
        return graph.size, graph.path(READ.ref, WEATHER.ref) is not None, len(analysis.ranks)

    assert await told(ANA) == (1, False, 2)
    assert await told(SECRETARY) == (2, True, 3)
    await room.graphs.flush()
    again = some_graphs(room.world, room.gateway.catalogues, room.clock)
    assert await room.known(ANA, again) == {"sky.forecast -> files.write": 1}
    assert len(await room.known(SECRETARY, again)) == 2
    again.note(SECRETARY, SECRET, [replace(secret, kind=EdgeKind.FEEDS)])
    assert await room.known(ANA, again) == {"sky.forecast -> files.write": 1}


@pytest.mark.requirement("gateway:graph:clearance")
async def test_nobody_is_told_of_a_server_that_they_may_not_know(room: GraphRoom) -> None:
    room.note("files.read -> sky.forecast", label=PUBLIC)
    room.note("files.read -> files.write", label=PUBLIC)
    assert len(await room.known()) == 2

    room.label("sky", SECRET)

    assert await room.known() == {"files.read -> files.write": 1}
    assert len((await room.graphs.analysis(ANA)).ranks) == 2
    assert len(await room.known(SECRETARY)) == 2


async def test_nobody_is_told_of_tools_that_are_not_on_their_lists(room: GraphRoom) -> None:
    room.note("files.read -> sky.forecast", label=PUBLIC)
    room.note("files.read -> files.write", label=PUBLIC)

    listed = replace(ANA, tools=(("files.*",),))

    assert await room.known(listed) == {"files.read -> files.write": 1}
    assert len(await room.known()) == 2
    for number in range(20):
        await room.graphs.of(replace(ANA, tools=((f"{number}.*",),)))
    assert await room.known(listed) == {"files.read -> files.write": 1}


async def test_another_space_learns_for_itself(room: GraphRoom) -> None:
    room.note("files.read -> sky.forecast", label=PUBLIC)
    elsewhere = replace(ANA, space=type(ANA.space).of_digest(b"elsewhere"))

    assert await room.known(elsewhere) == {}


@pytest.mark.requirement("seed001:02")
async def test_what_other_processes_learn_is_read_now_and_then(room: GraphRoom) -> None:
    other = some_graphs(room.world, room.gateway.catalogues, room.clock)
    assert await room.known() == {}
    other.note(ANA, TEAM, [room.edge("files.read -> sky.forecast")])
    await other.flush()
    room.note("files.read -> sky.forecast", caller=in_task(ANA, 1))

    await room.graphs.read_again()
    assert await room.known() == {"files.read -> sky.forecast": 1}
    room.clock.turn(timedelta(minutes=6))
    await room.graphs.read_again()

    assert await room.known() == {"files.read -> sky.forecast": 2}
    await room.graphs.flush()
    assert await room.known() == {"files.read -> sky.forecast": 2}
    assert next(iter(room.world.edges.values())).times == 2


async def test_what_nobody_asks_for_is_let_go(room: GraphRoom) -> None:
    await room.graphs.of(ANA)
    for level in range(12):
        clearance = Label(Level.TEAM, frozenset({f"c{level}"}))
        await room.graphs.of(replace(ANA, clearance=clearance))
    assert len(room.graphs._tables) == 8

    room.clock.turn(timedelta(hours=1))
    await room.graphs.read_again()

    assert len(room.graphs._tables) == 0


class Away(MemoryEdgeStore):
    there = False

    async def learn(
        self, caller: Principal, label: Label, seen: Mapping[ToolEdge, Sightings]
    ) -> None:
        if not self.there:
            raise StoreUnavailable("away")
        await super().learn(caller, label, seen)


async def test_what_cannot_be_written_waits(room: GraphRoom) -> None:
    room.graphs.book = book = Away(room.world)
    both = [room.edge("files.read -> sky.forecast"), room.edge("files.read -> files.write")]
    room.graphs.note(ANA, TEAM, both)
    with pytest.raises(StoreUnavailable):
        await room.graphs.flush()

    book.there = True
    room.graphs.note(ANA, TEAM, both[:1])
    await room.graphs.flush()
    await room.graphs.flush()

    assert {place[2]: seen.times for place, seen in room.world.edges.items()} == {
        both[0]: 2,
        both[1]: 1,
    }


async def test_what_was_noted_is_written_when_the_house_is_closed(room: GraphRoom) -> None:
    running = asyncio.create_task(room.graphs.run())
    await asyncio.sleep(0)
    room.note("files.read -> sky.forecast")

    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running

    assert len(room.world.edges) == 1


class Slow(MemoryEdgeStore):
    """The first writing takes until it is broken off."""

    begun = False

    async def learn(
        self, caller: Principal, label: Label, seen: Mapping[ToolEdge, Sightings]
    ) -> None:
        if not self.begun:
            self.begun = True
            await asyncio.Event().wait()
        await super().learn(caller, label, seen)


async def test_what_is_being_written_when_the_house_is_closed_is_not_lost(room: GraphRoom) -> None:
    room.graphs.book = book = Slow(room.world)
    room.graphs.every = timedelta(0)
    room.note("files.read -> sky.forecast")
    running = asyncio.create_task(room.graphs.run())
    async with asyncio.timeout(30):
        while not book.begun:  # noqa: ASYNC110 # seen only so
            await asyncio.sleep(0)

    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running

    assert [seen.times for seen in room.world.edges.values()] == [1]


async def test_it_is_written_down_and_read_again_by_itself(room: GraphRoom) -> None:
    room.graphs.every = timedelta(milliseconds=1)
    room.note("files.read -> sky.forecast")

    running = asyncio.create_task(room.graphs.run())
    async with asyncio.timeout(30):
        while not room.world.edges:  # noqa: ASYNC110 # seen only so
            await asyncio.sleep(0.001)
    running.cancel()

    assert [seen.times for seen in room.world.edges.values()] == [1]


async def test_what_waits_and_what_is_held_is_bounded(
    room: GraphRoom, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graphs_module, "_WAITING", 5)
    monkeypatch.setattr(tool_graph, "_LONGEST", 3)
    monkeypatch.setattr(graphs_module, "_AT_ONCE", 1)
    await room.graphs.of(ANA)
    read = room.place("files.read")
    for number in range(50):
        later = replace(read, tool=f"t{number}")
        room.graphs.note(ANA, TEAM, [ToolEdge(read, later, EdgeKind.FOLLOWS)])

    [held] = room.graphs._tables.values()
    assert len(held.log) == 4
    await room.graphs.flush()
    assert len(room.world.edges) == 5
    await room.graphs.of(ANA)
    [held] = room.graphs._tables.values()
    assert (len(held.log), held.size) == (0, 5)


async def test_only_so_many_edges_stay_in_the_store(
    room: GraphRoom, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graphs_module, "MOST", 1)
    room.note("files.read -> sky.forecast")
    room.clock.turn(timedelta(seconds=1))
    room.note("files.read -> files.write")

    await room.graphs.flush()

    assert [place[2].later.tool for place in room.world.edges] == ["write"]


async def test_flows_that_were_counted_are_told_with_their_edge(room: GraphRoom) -> None:
    read, forecast = room.place("files.read"), room.place("sky.forecast")
    gone = replace(read, tool="gone")
    room.world.flows[ANA.space, Passed(read, "json.city", forecast, "place")] = 3
    room.world.flows[ANA.space, Passed(gone, "json.city", forecast, "place")] = 3
    room.note("files.read => sky.forecast")
    await room.graphs.flush()

    assert [hop.fed for hop in (await room.graphs.of(ANA)).hops] == [()]
    [hop] = (await room.graphs.explained(ANA)).hops

    assert [(fed.path, fed.parameter, fed.times) for fed in hop.fed] == [("json.city", "place", 3)]


async def test_flows_that_are_counted_later_are_told_soon(room: GraphRoom) -> None:
    room.note("files.read => sky.forecast")
    assert [hop.fed for hop in (await room.graphs.explained(ANA)).hops] == [()]
    passed = Passed(room.place("files.read"), "json.city", room.place("sky.forecast"), "place")
    room.world.flows[ANA.space, passed] = 1

    room.clock.turn(timedelta(seconds=6))

    assert [len(hop.fed) for hop in (await room.graphs.explained(ANA)).hops] == [1]


async def test_whoever_may_not_see_tools_sees_no_graph(room: GraphRoom) -> None:
    nobody = replace(ANA, scopes=frozenset())
    use = room.use.graph

    for asked in (
        use.metrics(nobody),
        use.ways(nobody, READ.ref, WEATHER.ref),
        use.communities(nobody),
        use.neighbours(nobody, READ.ref),
        use.export(nobody),
    ):
        with pytest.raises(NotPermitted):
            await asked


def test_it_is_written_by_the_house_at_exactly_its_label() -> None:
    writer = at_label(SECRETARY, TEAM)

    assert (writer.space, writer.clearance, writer.id == SECRETARY.id) == (ANA.space, TEAM, False)


def _act() -> AccessRequest:
    aim = ActionTarget(tool="files.read", server="files", effect=Effect.LOCAL_READ, pin=READ.pin)
    return AccessRequest(caller=ANA, target=aim)
