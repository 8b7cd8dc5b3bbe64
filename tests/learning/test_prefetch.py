"""Prefetch reads while a task runs: start, watch, show, switch."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from portico.engine.core.errors import StoreUnavailable
from portico.engine.core.event_log import Entry
from portico.gateway.core.catalog_snapshot import Tool, ToolRef
from portico.gateway.core.errors import ServerNotFound
from portico.gateway.core.inferred_schema import ToolPlace
from portico.gateway.core.servers import ServerId
from portico.gateway.servers import ClearedServers
from portico.guard.core.access_request import AccessRequest
from portico.guard.core.errors import NotPermitted
from portico.guard.core.principals import Role
from portico.kernel.ids import ContextId
from portico.kernel.json import JsonObject
from portico.kernel.label import PUBLIC, Label, Level
from portico.kernel.principal import Principal
from portico.learning.core.observation import RECORD, Count, CountKey
from portico.learning.core.observed_calls import (
    CallForm,
    EdgeKey,
    ObservedCall,
    Predicted,
    ReadRequest,
)
from portico.learning.core.prefetch import PrefetchTotals, WasteReason
from portico.learning.core.prefetch_cache import PROVEN_FOR_CALLER, FairEffort, Paces, TrustInAll
from portico.learning.core.prefetch_gates import (
    PrefetchLimits,
    PrefetchMode,
    ServerSwitch,
    SpaceSwitches,
    Switches,
)
from portico.learning.prefetch import (
    TOPIC,
    PrefetchEvents,
    PrefetchRecorder,
    PrefetchSpec,
    ServerPrefetchSpec,
    ShowPrefetch,
    SwitchPrefetch,
)
from portico.learning.prefetch_switches import AHEAD, Switchboard
from portico.testing.engine import MemoryBus, MemoryEventLog
from portico.testing.gateway import MemoryServers, an_approved_server, text
from portico.testing.gateway_fakes import ANYTHING, MemoryPrefetchMeter
from portico.testing.guard import MemoryAudit, MemoryRules, MemorySpaceSettings, a_person, a_space
from portico.testing.learning import MemoryLearnedCounts
from portico.testing.memory_store import (
    BEGINNING,
    InMemoryStore,
    KnownContext,
    SeededEntropy,
    TickingClock,
)
from tests.gateway.open_room import ANA as OPEN_ROOM_ANA
from tests.gateway.open_room import READ as OPEN_ROOM_READ
from tests.gateway.open_room import SECRETARY, VIEWER, OpenRoom
from tests.gateway.open_room import WRITE as OPEN_ROOM_WRITE
from tests.learning.core.prefetch.attempts import AIM
from tests.learning.prefetch.ahead_room import LIST, AheadRoom

# What callers do is worked through beside their calls: in order, within bounds, or not at all.


@pytest.fixture
def room() -> AheadRoom:
    room = AheadRoom(rules=MemoryRules([ANYTHING]))
    room.upstreams.replies[OPEN_ROOM_READ.ref] = lambda given: text(f"read {given['path']}")
    return room


async def listed(room: AheadRoom) -> None:
    """And worked through."""
    await room.asked("/", tool=LIST)
    await room.watching.work_through()


def then(room: AheadRoom, tool: Tool, given: JsonObject, *, live: bool = True) -> None:
    """After every list, this is foretold."""

    def foretell(last: ObservedCall | None) -> Sequence[Predicted]:
        listed = last is not None and last.tool == room.place(LIST)
        return [room.foretold(tool, given, live=live)] if listed else []

    room.script.next = foretell


async def test_after_a_call_what_comes_next_is_there_when_it_is_asked_for(room: AheadRoom) -> None:
    then(room, OPEN_ROOM_READ, {"path": "a"})
    async with room.running():
        await listed(room)
        await room.landed()

        assert (await room.asked("a")).answer.meta is not None
        await room.watching.work_through()
    assert [str(ref) for ref, _ in room.upstreams.called] == ["files.list", "files.read"]
    assert [call.tool.tool for call in room.script.seen] == ["list", "read"]
    assert (room.meter.calls, room.meter.predictions, room.meter.hits) == (2, 1, 1)


async def test_it_goes_on_by_itself_while_the_process_runs(room: AheadRoom) -> None:
    then(room, OPEN_ROOM_READ, {"path": "a"})
    async with room.running(), asyncio.TaskGroup() as group:
        working = group.create_task(room.watching.run())
        await room.asked("/", tool=LIST)
        await room.until(lambda: len(room.upstreams.called) == 2)
        await room.landed()

        assert (await room.asked("a")).answer.meta is not None
        working.cancel()


async def test_what_has_not_proved_right_is_foretold_and_not_made(room: AheadRoom) -> None:
    then(room, OPEN_ROOM_READ, {"path": "a"}, live=False)
    async with room.running():
        await listed(room)

    assert len(room.upstreams.called) == 1
    assert room.meter.predictions == 1


@pytest.mark.parametrize(
    ("mode", "foretold"), [(PrefetchMode.SHADOW, 1), (PrefetchMode.OFF, 0), (PrefetchMode.LIVE, 1)]
)
async def test_the_space_says_whether_anything_is_foretold_or_made(
    room: AheadRoom, mode: PrefetchMode, foretold: int
) -> None:
    then(room, OPEN_ROOM_READ, {"path": "a"})
    await room.switch(SpaceSwitches(mode=mode))
    async with room.running():
        await listed(room)
        await room.landed()

    assert room.meter.predictions == foretold
    assert len(room.upstreams.called) == (2 if mode is PrefetchMode.LIVE else 1)


async def test_where_nothing_may_be_learnt_nothing_is_noted(room: AheadRoom) -> None:
    await room.switch(SpaceSwitches(learning=False))
    async with room.running():
        await room.asked("/", tool=LIST)
        room.watching.say(OPEN_ROOM_ANA, "where is the file")
        await room.watching.work_through()

    assert (room.script.seen, room.script.said) == ([], [])


async def test_what_changes_something_is_never_foretold(room: AheadRoom) -> None:
    then(room, OPEN_ROOM_WRITE, {"path": "a"})
    async with room.running():
        await listed(room)

    assert room.meter.predictions == 0


async def test_what_somebody_says_is_heard_in_its_place(room: AheadRoom) -> None:
    room.watching.say(OPEN_ROOM_ANA, "")
    room.watching.say(OPEN_ROOM_ANA, "list the files", "of this folder")
    await room.watching.work_through()

    assert room.script.said == ["list the files", "of this folder"]


async def test_of_what_is_far_too_long_only_that_it_was_is_noted(room: AheadRoom) -> None:
    async with room.running():
        for length in (200_001, 7):
            room.upstreams.replies[OPEN_ROOM_READ.ref] = text("x" * length)
            await room.asked("a")
        await room.watching.work_through()

    texts = [[str(pool) for pool in call.places.values()] for call in room.script.seen]
    assert ["xxxxxxx" in str(each) for each in texts] == [False, True]


async def test_a_task_of_which_something_was_missed_begins_anew(room: AheadRoom) -> None:
    room.watching.effort = FairEffort(share=1e9)
    async with room.running():
        await listed(room)
        for _ in range(65):
            await room.asked("/", tool=LIST)
        await room.watching.work_through()
        after_many = room.script.ended
        room.watching.effort = FairEffort(share=0.0, saved=0.0)
        await listed(room)
        room.watching.effort = FairEffort()
        await listed(room)

    assert (after_many, room.script.ended, len(room.script.seen)) == (1, 2, 66)


async def test_so_much_waits_of_all_and_less_of_each(room: AheadRoom) -> None:
    room.watching.effort = FairEffort(share=1e9)
    people = [replace(a_person(f"p{number}"), key="k") for number in range(5)]
    for person in people:
        for number in range(65):
            room.watching.say(person, f"{person.name} {number}")
    await room.watching.work_through()

    said = [f"p{person} {number}" for person in range(4) for number in range(64)]
    assert room.script.said == said


async def test_a_task_that_is_closed_breaks_nothing(room: AheadRoom) -> None:
    task = ContextId.mint(BEGINNING, SeededEntropy("task"))
    room.world.contexts[OPEN_ROOM_ANA.space, task] = KnownContext(
        OPEN_ROOM_ANA.id, "a task", BEGINNING
    )
    ana = replace(OPEN_ROOM_ANA, context=task)
    async with room.running():
        await room.asked("/", tool=LIST, caller=ana)
        room.world.contexts[OPEN_ROOM_ANA.space, task] = KnownContext(
            OPEN_ROOM_ANA.id, "a task", BEGINNING, closed_at=BEGINNING
        )
        await room.watching.work_through()
        await listed(room)

    assert len(room.script.seen) == 1


async def test_what_breaks_is_told_without_anybodys_words(
    room: AheadRoom, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(last: ObservedCall | None) -> Sequence[Predicted]:
        raise ValueError(f"CANARY {last}")

    room.script.next = broken
    async with room.running():
        await listed(room)

    assert "ValueError" in caplog.text
    assert "CANARY" not in caplog.text


async def test_a_task_ends_when_nothing_has_happened_for_long(room: AheadRoom) -> None:
    async with room.running():
        await listed(room)
        await room.watching.end_idle()
        still = room.script.ended
        room.clock.turn(timedelta(minutes=11))
        await room.watching.end_idle()
        remembered = len([*room.watching.tasks])
        room.clock.turn(timedelta(minutes=20))
        await room.watching.end_idle()

    assert (still, room.script.ended) == (0, 2)
    assert (remembered, len([*room.watching.tasks])) == (1, 0)


async def test_only_the_latest_tasks_are_remembered_and_the_others_ended(room: AheadRoom) -> None:
    for number in range(103):
        room.watching.say(replace(OPEN_ROOM_ANA, key=f"k{number}"), "hello")
        await room.watching.work_through()

    assert room.script.ended == 3


async def test_of_a_call_of_a_run_only_how_long_it_took_is_noted(room: AheadRoom) -> None:
    room.lane.paces = Paces()
    act = AccessRequest(caller=OPEN_ROOM_ANA, target=AIM, arguments={"path": "a"})
    for _ in range(3):
        room.watching.note(act, room._server("files")[1], BEGINNING, text("x"), in_run=True)
    await room.watching.work_through()

    assert room.lane.paces.usual(OPEN_ROOM_ANA.space, room.place(OPEN_ROOM_READ)) is not None
    assert room.script.seen == []


async def test_whose_work_is_not_what_is_foretold_is_not_called_ahead_for(room: AheadRoom) -> None:
    room.watching.trust = TrustInAll()
    room.watching.effort = FairEffort(share=1e9)
    then(room, OPEN_ROOM_READ, {"path": "a"})
    other = replace(OPEN_ROOM_ANA, id=VIEWER.id, name="vera")
    served: list[bool] = []
    async with room.running():
        for number in range(12):
            await room.asked(f"/{number}", tool=LIST)
            await room.asked(f"/{number}", tool=LIST, caller=other)
            await room.watching.work_through()
            await room.landed()
            served.append((await room.asked("a")).answer.meta is not None)
            room.slow(OPEN_ROOM_READ)
            assert (await room.asked("b", caller=other)).answer.meta is None
            await room.watching.work_through()

    assert served == [False] * 10 + [True] * 2
    assert room.meter.tries == 2
    assert {*room.closed} == {("files.read", PROVEN_FOR_CALLER)}


async def test_how_long_a_tool_takes_is_learnt_from_calls_that_somebody_waited_for() -> None:
    room = AheadRoom(PrefetchLimits(least_gain=timedelta(0)))
    async with room.running():
        for _ in range(3):
            await listed(room)

    usual = room.lane.paces.usual(OPEN_ROOM_ANA.space, room.place(LIST))
    assert usual is not None
    assert usual > timedelta(0)


async def test_what_is_looked_for_is_heard(room: AheadRoom) -> None:
    find = replace(room.use.find_tools, observer=room.watching.say)

    await find(OPEN_ROOM_ANA, ["read a file", " ", "list a folder"])
    await room.watching.work_through()

    assert room.script.said == ["read a file", "list a folder"]


SECRET = Label(Level.CONFIDENTIAL)
FILES, SKY = an_approved_server("files").id, an_approved_server("sky").id
READ, WRITE, WEATHER = (
    ToolPlace(FILES, "read"),
    ToolPlace(FILES, "write"),
    ToolPlace(SKY, "forecast"),
)


def edge(tool: ToolPlace = READ, after: ToolPlace | None = WEATHER) -> EdgeKey:
    return EdgeKey(None, after, failed=False, form=CallForm(tool, ("path",)), band=8)


class Uncertain(MemoryLearnedCounts):
    away = False

    async def learn(
        self, caller: Principal, label: Label, counted: Mapping[CountKey, Count]
    ) -> None:
        if self.away:
            raise StoreUnavailable("the database is away")
        await super().learn(caller, label, counted)


class Room(OpenRoom):
    def __init__(self) -> None:
        super().__init__()
        self.counts, self.meter = Uncertain(self.world), MemoryPrefetchMeter()
        self.log = MemoryEventLog(self.world, self.bus)
        self.figures = PrefetchRecorder(
            counts=self.counts,
            servers=MemoryServers(self.world),
            news=PrefetchEvents(log=self.log),
            meter=self.meter,
            clock=TickingClock(),
        )

    async def totals(self, caller: Principal = OPEN_ROOM_ANA) -> PrefetchTotals:
        return (await self.use.ahead.show(caller)).totals

    async def told(self, caller: Principal = OPEN_ROOM_ANA) -> list[Entry]:
        page = await self.log.read(caller, TOPIC, after=0, limit=50)
        return [*page.entries]

    async def record(self, key: EdgeKey, tried: int, hit: int, label: Label = PUBLIC) -> None:
        counted = {CountKey.of(RECORD, str(key)): Count(tried, hit, BEGINNING)}
        await self.counts.learn(SECRETARY, label, counted)

    def without(self, server: ServerId) -> None:
        self.world.servers.drop(lambda place, _: place[1] == server)


@pytest.fixture
def room_figures() -> Room:
    return Room()


@pytest.mark.requirement("seed001:15")
async def test_what_is_counted_is_shown_once_it_is_written(room_figures: Room) -> None:
    for _ in range(10):
        room_figures.figures.called(OPEN_ROOM_ANA, PUBLIC)
    for _ in range(3):
        room_figures.figures.tried(OPEN_ROOM_ANA, PUBLIC, edge())
    room_figures.figures.served(
        OPEN_ROOM_ANA, PUBLIC, edge(), took=timedelta(seconds=2), waited=timedelta(seconds=0.5)
    )
    before = await room_figures.totals()

    await room_figures.figures.flush()
    await room_figures.figures.flush()

    assert before == PrefetchTotals()
    assert await room_figures.totals() == PrefetchTotals(
        calls=10, tried=3, served=1, saved=timedelta(seconds=1.5)
    )
    assert (room_figures.meter.calls, room_figures.meter.tries, room_figures.meter.hits) == (
        10,
        3,
        1,
    )
    assert room_figures.meter.saved == timedelta(seconds=1.5)


async def test_who_waited_longer_than_it_took_has_won_nothing_and_lost_nothing(
    room_figures: Room,
) -> None:
    room_figures.figures.served(
        OPEN_ROOM_ANA, PUBLIC, None, took=timedelta(seconds=1), waited=timedelta(seconds=2)
    )
    await room_figures.figures.flush()

    assert await room_figures.totals() == PrefetchTotals(served=1)


async def test_why_something_was_wasted_is_for_the_meter(room_figures: Room) -> None:
    room_figures.figures.wasted(WasteReason.EXPIRED)
    await room_figures.figures.flush()

    assert room_figures.meter.waste == [WasteReason.EXPIRED]
    assert await room_figures.totals() == PrefetchTotals()


async def test_what_cannot_be_written_is_written_later(room_figures: Room) -> None:
    room_figures.figures.called(OPEN_ROOM_ANA, PUBLIC)
    room_figures.counts.away = True
    with pytest.raises(StoreUnavailable):
        await room_figures.figures.flush()

    room_figures.figures.called(OPEN_ROOM_ANA, PUBLIC)
    room_figures.counts.away = False
    await room_figures.figures.flush()

    assert (await room_figures.totals()).calls == 2


async def test_what_is_counted_when_it_ends_is_still_written(room_figures: Room) -> None:
    task = asyncio.create_task(room_figures.figures.run())
    await asyncio.sleep(0)

    room_figures.figures.called(OPEN_ROOM_ANA, PUBLIC)
    task.cancel()
    await asyncio.wait([task])

    assert (await room_figures.totals()).calls == 1


async def test_nobody_is_shown_what_was_counted_above_their_clearance(room_figures: Room) -> None:
    room_figures.figures.called(SECRETARY, SECRET)
    room_figures.figures.tried(SECRETARY, SECRET, edge())
    await room_figures.figures.flush()
    await room_figures.figures.tell()
    await room_figures.record(edge(), 30, 30, SECRET)

    assert await room_figures.totals() == PrefetchTotals()
    assert await room_figures.use.ahead.list_edges(OPEN_ROOM_ANA) == []
    assert await room_figures.told() == []
    assert await room_figures.totals(SECRETARY) == PrefetchTotals(calls=1, tried=1)
    assert len(await room_figures.use.ahead.list_edges(SECRETARY)) == 1


async def test_an_edge_that_turned_live_is_told_and_one_that_fell_back_too(
    room_figures: Room,
) -> None:
    for live in (False, False, True, True, False):
        room_figures.figures.predicted(OPEN_ROOM_ANA, PUBLIC, edge(), live=live)
    room_figures.figures.predicted(OPEN_ROOM_ANA, PUBLIC, edge(WRITE, None), live=True)

    await room_figures.figures.flush()
    await room_figures.figures.flush()

    assert [(each.type, each.details) for each in await room_figures.told()] == [
        ("ahead.live", {"after": "sky.forecast", "tool": "files.read"}),
        ("ahead.shadow", {"after": "sky.forecast", "tool": "files.read"}),
    ]
    assert room_figures.meter.predictions == 6


@pytest.mark.parametrize("gone", [True, False])
async def test_of_a_server_that_is_gone_or_that_not_all_may_know_of_nothing_is_told(
    room_figures: Room, *, gone: bool
) -> None:
    """It was labelled after the edge had been learnt."""
    for live in (False, True):
        room_figures.figures.predicted(OPEN_ROOM_ANA, PUBLIC, edge(), live=live)
        room_figures.figures.predicted(OPEN_ROOM_ANA, PUBLIC, edge(READ, None), live=live)
    if gone:
        room_figures.without(SKY)
    else:
        room_figures.label("sky", Label(Level.TEAM))

    await room_figures.figures.flush()

    assert [each.details for each in await room_figures.told()] == [
        {"after": "", "tool": "files.read"}
    ]


async def test_sums_are_told_where_something_was_made_and_each_once(room_figures: Room) -> None:
    room_figures.figures.called(OPEN_ROOM_ANA, PUBLIC)
    await room_figures.figures.flush()
    await room_figures.figures.tell()
    room_figures.figures.called(OPEN_ROOM_ANA, PUBLIC)
    room_figures.figures.tried(OPEN_ROOM_ANA, PUBLIC, edge())
    room_figures.figures.served(
        OPEN_ROOM_ANA, PUBLIC, edge(), took=timedelta(seconds=1), waited=timedelta()
    )
    await room_figures.figures.flush()

    await room_figures.figures.tell()
    await room_figures.figures.tell()

    assert [(each.type, each.details) for each in await room_figures.told()] == [
        ("ahead.figures", {"calls": 1, "tried": 1, "served": 1, "saved_ms": 1000})
    ]


async def test_edges_are_shown_between_tools_that_the_caller_is_offered(room_figures: Room) -> None:
    await room_figures.record(edge(), 30, 29)
    await room_figures.record(edge(WRITE, None), 40, 2)
    narrow = replace(OPEN_ROOM_ANA, tools=(("files.*",),))

    found = await room_figures.use.ahead.list_edges(OPEN_ROOM_ANA)

    assert [(str(each.tool), each.predicted, each.live) for each in found] == [
        ("files.write", 40, False),
        ("files.read", 30, True),
    ]
    assert [str(each.tool) for each in await room_figures.use.ahead.list_edges(narrow)] == [
        "files.write"
    ]
    assert len(await room_figures.use.ahead.list_edges(OPEN_ROOM_ANA, most=1)) == 1


async def test_what_was_turned_down_is_told_until_it_is_made(room_figures: Room) -> None:
    await room_figures.record(edge(), 30, 29)
    figures = room_figures.gateway.ahead.metrics
    ref = ToolRef("files", "read")
    wanted = ReadRequest(ref=ref, pin="pin", arguments={}, proven=True, edge=edge())

    figures.turned_down(wanted, "worth_it")
    figures.turned_down(replace(wanted, edge=None), "awake")
    [before] = await room_figures.use.ahead.list_edges(OPEN_ROOM_ANA)
    figures.tried(OPEN_ROOM_ANA, PUBLIC, replace(edge(), band=1))
    [after] = await room_figures.use.ahead.list_edges(OPEN_ROOM_ANA)

    assert (before.turned_down, after.turned_down) == ("worth_it", None)


async def test_whoever_sees_servers_sees_how_they_are_switched(room_figures: Room) -> None:
    room_figures.label("sky", SECRET)

    look = await room_figures.use.ahead.show(VIEWER)

    assert [(its.server.name, its.mode, its.external) for its in look.servers] == [
        ("files", PrefetchMode.LIVE, False),
        ("tracker", PrefetchMode.LIVE, False),
    ]


async def test_what_waits_to_be_written_is_bounded(room_figures: Room) -> None:
    room_figures.counts.away = True

    for number in range(10_100):
        room_figures.figures.tried(OPEN_ROOM_ANA, PUBLIC, edge(ToolPlace(FILES, f"read{number}")))
    room_figures.counts.away = False
    await room_figures.figures.flush()

    assert (await room_figures.totals()).tried == 10_000


ANA = a_person("ana", roles=[Role.OPERATOR])
MEMBER = a_person("max", roles=[Role.MEMBER])
SWITCH_AHEAD_FILES = an_approved_server("files")
SWITCH_AHEAD_SECRET = replace(an_approved_server("vault"), label=Label(Level.CONFIDENTIAL))
OFF, SHADOW, LIVE = PrefetchMode.OFF, PrefetchMode.SHADOW, PrefetchMode.LIVE


class SwitchAheadRoom:
    def __init__(self) -> None:
        self.world, self.bus, self.audit = InMemoryStore(), MemoryBus(), MemoryAudit()
        self.world.spaces[ANA.space] = a_space()
        for server in (SWITCH_AHEAD_FILES, SWITCH_AHEAD_SECRET):
            self.world.servers[ANA.space, server.id] = server
        self.log = MemoryEventLog(self.world, self.bus)
        settings = MemorySpaceSettings(self.world)
        self.board = Switchboard(settings=settings, bus=self.bus, terms=PrefetchLimits())
        servers = ClearedServers(MemoryServers(self.world))
        counts = MemoryLearnedCounts(self.world)
        self.use = SwitchPrefetch(
            settings=settings,
            servers=servers,
            audit=self.audit,
            bus=self.bus,
            show=ShowPrefetch(board=self.board, servers=servers, counts=counts),
            news=PrefetchEvents(log=self.log),
        )

    async def switch(self, caller: Principal, wish: PrefetchSpec) -> Switches:
        return (await self.use(caller, wish)).switches

    async def told(self, caller: Principal = ANA) -> list[Any]:
        page = await self.log.read(caller, TOPIC, after=0, limit=10)
        return [entry.details for entry in page.entries]


@pytest.fixture
def room_switch_ahead() -> SwitchAheadRoom:
    return SwitchAheadRoom()


async def test_a_space_is_switched_off_and_on(room_switch_ahead: SwitchAheadRoom) -> None:
    off = await room_switch_ahead.switch(ANA, PrefetchSpec(mode=OFF))
    live = await room_switch_ahead.switch(ANA, PrefetchSpec(mode=LIVE))

    assert (off.mode, live.mode) == (OFF, LIVE)
    assert await room_switch_ahead.told() == [
        {"mode": "off", "learning": True},
        {"mode": "live", "learning": True},
    ]


async def test_one_server_is_switched_and_the_others_are_not(
    room_switch_ahead: SwitchAheadRoom,
) -> None:
    await room_switch_ahead.switch(
        ANA, PrefetchSpec(servers={"files": ServerPrefetchSpec(LIVE, external=True)})
    )
    switches = await room_switch_ahead.switch(
        ANA, PrefetchSpec(servers={"files": ServerPrefetchSpec(SHADOW)})
    )

    assert switches.own(SWITCH_AHEAD_FILES) == ServerSwitch(SHADOW, external=True)
    assert (switches.mode_of(SWITCH_AHEAD_FILES), switches.mode_of(SWITCH_AHEAD_SECRET)) == (
        SHADOW,
        LIVE,
    )
    assert (await room_switch_ahead.told())[-1] == {
        "server": "files",
        "mode": "shadow",
        "external": True,
    }


async def test_a_space_that_does_not_want_to_be_learnt_from_is_not(
    room_switch_ahead: SwitchAheadRoom,
) -> None:
    switches = await room_switch_ahead.switch(ANA, PrefetchSpec(learning=False))

    assert (switches.learning, switches.mode) == (False, LIVE)


async def test_what_is_changed_is_in_the_audit_and_what_is_not_is_not(
    room_switch_ahead: SwitchAheadRoom,
) -> None:
    await room_switch_ahead.switch(
        ANA, PrefetchSpec(mode=OFF, servers={"files": ServerPrefetchSpec(OFF)})
    )
    await room_switch_ahead.switch(
        ANA, PrefetchSpec(mode=OFF, servers={"files": ServerPrefetchSpec(OFF)})
    )

    assert [(act["action"], act["subject"]) for act in room_switch_ahead.audit.acts] == [
        ("ahead.switched", "space"),
        ("ahead.switched", "files"),
    ]
    assert len(await room_switch_ahead.told()) == 2


async def test_the_others_are_told_also_where_nothing_changed(
    room_switch_ahead: SwitchAheadRoom,
) -> None:
    """Whoever throws it again means that it did not work."""
    await room_switch_ahead.switch(ANA, PrefetchSpec(mode=OFF))

    with room_switch_ahead.bus.listen(ANA.space, AHEAD) as bell:
        await room_switch_ahead.switch(ANA, PrefetchSpec(mode=OFF))

        assert bell.rung


async def test_it_takes_somebody_who_approves_servers(room_switch_ahead: SwitchAheadRoom) -> None:
    with pytest.raises(NotPermitted):
        await room_switch_ahead.switch(MEMBER, PrefetchSpec(mode=OFF))

    assert (await room_switch_ahead.board.current(ANA)).mode is LIVE


async def test_a_server_that_one_may_not_know_of_is_not_there(
    room_switch_ahead: SwitchAheadRoom,
) -> None:
    for name in ("vault", "nowhere"):
        with pytest.raises(ServerNotFound):
            await room_switch_ahead.switch(
                ANA, PrefetchSpec(mode=OFF, servers={name: ServerPrefetchSpec(OFF)})
            )

    assert (await room_switch_ahead.board.current(ANA)).mode is LIVE
    assert room_switch_ahead.audit.acts == []


async def test_of_a_server_only_those_are_told_who_may_know_of_it(
    room_switch_ahead: SwitchAheadRoom,
) -> None:
    sue = replace(ANA, clearance=Label(Level.CONFIDENTIAL))

    await room_switch_ahead.switch(
        sue, PrefetchSpec(mode=SHADOW, servers={"vault": ServerPrefetchSpec(OFF)})
    )

    assert await room_switch_ahead.told(replace(ANA, clearance=PUBLIC)) == [
        {"mode": "shadow", "learning": True}
    ]
    assert len(await room_switch_ahead.told(sue)) == 2
