"""Observe calls and their results, and keep what they teach."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

import pytest

from portico.engine.core.errors import StoreUnavailable
from portico.gateway.core.calls import ToolResult
from portico.gateway.core.catalog_snapshot import Tool, ToolRef
from portico.gateway.core.inferred_schema import ObservedSchema, Passed, ToolPlace, line_of
from portico.gateway.inferred_schema import KnownShapes
from portico.gateway.ports import keep_written
from portico.gateway.tool_usage import ToolUsageRecorder
from portico.guard.core.access_request import AccessRequest, ActionTarget
from portico.kernel.effect import Effect
from portico.kernel.ids import ContextId
from portico.kernel.json import JsonObject, JsonValue
from portico.kernel.label import PUBLIC, Label, Level
from portico.kernel.principal import Principal
from portico.learning.core.observation import FOLLOWS, Count, CountKey, Increment
from portico.learning.observation import CallObservations, LabelModels
from portico.testing.gateway import MemoryToolUsageStore
from portico.testing.gateway_fakes import ANYTHING
from portico.testing.guard import MemoryRules
from portico.testing.learning import (
    MemoryLearnedCounts,
    MemoryObservedFlows,
    MemoryShapes,
    NotedEdges,
)
from portico.testing.memory_store import BEGINNING, InMemoryStore, TickingClock
from tests.gateway.open_room import ANA, READ, SECRETARY, WEATHER, OpenRoom, ref

ODD = ("octocat-17", "octocat-18")


def gives(room: OpenRoom, tool: Tool, value: JsonValue) -> None:
    room.upstreams.replies[tool.ref] = ToolResult([], structured=value)


async def read(room: OpenRoom, value: JsonValue, times: int = 1) -> None:
    """So often, and each time this comes of it."""
    gives(room, READ, value)
    for _ in range(times):
        await room.use.call_tool(ANA, READ.ref, {"path": "/a"})


async def passed_on(room: OpenRoom, value: str = ODD[0]) -> None:
    """To the other tool; what was noted is written down."""
    await room.use.call_tool(ANA, WEATHER.ref, {"city": value})
    await room.gateway.observations.flush()


def lesson(room: OpenRoom, caller: Principal, lessons: CallObservations, value: JsonValue) -> None:
    """As if a call had been made."""
    aim = ActionTarget(tool="files.read", server="files", effect=Effect.LOCAL_READ, pin=READ.pin)
    answer = ToolResult([], structured=value)
    [server] = [its for its in room.world.servers.values() if its.name == "files"]
    lessons.note(AccessRequest(caller=caller, target=aim), server, BEGINNING, answer)


def place(room: OpenRoom, tool: str) -> ToolPlace:
    where = ref(tool)
    [server] = [its for its in room.world.servers.values() if its.name == where.server]
    return ToolPlace(server.id, where.name)


async def known(room: OpenRoom, tool: str) -> ObservedSchema | None:
    its = place(room, tool)
    pin = {"files.read": READ, "sky.forecast": WEATHER}[tool].pin
    return (await room.doors.learning.shapes.known(ANA, {its: pin})).get(its)


async def times(room: OpenRoom) -> int:
    """That something came of a read, as far as it is learnt."""
    learnt = await known(room, "files.read")
    return 0 if learnt is None else learnt.times


@pytest.fixture
def room() -> OpenRoom:
    return OpenRoom(rules=MemoryRules([ANYTHING]))


async def test_a_call_teaches_what_its_tool_returns(room: OpenRoom) -> None:
    await read(room, {"size": 3, "lines": ["x"]}, 3)
    before = await known(room, "files.read")
    await room.gateway.observations.flush()

    after = await known(room, "files.read")
    assert before is None
    assert after is not None
    assert (after.times, line_of(after.shape)) == (3, "{lines: [str], size: int}")


async def test_a_failure_and_what_is_far_too_long_teach_nothing(room: OpenRoom) -> None:
    for answer in (
        ToolResult([{"type": "text", "text": "no"}], failed=True),
        ToolResult([{"type": "text", "text": "x" * 200_001}]),
    ):
        room.upstreams.replies[READ.ref] = answer
        await room.use.call_tool(ANA, READ.ref, {"path": "/a"}, whole=True)
    await room.gateway.observations.flush()

    assert await known(room, "files.read") is None


async def test_what_is_more_than_can_be_learnt_from_is_let_go(room: OpenRoom) -> None:
    gives(room, READ, {})
    room.gateway.observations.limit = 2

    for _ in range(5):
        await room.use.call_tool(ANA, READ.ref, {"path": "/a"})
    await room.gateway.observations.flush()

    assert await times(room) == 2


async def test_what_there_is_no_time_for_now_is_learnt_from_later(room: OpenRoom) -> None:
    await read(room, {}, 3)

    await room.gateway.observations.flush(timedelta(0))
    at_first = await known(room, "files.read")
    await room.gateway.observations.flush()

    learnt = await known(room, "files.read")
    assert at_first is None
    assert (learnt and learnt.times) == 3


async def test_a_value_that_was_passed_on_is_counted_without_the_value(room: OpenRoom) -> None:
    for number in ODD:
        await read(room, {"items": [{"id": number}]})
        gives(room, WEATHER, {"id": number})
        await room.use.call_tool(ANA, WEATHER.ref, {"city": number})
    await room.gateway.observations.flush()

    fed = Passed(place(room, "files.read"), "json.items[0].id", place(room, "sky.forecast"), "city")
    assert await room.doors.learning.flows.counted(ANA, 9) == {fed: 2}
    assert "octocat" not in repr(room.gateway.observations)


async def test_values_of_another_task_are_another_s(room: OpenRoom) -> None:
    await read(room, {"id": ODD[0]})
    await room.use.call_tool(SECRETARY, WEATHER.ref, {"city": ODD[0]})
    await room.gateway.observations.flush()

    assert await room.doors.learning.flows.counted(ANA, 9) == {}


async def test_a_task_that_has_read_secrets_teaches_nothing_of_others(room: OpenRoom) -> None:
    room.label("files", Label(Level.RESTRICTED, frozenset({"hr"})), clearance=SECRETARY.clearance)
    room.label("sky", clearance=SECRETARY.clearance)
    gives(room, READ, {"salary": 1})
    gives(room, WEATHER, {"of_mrs_miller": 1})

    for _ in range(2):
        await room.use.call_tool(SECRETARY, READ.ref, {"path": "/a"})
        await room.use.call_tool(SECRETARY, WEATHER.ref, {"city": "x"})
    await room.gateway.observations.flush()

    learnt = await known(room, "files.read")
    assert learnt is not None
    assert line_of(learnt.shape) == "{salary: int}"
    assert await known(room, "sky.forecast") is None


async def test_nor_does_a_task_that_is_closed_by_now(room: OpenRoom) -> None:
    elsewhere = replace(ANA, context=ContextId(ANA.id.value))

    lesson(room, elsewhere, room.gateway.observations, {"a": 1})
    await room.gateway.observations.flush()

    assert await known(room, "files.read") is None


class Away(MemoryShapes):
    there = False

    async def learn(self, caller: Principal, seen: Mapping[ToolPlace, ObservedSchema]) -> None:
        if not self.there:
            raise StoreUnavailable("away")
        await super().learn(caller, seen)


async def test_what_cannot_be_written_stays_learnt(room: OpenRoom) -> None:
    shapes = Away(room.world)
    lessons = CallObservations(
        shapes=shapes,
        flows=MemoryObservedFlows(room.world),
        edges=NotedEdges(),
        contexts=room.doors.contexts,
        clock=room.clock,
        key=b"k",
    )
    lesson(room, ANA, lessons, {"a": 1})
    with pytest.raises(StoreUnavailable):
        await lessons.flush()

    shapes.there = True
    lesson(room, ANA, lessons, {"a": 1})
    await lessons.flush()
    await lessons.flush()

    assert await times(room) == 2


async def test_what_was_noted_is_written_when_the_house_is_closed(room: OpenRoom) -> None:
    await read(room, {"a": 1})

    running = asyncio.create_task(room.gateway.observations.run())
    await asyncio.sleep(0)
    running.cancel()
    await asyncio.wait([running])

    assert await known(room, "files.read") is not None


async def test_what_was_learnt_is_told_with_the_tool(room: OpenRoom) -> None:
    await read(room, {"size": 3}, 2)
    await room.gateway.observations.flush()

    described = await room.gateway.describe_tools(ANA, ["files.read", "files.write", "odd"])
    look = await room.use.show_tool(ANA, READ.ref)

    told = [tool.get("returns") for tool in described.tools]
    assert told == [{"seen": 2, "shape": "{size: int}"}, None]
    assert (look.returns and look.returns.times) == 2


async def test_not_of_another_definition_and_not_where_its_server_says_it(room: OpenRoom) -> None:
    schema: JsonObject = {"type": "object", "properties": {"size": {"type": "integer"}}}
    says = {**READ.definition.raw, "outputSchema": schema}
    await read(room, {"size": 3}, 2)
    await room.gateway.observations.flush()
    definition = replace(READ.definition, output_schema=schema, raw=says)
    room.replace(replace(READ, definition=definition))
    spoken = await room.use.show_tool(ANA, READ.ref)
    room.replace(replace(READ, pin="other", accepted_pin="other"))
    other = await room.use.show_tool(ANA, READ.ref)
    room.replace(replace(READ, pin="other"))
    changed = await room.use.show_tool(ANA, READ.ref)

    assert [look.returns for look in (spoken, other, changed)] == [None, None, None]


class Gone(MemoryShapes):
    async def known(
        self, caller: Principal, wanted: Mapping[ToolPlace, str]
    ) -> Mapping[ToolPlace, ObservedSchema]:
        raise StoreUnavailable("away")


async def test_while_the_store_is_away_tools_are_described_all_the_same(room: OpenRoom) -> None:
    known_shapes = KnownShapes(shapes=Gone(room.world))
    describe_tools = replace(room.gateway.describe_tools, known_shapes=known_shapes)

    described = await describe_tools(ANA, ["files.read"])

    assert [tool["tool"] for tool in described.tools] == ["files.read"]


async def test_what_was_given_long_ago_is_not_recognized_any_more(room: OpenRoom) -> None:
    await read(room, {"id": ODD[0]})
    room.clock.turn(timedelta(hours=1))
    await passed_on(room)

    assert await room.doors.learning.flows.counted(ANA, 9) == {}


@pytest.mark.parametrize(("calls", "values"), [(64, 0), (8, 300)])
async def test_only_so_many_calls_and_values_of_a_task_are_remembered(
    room: OpenRoom, calls: int, values: int
) -> None:
    await read(room, {"id": ODD[0]})
    for call in range(calls):
        many = [f"value {call} {number}" for number in range(values)]
        lesson(room, ANA, room.gateway.observations, many)
    await passed_on(room)

    assert await room.doors.learning.flows.counted(ANA, 9) == {}


async def test_only_so_many_tasks_are_remembered(room: OpenRoom) -> None:
    await read(room, {"id": ODD[0]})
    for number in range(100):
        lesson(room, replace(ANA, key=f"key-{number}"), room.gateway.observations, {})
    await room.gateway.observations.flush()

    await passed_on(room)

    assert await room.doors.learning.flows.counted(ANA, 9) == {}


async def test_of_tools_that_all_say_what_they_return_nobody_is_asked(room: OpenRoom) -> None:
    known_shapes = KnownShapes(shapes=Gone(room.world))
    shelf = await room.gateway.catalogues.current(ANA)

    assert await known_shapes(ANA, shelf, []) == {}


class FlowsAway(MemoryObservedFlows):
    there = False

    async def learn(self, caller: Principal, passed: Mapping[Passed, int]) -> None:
        if not self.there:
            raise StoreUnavailable("away")
        await super().learn(caller, passed)


async def test_what_was_written_before_it_broke_off_is_not_written_twice(room: OpenRoom) -> None:
    lessons, flows = room.gateway.observations, FlowsAway(room.world)
    lessons.flows = flows
    await read(room, {"id": ODD[0]})
    await room.use.call_tool(ANA, WEATHER.ref, {"city": ODD[0]})
    with pytest.raises(StoreUnavailable):
        await lessons.flush()

    flows.there = True
    await lessons.flush()

    assert await times(room) == 1
    assert [*(await flows.counted(ANA, 9)).values()] == [1]


EVERY = timedelta(milliseconds=1)


@dataclass
class Book:
    noted: list[str] = field(default_factory=list)
    written: list[str] = field(default_factory=list)
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    away: bool = False

    async def write_down(self) -> None:
        taken, self.noted = self.noted, []
        self.begun.set()
        if self.away:
            raise StoreUnavailable("gone")
        self.written += taken


async def ended(task: asyncio.Task[None]) -> None:
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


async def test_what_is_noted_when_it_ends_is_still_written() -> None:
    book = Book()
    task = asyncio.create_task(keep_written(EVERY, book.write_down))
    await book.begun.wait()

    book.noted.append("last")
    await ended(task)

    assert book.written == ["last"]


async def test_the_last_writing_may_be_another() -> None:
    often, last = Book(noted=["one"]), Book(noted=["two"])
    task = asyncio.create_task(keep_written(EVERY, often.write_down, last.write_down))
    await often.begun.wait()

    await ended(task)

    assert (often.written, last.written) == (["one"], ["two"])


async def test_a_store_that_is_away_at_the_end_is_nobodys_error() -> None:
    book = Book(away=True)
    task = asyncio.create_task(keep_written(timedelta(hours=1), book.write_down))
    await asyncio.sleep(0)

    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert book.begun.is_set()


async def test_what_breaks_the_writing_is_told() -> None:
    book = Book(away=True)

    with pytest.raises(StoreUnavailable):
        await keep_written(EVERY, book.write_down)


class AwayAcquaintances(MemoryToolUsageStore):
    there = False

    async def used(self, caller: Principal, refs: Mapping[ToolRef, int], at: datetime) -> None:
        if not self.there:
            raise StoreUnavailable("away")
        await super().used(caller, refs, at)


async def test_what_cannot_be_written_stays_noted() -> None:
    known = AwayAcquaintances(OpenRoom().world)
    habits = ToolUsageRecorder(tool_usage=known, clock=TickingClock())
    habits.note(ANA, READ.ref)
    with pytest.raises(StoreUnavailable):
        await habits.flush()

    known.there = True
    habits.note(ANA, READ.ref)
    await habits.flush()

    assert await known.most_used(ANA, 5) == [READ.ref]


TEAM, SECRET = Label(Level.TEAM), Label(Level.CONFIDENTIAL, frozenset({"hr"}))
ONCE = Increment(FOLLOWS, '["a","b"]', 1, 1)


class Counts(MemoryLearnedCounts):
    """A store that can be away, and notes how it is read and trimmed."""

    def __init__(self) -> None:
        super().__init__(InMemoryStore())
        self.away, self.reads = False, 0
        self.trims: list[tuple[Label, int]] = []

    async def learn(
        self, caller: Principal, label: Label, counted: Mapping[CountKey, Count]
    ) -> None:
        if self.away:
            raise StoreUnavailable("no database")
        await super().learn(caller, label, counted)

    async def known(
        self, caller: Principal, label: Label, most: int, kinds: Sequence[str] = ()
    ) -> Sequence[tuple[CountKey, Count]]:
        self.reads += 1
        return await super().known(caller, label, most, kinds)

    async def trim(self, caller: Principal, label: Label, most: int) -> None:
        assert caller.clearance.covers(label)
        self.trims.append((label, most))


@pytest.fixture
def counts() -> Counts:
    return Counts()


def some_layers(counts: MemoryLearnedCounts) -> LabelModels:
    return LabelModels(counts=counts, clock=TickingClock())


async def learn(layers: LabelModels, label: Label, times: int = 1) -> None:
    layer = await layers.of(ANA, label)
    layer.add([ONCE] * times)
    layers.add(ANA, label, [ONCE] * times)


async def tried(layers: LabelModels, label: Label) -> int:
    return sum(each.tried for each in (await layers.of(ANA, label)).counted())


async def test_what_is_learnt_in_one_process_is_known_to_the_next(counts: Counts) -> None:
    layers = some_layers(counts)
    await learn(layers, TEAM, 3)
    assert await tried(some_layers(counts), TEAM) == 0

    await layers.flush()
    await layers.flush()

    assert await tried(layers, TEAM) == 3
    assert await tried(some_layers(counts), TEAM) == 3


async def test_what_was_read_again_has_what_is_not_written_yet(counts: Counts) -> None:
    layers, other = some_layers(counts), some_layers(counts)
    await learn(layers, TEAM)
    await learn(other, TEAM, 5)
    await other.flush()

    layers.again = timedelta(0)

    assert await tried(layers, TEAM) == 6


async def test_what_cannot_be_written_now_is_written_later(counts: Counts) -> None:
    layers = some_layers(counts)
    await learn(layers, TEAM, 2)
    counts.away = True
    with pytest.raises(StoreUnavailable):
        await layers.flush()
    counts.away = False
    await learn(layers, TEAM)

    await layers.flush()

    assert await tried(some_layers(counts), TEAM) == 3


async def test_a_task_is_told_what_was_learnt_at_labels_that_its_own_covers(counts: Counts) -> None:
    layers = some_layers(counts)
    for label in (PUBLIC, TEAM, SECRET):
        await learn(layers, label)
    await layers.flush()

    for known in (layers, some_layers(counts)):
        for label, below in (
            (PUBLIC, [PUBLIC]),
            (TEAM, [TEAM, PUBLIC]),
            (SECRET, [SECRET, PUBLIC, TEAM]),
        ):
            assert [its.label for its in await known.covered(ANA, label)] == below


async def test_what_is_learnt_by_the_end_is_written_down_in_the_end(counts: Counts) -> None:
    layers = some_layers(counts)
    layers.every = timedelta(0)
    async with asyncio.TaskGroup() as group:
        writing = group.create_task(layers.run())
        await learn(layers, TEAM)
        for _ in range(5):
            await asyncio.sleep(0)
        await learn(layers, PUBLIC)
        writing.cancel()

    assert await tried(some_layers(counts), TEAM) == 1
    assert await tried(some_layers(counts), PUBLIC) == 1


async def test_another_space_knows_nothing_of_it(counts: Counts) -> None:
    layers = some_layers(counts)
    await learn(layers, PUBLIC)
    other = replace(ANA, space=type(ANA.space).of_digest(b"another"))

    assert (await layers.of(other, PUBLIC)).size == 0


async def test_only_so_many_are_kept_in_memory_and_so_much_waits(counts: Counts) -> None:
    layers = some_layers(counts)
    layers.limit = 8
    for number in range(12):
        await learn(layers, Label(Level.TEAM, frozenset({f"c{number}"})))
        await layers.covered(ANA, Label(Level.TEAM, frozenset({f"c{number}"})))
    layers.add(ANA, PUBLIC, [ONCE] * 30_000)

    assert (len(layers._kept), len(layers._labels)) == (8, 8)
    assert len(layers._waiting[ANA.space, PUBLIC][1]) == 20_000


async def test_what_is_in_use_is_read_once_and_only_so_much_is_kept(counts: Counts) -> None:
    layers = some_layers(counts)
    labels = [Label(Level.TEAM, frozenset({f"c{number}"})) for number in range(20)]
    for label in labels:
        await learn(layers, label)
    await layers.flush()
    for _ in range(3):
        for label in labels:
            await layers.of(ANA, label)
    assert counts.reads == 20
    layers = LabelModels(counts=counts, clock=TickingClock(), most_rows=2)

    for _ in range(2):
        for label in labels[:2]:
            await layers.of(ANA, label)
    assert counts.reads == 22
    for label in (*labels[:3], labels[0]):
        await layers.of(ANA, label)

    assert counts.reads == 24


async def test_it_is_told_once_how_long_reading_took(counts: Counts) -> None:
    layers = some_layers(counts)
    await learn(layers, TEAM)
    await layers.flush()
    layers = some_layers(counts)
    await layers.of(ANA, TEAM)

    assert layers.reading_took() > 0
    assert layers.reading_took() == 0


async def test_of_each_label_only_so_much_stays(counts: Counts) -> None:
    layers = some_layers(counts)
    for _ in range(101):
        layers.add(ANA, TEAM, [ONCE])
        await layers.flush()
    layers.add(ANA, SECRET, [ONCE])
    await layers.flush()

    assert counts.trims == [(TEAM, 20_000), (TEAM, 20_000), (SECRET, 20_000)]
