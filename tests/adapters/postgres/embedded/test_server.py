"""Whatever goes wrong while the database is brought back, it is tried again."""

import asyncio
import os
import signal
from collections.abc import Iterator

import psycopg
import pytest

from portico.adapters.postgres.embedded.server import EmbeddedStore, Healer
from portico.adapters.postgres.transaction import Transactions, open_pool
from portico.engine.core.errors import StoreUnavailable
from tests.servers import embedded_store, reachable_folder

pytestmark = [pytest.mark.postgres]


@pytest.fixture
def store() -> Iterator[EmbeddedStore]:
    with reachable_folder() as folder:
        made = embedded_store(folder)
        made.start_here(create=True)
        yield made
        made.server.stop(force=True)


@pytest.mark.requirement("postgres:heals:kill")
@pytest.mark.parametrize("trouble", [OSError(12, "no memory"), StoreUnavailable("not yet")])
async def test_an_odd_failure_does_not_end_the_healing(
    store: EmbeddedStore, trouble: Exception
) -> None:
    tries: list[int] = []

    def restart() -> None:
        tries.append(1)
        if len(tries) == 1:
            raise trouble
        store.restart()

    async with open_pool(store.addresses.app, 2) as pool, asyncio.TaskGroup() as group:
        watching = group.create_task(Healer(store.addresses.app, restart, pool).watch())
        async with Transactions(pool).begin_outside():
            pid = int((store.server.data / "postmaster.pid").read_text().split()[0])
        await _until_watched(store)
        os.kill(pid, signal.SIGKILL)

        # An orphan may answer for a while after the postmaster has gone.
        while len(tries) < 2:  # noqa: ASYNC110 # they are made in another thread
            await asyncio.sleep(0.05)
        await _until_it_answers(Transactions(pool))
        watching.cancel()

    assert len(tries) >= 2


async def _until_watched(store: EmbeddedStore) -> None:
    query = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'portico sentinel'"
    async with await psycopg.AsyncConnection.connect(str(store.addresses.admin)) as admin:
        while (await (await admin.execute(query)).fetchone()) != (1,):
            await admin.rollback()
            await asyncio.sleep(0.05)


async def _until_it_answers(transactions: Transactions) -> None:
    while True:
        try:
            async with transactions.begin_outside() as connection:
                await connection.execute("SELECT 1")
        except StoreUnavailable:
            continue
        return
