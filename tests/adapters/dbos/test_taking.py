"""Whoever joins a line is taken up at once, where there is room."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from portico.adapters.dbos.engine import take_one
from portico.adapters.postgres.addresses import Addresses
from portico.engine.core.runs import Place, Queue, RunStatus
from portico.engine.runs import Kind
from portico.kernel.durable import Durable
from portico.kernel.json import JsonObject, JsonValue
from tests.contracts.engines import Engine, dbos_engine

pytestmark = [pytest.mark.postgres]
RARE = Queue(name="rare", a_process=10, look=timedelta(hours=1))
NARROW = Queue(name="narrow", a_process=1, look=timedelta(hours=1))
"""Nobody looks at them while a test lasts."""


@pytest.fixture
def may_end() -> asyncio.Event:
    return asyncio.Event()


@pytest.fixture
async def engine(embedded_database: Addresses, may_end: asyncio.Event) -> AsyncIterator[Engine]:
    async def work(_durable: Durable, _given: JsonObject) -> JsonValue:
        await may_end.wait()
        return "done"

    async with dbos_engine(
        embedded_database, [Kind(name="work", work=work)], [RARE, NARROW]
    ) as made:
        yield made


async def test_who_joins_a_line_does_not_wait_until_somebody_looks(
    engine: Engine, may_end: asyncio.Event
) -> None:
    may_end.set()

    run = await engine.started("work", place=Place(queue=RARE.name))

    assert (await engine.over(run.id)).result == "done"


async def test_a_narrow_line_is_left_to_those_who_count(engine: Engine) -> None:
    run = await engine.started("work", place=Place(queue=NARROW.name))
    await asyncio.to_thread(take_one, NARROW.name)

    assert (await engine.book.get(engine.ana, run.id)).status is RunStatus.QUEUED


async def test_a_line_that_nobody_knows_is_nobodys(engine: Engine) -> None:
    await asyncio.to_thread(take_one, "unknown")

    assert engine.running() == 0
