"""The kill switch of calls made ahead, across processes that share nothing but a database."""

import asyncio
from collections.abc import AsyncIterator, Collection
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import timedelta

import pytest

from portico.adapters.postgres.addresses import Addresses
from portico.adapters.postgres.bus import PostgresBus
from portico.adapters.postgres.engine.event_log import PostgresEventLog
from portico.adapters.postgres.gateway.servers import PostgresServers
from portico.adapters.postgres.guard.audit import PostgresAudit
from portico.adapters.postgres.guard.spaces import PostgresSpaceSettings
from portico.adapters.postgres.learning.counts import PostgresLearnedCounts
from portico.adapters.postgres.transaction import BusAfterCommit, Transactions, open_pool
from portico.adapters.system.clock import SystemClock, system_entropy
from portico.kernel.ids import SpaceId
from portico.kernel.principal import Principal
from portico.learning.core.prefetch_gates import PrefetchLimits, PrefetchMode, Switches
from portico.learning.prefetch import (
    TOPIC,
    PrefetchEvents,
    PrefetchSpec,
    ShowPrefetch,
    SwitchPrefetch,
)
from portico.learning.prefetch_switches import AHEAD, Switchboard

pytestmark = [pytest.mark.postgres]

HOUR = timedelta(hours=1)


@dataclass
class Lane:
    """Has a call under way until it hears that it must not."""

    under_way: set[SpaceId]
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def spaces(self) -> Collection[SpaceId]:
        return self.under_way

    def switched(self, space: SpaceId, switches: Switches) -> None:
        if switches.mode is PrefetchMode.OFF:
            self.under_way.discard(space)
            self.ended.set()


@dataclass
class Process:
    log: PostgresEventLog
    board: Switchboard
    switch: SwitchPrefetch
    lane: Lane


@dataclass
class Town:
    root: Principal
    processes: list[Process]


def a_process(
    transactions: Transactions, bus: PostgresBus, oldest: timedelta, space: SpaceId
) -> Process:
    after = BusAfterCommit(bus, transactions)
    settings, clock = PostgresSpaceSettings(transactions), SystemClock()
    log = PostgresEventLog(transactions, after, clock, system_entropy)
    board = Switchboard(settings=settings, bus=after, terms=PrefetchLimits(), oldest=oldest)
    lane = Lane({space})
    board.obeyed_by(lane)
    servers, counts = PostgresServers(transactions), PostgresLearnedCounts(transactions)
    switch = SwitchPrefetch(
        settings=settings,
        servers=servers,
        audit=PostgresAudit(transactions, lambda *_: None),
        bus=after,
        show=ShowPrefetch(board=board, servers=servers, counts=counts),
        news=PrefetchEvents(log=log),
    )
    return Process(log, board, switch, lane)


@pytest.fixture(params=[HOUR, timedelta(milliseconds=750)], ids=["told", "not told"])
async def town(
    embedded_database: Addresses, ana: Principal, request: pytest.FixtureRequest
) -> AsyncIterator[Town]:
    """Three of them, each with a pool and a bus of its own. Told: only the bus says that something
    has changed. Not told: nobody's bus runs, and each looks by itself."""
    tasks = []
    async with AsyncExitStack() as opened:
        processes = []
        for _ in range(3):
            pool = await opened.enter_async_context(open_pool(embedded_database.app, 2))
            bus = PostgresBus(embedded_database.app, system_entropy)
            processes.append(a_process(Transactions(pool), bus, request.param, ana.space))
            tasks.append(asyncio.create_task(processes[-1].board.run()))
            if request.param == HOUR:
                tasks.append(asyncio.create_task(bus.run()))
        yield Town(ana, processes)
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


async def test_a_switch_thrown_in_one_process_ends_what_is_under_way_in_all(town: Town) -> None:
    here, *others = town.processes
    for process in town.processes:
        assert (await process.board.current(town.root)).mode is PrefetchMode.LIVE

    await here.switch(town.root, PrefetchSpec(mode=PrefetchMode.OFF))

    async with asyncio.timeout(30):
        for process in [here, *others]:
            await process.lane.ended.wait()
    modes = {(await process.board.current(town.root)).mode for process in town.processes}
    assert modes == {PrefetchMode.OFF}
    told = await here.log.read(town.root, TOPIC, after=0, limit=10)
    assert [entry.details["mode"] for entry in told.entries] == ["off"]


async def test_what_is_taken_back_was_never_switched(town: Town) -> None:
    here = town.processes[0]
    settings = here.switch.settings

    with pytest.raises(LookupError):
        async with settings.changing(town.root, AHEAD):
            await settings.put(town.root, AHEAD, {"mode": "off", "learning": True, "servers": {}})
            raise LookupError

    assert (await here.board.current(town.root)).mode is PrefetchMode.LIVE
