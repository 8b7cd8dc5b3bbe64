"""What the contract of the event log cannot see: retention, clocks, how it is read, and appends
that go together: each with its own rights, in its own order, at its own risk."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import psycopg
import pytest

from portico.adapters.postgres.addresses import Addresses
from portico.adapters.postgres.engine.event_log import PostgresEventLog
from portico.adapters.postgres.transaction import Transactions, open_pool
from portico.adapters.system.clock import SystemClock, system_entropy
from portico.engine.core.errors import TopicRefused
from portico.engine.core.event_log import NewEntry
from portico.kernel.label import PUBLIC, Label, Level
from portico.kernel.principal import Principal
from portico.testing.engine import MemoryBus
from tests.adapters.postgres.conftest import Install

pytestmark = [pytest.mark.postgres]

SECRET = Label(Level.RESTRICTED)


@pytest.fixture
async def transactions(database: Addresses) -> AsyncIterator[Transactions]:
    async with open_pool(database.app, 4) as pool:
        yield Transactions(pool)


@pytest.fixture
def log(transactions: Transactions) -> PostgresEventLog:
    return PostgresEventLog(transactions, MemoryBus(), SystemClock(), system_entropy)


def new(type_: str, label: Label | None = None) -> NewEntry:
    return NewEntry(topic="t", type=type_, label=label or Label(Level.PUBLIC))


async def test_after_retention_a_reader_learns_what_is_the_oldest(
    database: Addresses, log: PostgresEventLog, ana: Principal
) -> None:
    await log.append(ana, [new(str(number)) for number in range(5)])
    with psycopg.connect(str(database.owner)) as owner:
        owner.execute("UPDATE portico.stream SET first = 4")
        owner.execute("DELETE FROM portico.event WHERE number < 4")

    page = await log.read(ana, "t", after=1, limit=10)

    assert ([entry.number for entry in page.entries], page.first) == ([4, 5], 4)


async def test_an_entry_of_a_transaction_that_is_older_than_its_topic_is_found(
    transactions: Transactions, log: PostgresEventLog, ana: Principal
) -> None:
    begun, opened = asyncio.Event(), asyncio.Event()

    async def early() -> None:
        async with transactions.begin(ana):
            begun.set()
            await opened.wait()
            await log.append(ana, [new("early")])

    async def late() -> None:
        await begun.wait()
        await log.append(ana, [new("late")])
        opened.set()

    await asyncio.gather(early(), late())

    page = await log.read(ana, "t", after=0, limit=10)
    assert [entry.type for entry in page.entries] == ["late", "early"]
    assert page.entries[0].at <= page.entries[1].at


@pytest.mark.requirement("engine:events:gap-free")
async def test_while_one_has_not_committed_the_next_waits_and_no_reader_sees_a_gap(
    transactions: Transactions, log: PostgresEventLog, ana: Principal
) -> None:
    await log.append(ana, [new("first")])
    appended, commit = asyncio.Event(), asyncio.Event()

    async def slow() -> None:
        async with transactions.begin(ana):
            await log.append(ana, [new("slow")])
            appended.set()
            await commit.wait()

    writing = asyncio.create_task(slow())
    await appended.wait()
    behind = asyncio.create_task(log.append(ana, [new("behind")]))
    await asyncio.sleep(0.2)
    meanwhile = await log.read(ana, "t", after=0, limit=10)
    waiting = not behind.done()
    commit.set()
    await asyncio.gather(writing, behind)

    after = await log.read(ana, "t", after=0, limit=10)
    assert waiting
    assert ([entry.type for entry in meanwhile.entries], meanwhile.position) == (["first"], 1)
    assert [entry.type for entry in after.entries] == ["first", "slow", "behind"]


@pytest.mark.requirement("engine:events:labels")
async def test_row_level_security_hides_entries_also_from_a_query_that_forgot_the_label(
    transactions: Transactions, log: PostgresEventLog, ana: Principal
) -> None:
    await log.append(ana, [new("open"), new("secret", SECRET)])
    low = replace(ana, clearance=Label(Level.TEAM))

    async with transactions.begin(low) as connection:
        rows = await (await connection.execute("SELECT type FROM portico.event")).fetchall()

    assert [row["type"] for row in rows] == ["open"]


async def test_a_page_is_found_by_the_index_and_not_by_looking_at_everything(
    transactions: Transactions, log: PostgresEventLog, ana: Principal
) -> None:
    for _ in range(20):
        await log.append(ana, [new("a.b") for _ in range(100)])

    async with transactions.begin(ana) as connection:
        await connection.execute("SET LOCAL plan_cache_mode = force_generic_plan")
        found = await connection.execute(
            "EXPLAIN SELECT number FROM portico.event WHERE space_id = %s AND topic = 't'"
            " AND number > 1990 ORDER BY number LIMIT 10",
            [ana.space.value],
        )
        plan = "\n".join(row["QUERY PLAN"] for row in await found.fetchall())

    assert "Index" in plan
    assert "Seq Scan" not in plan


def news(topic: str, number: int, label: Label = PUBLIC) -> NewEntry:
    return NewEntry(topic=topic, type="x.y", details={"n": number}, label=label)


async def test_each_has_the_number_that_it_is_told_and_no_number_is_left_out(
    log: PostgresEventLog, ana: Principal
) -> None:
    topics = ["b", "a", "c"]

    numbers = await asyncio.gather(*(log.append(ana, [news(topics[n % 3], n)]) for n in range(150)))

    for place, topic in enumerate(topics):
        page = await log.read(ana, topic, after=0, limit=999)
        assert [entry.number for entry in page.entries] == list(range(1, 51))
        there = {entry.details["n"]: entry.number for entry in page.entries}
        assert there == {n: numbers[n][0] for n in range(place, 150, 3)}


async def test_whoever_waits_for_one_before_the_next_finds_them_in_that_order(
    log: PostgresEventLog, ana: Principal
) -> None:
    async def writer(name: str) -> None:
        for number in range(40):
            entry = NewEntry(topic="t", type="x.y", details={"by": name, "n": number})
            await log.append(ana, [entry])

    await asyncio.gather(*(writer(name) for name in "abcdef"))

    page = await log.read(ana, "t", after=0, limit=999)
    for name in "abcdef":
        theirs = [e.details["n"] for e in page.entries if e.details["by"] == name]
        assert theirs == list(range(40))


async def test_one_that_is_refused_does_not_take_the_others_with_it(
    log: PostgresEventLog, ana: Principal
) -> None:
    low = replace(ana, clearance=PUBLIC)
    secret = Label(Level.TEAM)

    given = await asyncio.gather(
        log.append(ana, [news("t", 1)]),
        log.append(ana, [news("t", 2)]),
        log.append(low, [news("t", 3, secret)]),
        log.append(ana, [news("t", 4)]),
        return_exceptions=True,
    )

    assert given[0] == [1]
    assert isinstance(given[2], TopicRefused)
    page = await log.read(ana, "t", after=0, limit=9)
    assert [entry.details["n"] for entry in page.entries] == [1, 2, 4]


async def test_each_is_written_into_its_own_space_by_its_own_hand(
    transactions: Transactions, log: PostgresEventLog, ana: Principal, install: Install
) -> None:
    eve = await install(transactions, "elsewhere")
    await asyncio.gather(*(log.append(who, [news("t", 1)]) for who in (ana, eve, ana)))

    for who, count in ((ana, 2), (eve, 1)):
        page = await log.read(who, "t", after=0, limit=9)
        assert [entry.by for entry in page.entries] == [who.id] * count


async def test_one_who_gives_up_waiting_does_not_hold_up_the_others(
    log: PostgresEventLog, ana: Principal, database: Addresses
) -> None:
    with psycopg.connect(str(database.owner)) as owner:
        await log.append(ana, [news("held", 0)])
        owner.execute("SELECT 1 FROM portico.stream WHERE topic = 'held' FOR UPDATE")
        waiting = [asyncio.ensure_future(log.append(ana, [news("held", n)])) for n in (1, 2)]
        await asyncio.sleep(0.1)
        waiting[0].cancel()
        owner.rollback()

        assert await waiting[1]

    page = await log.read(ana, "held", after=0, limit=9)
    assert [entry.number for entry in page.entries] == [1, 2, 3]
