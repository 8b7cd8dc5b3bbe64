"""What the contract of the bus cannot see: lost connections, how much is said at a time, and that
whoever waits for news sleeps until there are some."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import psycopg
import pytest
from psycopg import AsyncConnection
from psycopg.abc import PQGen
from psycopg.waiting import Wait

from portico.adapters.postgres.addresses import Addresses
from portico.adapters.postgres.bus import PostgresBus
from portico.adapters.postgres.transaction import ListeningConnection
from portico.adapters.system.clock import system_entropy
from portico.engine.ports import Wakeups
from portico.testing.guard import a_space

pytestmark = [pytest.mark.postgres]

HOME = a_space("home").id
PATIENCE = 40.0


@pytest.fixture
async def buses(embedded_database: Addresses) -> AsyncIterator[tuple[PostgresBus, PostgresBus]]:
    """Of two processes."""
    here, there = (PostgresBus(embedded_database.app, system_entropy) for _ in range(2))
    running = [asyncio.create_task(bus.run()) for bus in (here, there)]
    yield here, there
    for task in running:
        task.cancel()
    await asyncio.wait(running)


async def heard(wakeups: Wakeups) -> None:
    async with asyncio.timeout(PATIENCE):
        await wakeups.wait()


async def quiet(wakeups: Wakeups) -> None:
    """Once nothing more comes."""
    while True:
        try:
            async with asyncio.timeout(0.3):
                await wakeups.wait()
        except TimeoutError:
            return


async def once_connected(bus: PostgresBus, other: PostgresBus) -> None:
    with bus.listen(HOME, "connected") as ear:
        async with asyncio.timeout(PATIENCE):
            while not ear.rung:
                other.wake(HOME, "connected")
                await asyncio.sleep(0.05)


async def test_after_its_connections_were_lost_it_wakes_everybody_and_goes_on(
    embedded_database: Addresses, buses: tuple[PostgresBus, PostgresBus]
) -> None:
    here, there = buses
    await once_connected(here, there)

    with here.listen(HOME, "runs") as ear, here.listen(HOME, "other") as other:
        async with await psycopg.AsyncConnection.connect(
            str(embedded_database.admin), autocommit=True
        ) as admin:
            await admin.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database()"
                " AND application_name IN ('portico ear', 'portico mouth')"
            )
        await heard(ear)
        await heard(other)
        await quiet(ear)
        there.wake(HOME, "runs")

        await heard(ear)


async def test_what_is_said_in_a_moment_is_said_once(
    embedded_database: Addresses, buses: tuple[PostgresBus, PostgresBus]
) -> None:
    here, there = buses
    await once_connected(there, here)
    async with await psycopg.AsyncConnection.connect(
        embedded_database.app, autocommit=True
    ) as stranger:
        await stranger.execute("LISTEN portico_wake")

        for number in range(1000):
            here.wake(HOME, f"run {number % 10}")
        notices = [notice.payload async for notice in stranger.notifies(timeout=1.0)]

    lines = [line for payload in notices for line in payload.split("\n")[1:]]
    assert sorted(lines) == sorted(f"{HOME}/run {number}" for number in range(10))
    assert len(notices) == 1


async def test_a_process_does_not_hear_itself_twice(
    buses: tuple[PostgresBus, PostgresBus],
) -> None:
    here, there = buses
    await once_connected(here, there)
    await once_connected(there, here)

    with here.listen(HOME, "runs") as mine, there.listen(HOME, "runs") as theirs:
        here.wake(HOME, "runs")
        await heard(mine)
        await heard(theirs)

        assert not mine.rung


async def test_without_a_database_it_still_wakes_those_who_are_here() -> None:
    bus = PostgresBus("host=/nowhere", system_entropy)
    running = asyncio.create_task(bus.run())

    with bus.listen(HOME, "runs") as ear:
        bus.wake(HOME, "runs")
        await heard(ear)

    running.cancel()
    await asyncio.wait([running])


async def test_what_a_process_has_to_say_that_ends_is_heard(
    embedded_database: Addresses, buses: tuple[PostgresBus, PostgresBus]
) -> None:
    here, there = buses
    await once_connected(here, there)
    ending = PostgresBus(embedded_database.app, system_entropy)

    with here.listen(HOME, "catalogue") as ear:
        ending.wake(HOME, "catalogue")
        await ending.say_all()

        await heard(ear)


async def test_a_process_that_ends_without_a_database_has_nobody_to_tell() -> None:
    bus = PostgresBus("host=/nowhere", system_entropy)
    bus.wake(HOME, "catalogue")

    await bus.say_all()


A_WHILE = 0.7


def wakes() -> PQGen[int]:
    """How often it was woken for nothing, before there was something to read."""
    for_nothing = 0
    while not (yield Wait.R):
        for_nothing += 1
    return for_nothing


async def counted(address: str, kind: type[AsyncConnection[Any]]) -> int:
    async with (
        await kind.connect(address, autocommit=True) as ear,
        await AsyncConnection.connect(address, autocommit=True) as mouth,
    ):
        await ear.execute("LISTEN news")
        waiting = asyncio.ensure_future(ear.wait(wakes()))
        await asyncio.sleep(A_WHILE)
        await mouth.execute("NOTIFY news")
        return await waiting


async def test_it_is_woken_by_news_alone(embedded_database: Addresses) -> None:
    assert await counted(embedded_database.app, ListeningConnection) == 0
    assert await counted(embedded_database.app, AsyncConnection) > 1


async def test_it_is_told_what_comes_and_gives_up_in_time(embedded_database: Addresses) -> None:
    async with await ListeningConnection.connect(embedded_database.app, autocommit=True) as ear:
        await ear.execute("LISTEN news")
        await ear.execute("NOTIFY news, 'one'")
        heard = [each.payload async for each in ear.notifies(timeout=A_WHILE)]

    assert heard == ["one"]
