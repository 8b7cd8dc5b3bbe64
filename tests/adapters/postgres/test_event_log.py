"""What the contract of the event log cannot see: retention, clocks, and how it is read."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import psycopg
import pytest

from portico.adapters.postgres.addresses import Addresses
from portico.adapters.postgres.event_log import PostgresEventLog
from portico.adapters.postgres.spaces import PostgresSpaces
from portico.adapters.postgres.transaction import Transactions, open_pool
from portico.adapters.system.clock import SystemClock, system_entropy
from portico.engine.core.entry import NewEntry
from portico.guard.core.api_key import ApiKey
from portico.guard.core.authentication import as_principal
from portico.kernel.label import Label, Level
from portico.kernel.principal import Principal
from portico.testing.events import MemoryBus
from portico.testing.guard import a_space, an_identity
from portico.testing.kernel import SeededEntropy
from tests.contracts.doors import PEPPER, a_key

pytestmark = [pytest.mark.postgres, pytest.mark.timeout(60)]

SECRET = Label(Level.RESTRICTED)


@pytest.fixture
async def transactions(database: Addresses) -> AsyncIterator[Transactions]:
    async with open_pool(database.app, 4) as pool:
        yield Transactions(pool)


@pytest.fixture
async def root(transactions: Transactions) -> Principal:
    space = a_space("home")
    admin = an_identity("root", space=space, clearance=SECRET)
    key = ApiKey.mint(SeededEntropy("first key"))
    await PostgresSpaces(transactions).found(space, admin, a_key(admin, key), key.digest(PEPPER))
    return as_principal(admin)


def a_log(transactions: Transactions) -> PostgresEventLog:
    return PostgresEventLog(transactions, MemoryBus(), SystemClock(), system_entropy)


def new(type_: str, label: Label | None = None) -> NewEntry:
    return NewEntry(topic="t", type=type_, label=label or Label(Level.PUBLIC))


async def test_after_retention_a_reader_learns_what_is_the_oldest(
    database: Addresses, transactions: Transactions, root: Principal
) -> None:
    log = a_log(transactions)
    await log.append(root, [new(str(number)) for number in range(5)])
    with psycopg.connect(str(database.owner)) as owner:
        owner.execute("UPDATE portico.stream SET first = 4")
        owner.execute("DELETE FROM portico.event WHERE number < 4")

    page = await log.read(root, "t", after=1, limit=10)

    assert ([entry.number for entry in page.entries], page.first) == ([4, 5], 4)


async def test_an_entry_of_a_transaction_that_is_older_than_its_topic_is_found(
    transactions: Transactions, root: Principal
) -> None:
    log = a_log(transactions)
    begun, opened = asyncio.Event(), asyncio.Event()

    async def early() -> None:
        async with transactions.begin(root):
            begun.set()
            await opened.wait()
            await log.append(root, [new("early")])

    async def late() -> None:
        await begun.wait()
        await log.append(root, [new("late")])
        opened.set()

    await asyncio.gather(early(), late())

    page = await log.read(root, "t", after=0, limit=10)
    assert [entry.type for entry in page.entries] == ["late", "early"]
    assert page.entries[0].at <= page.entries[1].at


@pytest.mark.requirement("engine:events:gap-free")
async def test_while_one_has_not_committed_the_next_waits_and_no_reader_sees_a_gap(
    transactions: Transactions, root: Principal
) -> None:
    log = a_log(transactions)
    await log.append(root, [new("first")])
    appended, commit = asyncio.Event(), asyncio.Event()

    async def slow() -> None:
        async with transactions.begin(root):
            await log.append(root, [new("slow")])
            appended.set()
            await commit.wait()

    writing = asyncio.create_task(slow())
    await appended.wait()
    behind = asyncio.create_task(log.append(root, [new("behind")]))
    await asyncio.sleep(0.2)
    meanwhile = await log.read(root, "t", after=0, limit=10)
    waiting = not behind.done()
    commit.set()
    await asyncio.gather(writing, behind)

    after = await log.read(root, "t", after=0, limit=10)
    assert waiting
    assert ([entry.type for entry in meanwhile.entries], meanwhile.position) == (["first"], 1)
    assert [entry.type for entry in after.entries] == ["first", "slow", "behind"]


@pytest.mark.requirement("engine:events:labels")
async def test_row_level_security_hides_entries_also_from_a_query_that_forgot_the_label(
    transactions: Transactions, root: Principal
) -> None:
    log = a_log(transactions)
    await log.append(root, [new("open"), new("secret", SECRET)])
    low = replace(root, clearance=Label(Level.TEAM))

    async with transactions.begin(low) as connection:
        rows = await (await connection.execute("SELECT type FROM portico.event")).fetchall()

    assert [row["type"] for row in rows] == ["open"]


async def test_a_page_is_found_by_the_index_and_not_by_looking_at_everything(
    transactions: Transactions, root: Principal
) -> None:
    log = a_log(transactions)
    for _ in range(20):
        await log.append(root, [new("a.b") for _ in range(100)])

    async with transactions.begin(root) as connection:
        await connection.execute("SET LOCAL plan_cache_mode = force_generic_plan")
        found = await connection.execute(
            "EXPLAIN SELECT number FROM portico.event WHERE space_id = %s AND topic = 't'"
            " AND number > 1990 ORDER BY number LIMIT 10",
            [root.space.value],
        )
        plan = "\n".join(row["QUERY PLAN"] for row in await found.fetchall())

    assert "Index" in plan
    assert "Seq Scan" not in plan
