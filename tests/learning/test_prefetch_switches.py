"""Switches at hand in every process, and obeyed at once."""

import asyncio
from collections.abc import Collection
from datetime import timedelta

import pytest

from portico.engine.core.errors import StoreUnavailable
from portico.kernel.ids import SpaceId
from portico.kernel.json import JsonValue
from portico.kernel.principal import Principal
from portico.learning.core.prefetch_gates import (
    PrefetchLimits,
    PrefetchMode,
    SpaceSwitches,
    Switches,
    switches_json,
)
from portico.learning.prefetch_switches import AHEAD, Switchboard
from portico.testing.engine import MemoryBus
from portico.testing.guard import MemorySpaceSettings, a_person, a_space
from portico.testing.memory_store import InMemoryStore

ANA = a_person("ana")
HOUR = timedelta(hours=1)
OFF = switches_json(SpaceSwitches(mode=PrefetchMode.OFF))


class CountedSettings(MemorySpaceSettings):
    def __init__(self, world: InMemoryStore) -> None:
        super().__init__(world)
        self.read = 0
        self.away = False

    async def get(self, caller: Principal, name: str) -> JsonValue:
        self.read += 1
        if self.away:
            raise StoreUnavailable("the database is away")
        return await super().get(caller, name)


class Lane:
    """Has something under way in these spaces until it hears that it must not."""

    def __init__(self, *spaces: SpaceId) -> None:
        self.under_way = {*spaces}
        self.ended = asyncio.Event()
        self.heard: list[tuple[SpaceId, PrefetchMode]] = []

    @property
    def spaces(self) -> Collection[SpaceId]:
        return self.under_way

    def switched(self, space: SpaceId, switches: Switches) -> None:
        self.heard.append((space, switches.mode))
        if switches.mode is not PrefetchMode.LIVE:
            self.under_way.discard(space)
            self.ended.set()


class Process:
    """One of several that share what was decided."""

    def __init__(self, world: InMemoryStore, bus: MemoryBus, oldest: timedelta = HOUR) -> None:
        self.settings = CountedSettings(world)
        self.board = Switchboard(
            settings=self.settings,
            bus=bus,
            terms=PrefetchLimits(external=frozenset({"search"})),
            oldest=oldest,
            every=timedelta(0),
        )

    async def until_nothing_is_under_way(self, lane: Lane) -> None:
        self.board.obeyed_by(lane)
        task = asyncio.create_task(self.board.run())
        try:
            async with asyncio.timeout(30):
                await lane.ended.wait()
        finally:
            task.cancel()
            await asyncio.wait([task])


@pytest.fixture
def world() -> InMemoryStore:
    world = InMemoryStore()
    world.spaces[ANA.space] = a_space()
    return world


@pytest.fixture
def here(world: InMemoryStore) -> Process:
    return Process(world, MemoryBus())


async def test_what_a_space_has_decided_counts_with_the_configuration(here: Process) -> None:
    await here.settings.put(ANA, AHEAD, OFF)

    switches = await here.board.current(ANA)

    assert (switches.mode, switches.installation) == (PrefetchMode.OFF, PrefetchMode.LIVE)
    assert switches.external == {"search"}


async def test_it_is_not_read_each_time_nor_by_each_who_asks_at_once(here: Process) -> None:
    await asyncio.gather(*(here.board.current(ANA) for _ in range(5)))
    found = [await here.board.current(ANA) for _ in range(5)]

    assert (len(found), here.settings.read) == (5, 1)


async def test_who_is_told_of_a_change_goes_by_it(world: InMemoryStore) -> None:
    bus = MemoryBus()
    here = Process(world, bus)
    before = await here.board.current(ANA)

    await here.settings.put(ANA, AHEAD, OFF)
    bus.wake(ANA.space, AHEAD)
    after = await here.board.current(ANA)

    assert (before.mode, after.mode) == (PrefetchMode.LIVE, PrefetchMode.OFF)


async def test_who_is_not_told_finds_out(world: InMemoryStore) -> None:
    here = Process(world, MemoryBus(), oldest=timedelta(0))
    before = await here.board.current(ANA)

    await here.settings.put(ANA, AHEAD, OFF)

    assert (before.mode, (await here.board.current(ANA)).mode) == (
        PrefetchMode.LIVE,
        PrefetchMode.OFF,
    )


async def test_in_every_process_what_is_under_way_is_ended(world: InMemoryStore) -> None:
    """The bus is one here; across processes it is PostgreSQL's."""
    bus = MemoryBus()
    one, other = Process(world, bus), Process(world, bus)
    lanes = Lane(ANA.space), Lane(ANA.space)
    for process in (one, other):
        await process.board.current(ANA)

    await one.settings.put(ANA, AHEAD, OFF)
    bus.wake(ANA.space, AHEAD)
    async with asyncio.TaskGroup() as both:
        for process, lane in zip((one, other), lanes, strict=True):
            both.create_task(process.until_nothing_is_under_way(lane))

    assert [lane.heard for lane in lanes] == [[(ANA.space, PrefetchMode.OFF)]] * 2


async def test_where_nothing_is_under_way_nobody_looks(world: InMemoryStore) -> None:
    here = Process(world, MemoryBus(), oldest=timedelta(0))
    here.board.obeyed_by(Lane())
    task = asyncio.create_task(here.board.run())

    for _ in range(20):
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])

    assert here.settings.read == 0


async def test_while_nobody_can_tell_what_is_decided_nothing_goes_on(
    world: InMemoryStore, caplog: pytest.LogCaptureFixture
) -> None:
    here, lane = Process(world, MemoryBus(), oldest=timedelta(0)), Lane(ANA.space)
    await here.board.current(ANA)
    here.settings.away = True

    await here.until_nothing_is_under_way(lane)

    assert lane.heard[0] == (ANA.space, PrefetchMode.OFF)
    assert "nothing is done ahead while its switches cannot be read" in caplog.text
    with pytest.raises(StoreUnavailable):
        await here.board.current(ANA)
