"""What comes of calls made ahead: counted, written down, told, and shown."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta

import pytest

from portico.engine.core.errors import StoreUnavailable
from portico.engine.core.event_log import Entry
from portico.gateway.core.catalog_snapshot import ToolRef
from portico.gateway.core.inferred_schema import ToolPlace
from portico.gateway.core.servers import ServerId
from portico.kernel.label import PUBLIC, Label, Level
from portico.kernel.principal import Principal
from portico.learning.core.learnt_count import Count, CountKey
from portico.learning.core.prefetch.forms import CallForm, EdgeKey
from portico.learning.core.prefetch.layer import RECORD
from portico.learning.core.prefetch.switches import AheadMode
from portico.learning.core.prefetch.totals import AheadTotals, Waste
from portico.learning.core.prefetch.wanted import Wanted
from portico.learning.prefetch.figures import AheadFigures
from portico.learning.prefetch.news import TOPIC, AheadNews
from portico.testing.engine import MemoryEventLog
from portico.testing.gateway import MemoryServers, an_approved_server
from portico.testing.gateway_fakes import CountedAhead
from portico.testing.learning import MemoryLearntCounts
from portico.testing.memory_store import BEGINNING, TickingClock
from tests.gateway.open_room import ANA, SECRETARY, VIEWER, OpenRoom

SECRET = Label(Level.CONFIDENTIAL)
FILES, SKY = an_approved_server("files").id, an_approved_server("sky").id
READ, WRITE, WEATHER = (
    ToolPlace(FILES, "read"),
    ToolPlace(FILES, "write"),
    ToolPlace(SKY, "forecast"),
)


def edge(tool: ToolPlace = READ, after: ToolPlace | None = WEATHER) -> EdgeKey:
    return EdgeKey(None, after, failed=False, form=CallForm(tool, ("path",)), band=8)


class Uncertain(MemoryLearntCounts):
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
        self.counts, self.meter = Uncertain(self.world), CountedAhead()
        self.log = MemoryEventLog(self.world, self.bus)
        self.figures = AheadFigures(
            counts=self.counts,
            servers=MemoryServers(self.world),
            news=AheadNews(log=self.log),
            meter=self.meter,
            clock=TickingClock(),
        )

    async def totals(self, caller: Principal = ANA) -> AheadTotals:
        return (await self.use.ahead.show(caller)).totals

    async def told(self, caller: Principal = ANA) -> list[Entry]:
        page = await self.log.read(caller, TOPIC, after=0, limit=50)
        return [*page.entries]

    async def record(self, key: EdgeKey, tried: int, hit: int, label: Label = PUBLIC) -> None:
        counted = {CountKey.of(RECORD, str(key)): Count(tried, hit, BEGINNING)}
        await self.counts.learn(SECRETARY, label, counted)

    def without(self, server: ServerId) -> None:
        self.world.servers.drop(lambda place, _: place[1] == server)


@pytest.fixture
def room() -> Room:
    return Room()


@pytest.mark.requirement("seed001:15")
async def test_what_is_counted_is_shown_once_it_is_written(room: Room) -> None:
    for _ in range(10):
        room.figures.called(ANA, PUBLIC)
    for _ in range(3):
        room.figures.tried(ANA, PUBLIC, edge())
    room.figures.served(
        ANA, PUBLIC, edge(), took=timedelta(seconds=2), waited=timedelta(seconds=0.5)
    )
    before = await room.totals()

    await room.figures.write_down()
    await room.figures.write_down()

    assert before == AheadTotals()
    assert await room.totals() == AheadTotals(
        calls=10, tried=3, served=1, saved=timedelta(seconds=1.5)
    )
    assert (room.meter.calls, room.meter.tries, room.meter.hits) == (10, 3, 1)
    assert room.meter.saved == timedelta(seconds=1.5)


async def test_who_waited_longer_than_it_took_has_won_nothing_and_lost_nothing(room: Room) -> None:
    room.figures.served(ANA, PUBLIC, None, took=timedelta(seconds=1), waited=timedelta(seconds=2))
    await room.figures.write_down()

    assert await room.totals() == AheadTotals(served=1)


async def test_why_something_was_wasted_is_for_the_meter(room: Room) -> None:
    room.figures.wasted(Waste.EXPIRED)
    await room.figures.write_down()

    assert room.meter.waste == [Waste.EXPIRED]
    assert await room.totals() == AheadTotals()


async def test_what_cannot_be_written_is_written_later(room: Room) -> None:
    room.figures.called(ANA, PUBLIC)
    room.counts.away = True
    with pytest.raises(StoreUnavailable):
        await room.figures.write_down()

    room.figures.called(ANA, PUBLIC)
    room.counts.away = False
    await room.figures.write_down()

    assert (await room.totals()).calls == 2


async def test_what_is_counted_when_it_ends_is_still_written(room: Room) -> None:
    task = asyncio.create_task(room.figures.run())
    await asyncio.sleep(0)

    room.figures.called(ANA, PUBLIC)
    task.cancel()
    await asyncio.wait([task])

    assert (await room.totals()).calls == 1


async def test_nobody_is_shown_what_was_counted_above_their_clearance(room: Room) -> None:
    room.figures.called(SECRETARY, SECRET)
    room.figures.tried(SECRETARY, SECRET, edge())
    await room.figures.write_down()
    await room.figures.tell()
    await room.record(edge(), 30, 30, SECRET)

    assert await room.totals() == AheadTotals()
    assert await room.use.ahead.list_edges(ANA) == []
    assert await room.told() == []
    assert await room.totals(SECRETARY) == AheadTotals(calls=1, tried=1)
    assert len(await room.use.ahead.list_edges(SECRETARY)) == 1


async def test_an_edge_that_turned_live_is_told_and_one_that_fell_back_too(room: Room) -> None:
    for live in (False, False, True, True, False):
        room.figures.predicted(ANA, PUBLIC, edge(), live=live)
    room.figures.predicted(ANA, PUBLIC, edge(WRITE, None), live=True)

    await room.figures.write_down()
    await room.figures.write_down()

    assert [(each.type, each.facts) for each in await room.told()] == [
        ("ahead.live", {"after": "sky.forecast", "tool": "files.read"}),
        ("ahead.shadow", {"after": "sky.forecast", "tool": "files.read"}),
    ]
    assert room.meter.predictions == 6


@pytest.mark.parametrize("gone", [True, False])
async def test_of_a_server_that_is_gone_or_that_not_all_may_know_of_nothing_is_told(
    room: Room, *, gone: bool
) -> None:
    """It was labelled after the edge had been learnt."""
    for live in (False, True):
        room.figures.predicted(ANA, PUBLIC, edge(), live=live)
        room.figures.predicted(ANA, PUBLIC, edge(READ, None), live=live)
    if gone:
        room.without(SKY)
    else:
        room.label("sky", Label(Level.TEAM))

    await room.figures.write_down()

    assert [each.facts for each in await room.told()] == [{"after": "", "tool": "files.read"}]


async def test_sums_are_told_where_something_was_made_and_each_once(room: Room) -> None:
    room.figures.called(ANA, PUBLIC)
    await room.figures.write_down()
    await room.figures.tell()
    room.figures.called(ANA, PUBLIC)
    room.figures.tried(ANA, PUBLIC, edge())
    room.figures.served(ANA, PUBLIC, edge(), took=timedelta(seconds=1), waited=timedelta())
    await room.figures.write_down()

    await room.figures.tell()
    await room.figures.tell()

    assert [(each.type, each.facts) for each in await room.told()] == [
        ("ahead.figures", {"calls": 1, "tried": 1, "served": 1, "saved_ms": 1000})
    ]


async def test_edges_are_shown_between_tools_that_the_caller_is_offered(room: Room) -> None:
    await room.record(edge(), 30, 29)
    await room.record(edge(WRITE, None), 40, 2)
    narrow = replace(ANA, tools=(("files.*",),))

    found = await room.use.ahead.list_edges(ANA)

    assert [(str(each.tool), each.predicted, each.live) for each in found] == [
        ("files.write", 40, False),
        ("files.read", 30, True),
    ]
    assert [str(each.tool) for each in await room.use.ahead.list_edges(narrow)] == ["files.write"]
    assert len(await room.use.ahead.list_edges(ANA, most=1)) == 1


async def test_what_was_turned_down_is_told_until_it_is_made(room: Room) -> None:
    await room.record(edge(), 30, 29)
    figures = room.gateway.ahead.figures
    ref = ToolRef("files", "read")
    wanted = Wanted(ref=ref, pin="pin", arguments={}, proven=True, edge=edge())

    figures.turned_down(wanted, "worth_it")
    figures.turned_down(replace(wanted, edge=None), "awake")
    [before] = await room.use.ahead.list_edges(ANA)
    figures.tried(ANA, PUBLIC, replace(edge(), band=1))
    [after] = await room.use.ahead.list_edges(ANA)

    assert (before.turned_down, after.turned_down) == ("worth_it", None)


async def test_whoever_sees_servers_sees_how_they_are_switched(room: Room) -> None:
    room.label("sky", SECRET)

    look = await room.use.ahead.show(VIEWER)

    assert [(its.server.name, its.mode, its.external) for its in look.servers] == [
        ("files", AheadMode.LIVE, False),
        ("tracker", AheadMode.LIVE, False),
    ]


async def test_what_waits_to_be_written_is_bounded(room: Room) -> None:
    room.counts.away = True

    for number in range(10_100):
        room.figures.tried(ANA, PUBLIC, edge(ToolPlace(FILES, f"read{number}")))
    room.counts.away = False
    await room.figures.write_down()

    assert (await room.totals()).tried == 10_000
