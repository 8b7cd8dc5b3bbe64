"""To be cancelled while waiting for a connection is never forgotten of."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from portico.adapters.postgres.addresses import Addresses
from portico.adapters.postgres.transaction import Connections, EnginePool, open_pool

pytestmark = [pytest.mark.postgres]

MOMENTS = range(8)
"""Turns of the loop between the return of a connection and the cancellation: more than it takes
until whoever waits has it."""


@pytest.fixture(params=["application", "engine"])
async def pool(
    request: pytest.FixtureRequest, embedded_database: Addresses
) -> AsyncIterator[Connections]:
    """With one connection."""
    engine = EnginePool(str(embedded_database.engine), 1).pool
    made = engine if request.param == "engine" else open_pool(embedded_database.app, 1)
    assert isinstance(made, Connections)
    async with made:
        yield made


async def test_who_is_cancelled_as_a_connection_comes_is_cancelled(pool: Connections) -> None:
    forgotten: list[int] = []
    for moment in MOMENTS:
        held, went_on = await pool.getconn(), asyncio.Event()
        waiting = asyncio.create_task(_take_and_give_back(pool, went_on))
        while not pool.get_stats().get("requests_waiting"):  # noqa: ASYNC110 # it does not tell
            await asyncio.sleep(0)
        giving_back = asyncio.create_task(pool.putconn(held))
        for _ in range(moment):
            await asyncio.sleep(0)
        if waiting.cancel() and await _goes_on(waiting, went_on):
            forgotten.append(moment)
        await giving_back

    assert forgotten == []
    assert await _is_whole(pool)


async def test_who_cleans_up_after_being_cancelled_is_given_one(pool: Connections) -> None:
    asleep, went_on = asyncio.Event(), asyncio.Event()

    async def clean_up() -> None:
        try:
            asleep.set()
            await asyncio.Event().wait()
        finally:
            await _take_and_give_back(pool, went_on)

    task = asyncio.create_task(clean_up())
    await asleep.wait()
    task.cancel()
    await asyncio.wait([task])

    assert went_on.is_set()
    assert task.cancelled()


async def _take_and_give_back(pool: Connections, went_on: asyncio.Event) -> None:
    connection = await pool.getconn()
    try:
        await asyncio.sleep(0)
        went_on.set()
    finally:
        await pool.putconn(connection)


async def _goes_on(task: "asyncio.Task[None]", went_on: asyncio.Event) -> bool:
    await asyncio.wait([task])
    return went_on.is_set() and not task.cancelled()


async def _is_whole(pool: Connections) -> bool:
    await pool.putconn(await pool.getconn())
    return pool.get_stats()["pool_size"] == 1
