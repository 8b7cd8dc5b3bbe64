"""What a transaction carries, joins, and leaves behind."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import psycopg
import pytest
from psycopg import AsyncCursor
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.rows import DictRow, dict_row
from psycopg_pool import AsyncConnectionPool

from portico.adapters.postgres import transaction
from portico.adapters.postgres.addresses import Addresses
from portico.adapters.postgres.transaction import (
    Connection,
    Connections,
    EnginePool,
    Transactions,
    open_pool,
)
from portico.engine.core.errors import StoreUnavailable
from portico.guard.core.contexts import context_of
from portico.kernel.ids import ContextId, PrincipalId, SpaceId
from portico.kernel.label import Label, Level
from portico.kernel.principal import Principal, PrincipalKind
from portico.testing.memory_store import SeededEntropy, TickingClock

pytestmark = pytest.mark.postgres

ENTROPY, CLOCK = SeededEntropy("transactions"), TickingClock()


def somebody() -> Principal:
    return Principal(
        id=PrincipalId.mint(CLOCK.now(), ENTROPY),
        space=SpaceId.mint(CLOCK.now(), ENTROPY),
        kind=PrincipalKind.PERSON,
        name="ana",
        clearance=Label(Level.CONFIDENTIAL, frozenset({"legal", "finance"})),
    )


@pytest.fixture
async def transactions(
    embedded_database: Addresses, nothing_blocks: None
) -> AsyncIterator[Transactions]:
    del nothing_blocks
    async with open_pool(embedded_database.app, 2) as pool:
        yield Transactions(pool)


async def context(connection: Connection) -> dict[str, str | None]:
    row = await (
        await connection.execute(
            "SELECT nullif(current_setting('portico.space', true), '') AS space,"
            " nullif(current_setting('portico.principal', true), '') AS principal,"
            " nullif(current_setting('portico.level', true), '') AS level,"
            " nullif(current_setting('portico.compartments', true), '') AS compartments,"
            " nullif(current_setting('portico.context', true), '') AS context"
        )
    ).fetchone()
    assert row is not None
    return dict(row)


async def test_it_carries_the_callers_space_principal_clearance_and_task(
    transactions: Transactions,
) -> None:
    caller = somebody()

    async with transactions.begin(caller) as connection:
        found = await context(connection)

    assert found == {
        "space": str(caller.space.value),
        "principal": str(caller.id.value),
        "level": "2",
        "compartments": "finance,legal",
        "context": str(context_of(caller).value),
    }
    keyed = replace(caller, key="k1")
    [[row]] = await transactions.stroke(
        keyed, ("SELECT current_setting('portico.context', true) AS context", {})
    )
    assert row["context"] == str(context_of(keyed).value)


async def test_one_inside_another_for_another_task_of_the_same_caller_is_in_that_task(
    transactions: Transactions,
) -> None:
    caller = somebody()
    at_task = replace(caller, context=ContextId.mint(CLOCK.now(), ENTROPY))
    at_place = replace(caller, place="inbox")

    async with transactions.begin(caller) as connection:
        told = [(await context(connection))["context"]]
        for who in (at_task, at_place):
            async with transactions.begin(who) as joined:
                told.append((await context(joined))["context"])
        told.append((await context(connection))["context"])

    expected = [caller, at_task, at_place, caller]
    assert told == [str(context_of(who).value) for who in expected]


async def test_nothing_of_it_is_left_on_a_connection_that_is_used_again(
    transactions: Transactions,
) -> None:
    for _ in range(4):
        async with transactions.begin(somebody()):
            pass

    async with transactions.begin_outside() as connection:
        found = await context(connection)

    assert set(found.values()) == {None}


async def test_one_inside_another_joins_it_and_both_are_undone_together(
    transactions: Transactions,
) -> None:
    caller = somebody()

    with pytest.raises(RuntimeError):
        async with transactions.begin(caller) as outer:
            async with transactions.begin(caller) as inner:
                assert inner is outer
                await inner.execute(
                    "INSERT INTO space VALUES (%s, 'never', now())", [caller.space.value]
                )
            raise RuntimeError

    async with transactions.begin(caller) as connection:
        row = await (await connection.execute("SELECT count(*) AS n FROM space")).fetchone()
    assert row == {"n": 0}


async def test_one_inside_another_for_somebody_else_acts_for_them_and_then_goes_on(
    transactions: Transactions,
) -> None:
    me, them = somebody(), somebody()

    async with transactions.begin(me) as connection:
        async with transactions.begin(them) as joined:
            inside = await context(joined)
        after = await context(connection)

    assert inside["space"] == str(them.space.value)
    assert after["space"] == str(me.space.value)


async def test_tasks_side_by_side_do_not_share_one(transactions: Transactions) -> None:
    both_in = asyncio.Barrier(2)

    async def one(caller: Principal) -> bool:
        async with transactions.begin(caller) as connection:
            await both_in.wait()
            return (await context(connection))["space"] == str(caller.space.value)

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one(somebody())) for _ in range(2)]

    assert [task.result() for task in tasks] == [True, True]


async def test_a_connection_that_has_died_meanwhile_is_replaced_unnoticed(
    transactions: Transactions, embedded_database: Addresses
) -> None:
    async with transactions.begin(somebody()):
        pass
    async with await psycopg.AsyncConnection.connect(
        str(embedded_database.admin), autocommit=True
    ) as admin:
        await admin.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND usename = 'portico_app'"
        )

    async with transactions.begin(somebody()) as connection:
        found = await context(connection)

    assert found["space"] is not None


async def test_a_connection_that_dies_inside_is_told_as_unavailable(
    transactions: Transactions, embedded_database: Addresses
) -> None:
    with pytest.raises(StoreUnavailable):
        async with transactions.begin(somebody()) as connection:
            pid = connection.info.backend_pid
            async with await psycopg.AsyncConnection.connect(
                str(embedded_database.admin), autocommit=True
            ) as admin:
                await admin.execute("SELECT pg_terminate_backend(%s)", [pid])
            await connection.execute("SELECT 1")

    async with transactions.begin(replace(somebody(), name="next")) as connection:
        assert (await context(connection))["space"] is not None


async def test_a_task_that_outlives_the_transaction_it_was_started_in_has_one_of_its_own(
    transactions: Transactions,
) -> None:
    me, them = somebody(), somebody()
    ended = asyncio.Event()

    async def late() -> bool:
        await ended.wait()
        async with transactions.begin(me) as connection:
            return (await context(connection))["space"] == str(me.space.value)

    async with asyncio.TaskGroup() as group:
        async with transactions.begin(me):
            task = group.create_task(late())
        async with transactions.begin(them):
            ended.set()
            await asyncio.sleep(0)
            await asyncio.wait([task])

    assert task.result()


Ask = Callable[[Transactions], Coroutine[Any, Any, object]]


async def at_once(transactions: Transactions) -> object:
    return await transactions.at_once("SELECT 1 AS answer", {})


async def stroke(transactions: Transactions) -> object:
    ((row,),) = await transactions.stroke(somebody(), ("SELECT 1 AS answer", {}))
    return row


@asynccontextmanager
async def outside(database: Addresses) -> AsyncIterator[psycopg.AsyncConnection]:
    elsewhere = make_conninfo(str(database.admin), dbname="postgres")
    async with await psycopg.AsyncConnection.connect(elsewhere, autocommit=True) as admin:
        yield admin


async def end_all(admin: psycopg.AsyncConnection, name: str) -> None:
    theirs = "FROM pg_stat_activity WHERE datname = %s AND usename = 'portico_app'"
    await admin.execute(f"SELECT pg_terminate_backend(pid) {theirs}".encode(), [name])
    left = f"SELECT count(*) {theirs}".encode()
    while await (await admin.execute(left, [name])).fetchone() != (0,):  # noqa: ASYNC110 # they end in their own time
        await asyncio.sleep(0.01)


@pytest.mark.requirement("postgres:heals:kill")
@pytest.mark.parametrize("ask", [at_once, stroke])
async def test_one_trip_by_itself_does_not_go_by_connections_that_have_died_meanwhile(
    transactions: Transactions, embedded_database: Addresses, ask: Ask
) -> None:
    async with transactions.begin(somebody()):
        await ask(transactions)  # on the second one, so that both are open
    async with outside(embedded_database) as admin:
        await end_all(admin, str(conninfo_to_dict(embedded_database.app)["dbname"]))

    assert await ask(transactions) == {"answer": 1}


@pytest.mark.requirement("postgres:heals:kill")
@pytest.mark.parametrize("ask", [at_once, stroke])
async def test_one_trip_by_itself_waits_for_a_database_that_lets_nobody_in_yet(
    transactions: Transactions, embedded_database: Addresses, ask: Ask
) -> None:
    name = str(conninfo_to_dict(embedded_database.app)["dbname"])
    doors = f"ALTER DATABASE {name} ALLOW_CONNECTIONS"
    await ask(transactions)

    async with outside(embedded_database) as admin, asyncio.TaskGroup() as group:
        await admin.execute(f"{doors} false".encode())
        await end_all(admin, name)
        asking = group.create_task(ask(transactions))
        await asyncio.wait([asking], timeout=0.3)
        told_early = asking.done()
        await admin.execute(f"{doors} true".encode())

    assert not told_early
    assert asking.result() == {"answer": 1}


async def test_one_trip_by_itself_that_was_begun_is_not_tried_again(
    transactions: Transactions,
) -> None:
    with pytest.raises(StoreUnavailable):
        await transactions.at_once("SELECT pg_terminate_backend(pg_backend_pid())", {})

    assert await at_once(transactions) == {"answer": 1}


class Counted(psycopg.AsyncConnection[DictRow]):
    proven = 0

    async def execute(self, query: Any, *arguments: Any, **named: Any) -> AsyncCursor[DictRow]:
        Counted.proven += query == ""
        return await super().execute(query, *arguments, **named)


@pytest.mark.parametrize("ask", [at_once, stroke])
async def test_only_a_connection_that_has_idled_is_proven_first(
    embedded_database: Addresses, monkeypatch: pytest.MonkeyPatch, ask: Ask
) -> None:
    monkeypatch.setattr(Counted, "proven", 0)
    settings = {"row_factory": dict_row}
    pool: AsyncConnectionPool[Connection] = AsyncConnectionPool(
        embedded_database.app, connection_class=Counted, kwargs=settings, open=False, min_size=1
    )
    async with pool:
        transactions = Transactions(pool)
        for _ in range(3):
            await ask(transactions)
        busy = Counted.proven
        monkeypatch.setattr(transaction, "_IDLE", -1.0)
        await ask(transactions)

    assert (busy, Counted.proven) == (1, 2)


class Interrupted(psycopg.AsyncConnection[DictRow]):
    """Whoever asks this of it is cancelled as the answer comes."""

    at: bytes | str = "never"

    async def execute(self, query: Any, *arguments: Any, **named: Any) -> AsyncCursor[DictRow]:
        cursor = await super().execute(query, *arguments, **named)
        if query == Interrupted.at:
            asking = asyncio.current_task()
            assert asking is not None
            asking.cancel()
            await asyncio.sleep(0)
        return cursor


async def reads(transactions: Transactions) -> object:
    async with transactions.begin(somebody()) as connection:
        return await connection.execute("SELECT 1 AS answer")


async def reads_outside(transactions: Transactions) -> object:
    async with transactions.begin_outside() as connection:
        return await connection.execute("SELECT 2 AS answer")


@pytest.mark.parametrize(
    ("ask", "at"),
    [
        (reads, transaction.SET_CONTEXT),
        (reads, "SELECT 1 AS answer"),
        (reads_outside, "SELECT 1"),
        (at_once, "SELECT 1 AS answer"),
    ],
)
async def test_whoever_is_cancelled_in_the_middle_gives_nothing_back_in_a_transaction(
    embedded_database: Addresses,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    ask: Ask,
    at: str,
) -> None:
    settings = {"row_factory": dict_row}
    pool: AsyncConnectionPool[Connection] = AsyncConnectionPool(
        embedded_database.app, connection_class=Interrupted, kwargs=settings, open=False, min_size=1
    )
    async with pool:
        transactions = Transactions(pool)
        monkeypatch.setattr(Interrupted, "at", at)
        asking = asyncio.ensure_future(ask(transactions))
        await asyncio.wait([asking])
        monkeypatch.setattr(Interrupted, "at", "never")
        async with transactions.begin_outside() as connection:
            left = await context(connection)

    assert asking.cancelled()
    assert set(left.values()) == {None}
    assert [each for each in caplog.records if each.name == "psycopg.pool"] == []


async def test_a_read_of_one_trip_that_is_cancelled_on_its_way_is_ended_quietly(
    transactions: Transactions, embedded_database: Addresses, caplog: pytest.LogCaptureFixture
) -> None:
    sleeping = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
    long = transactions.stroke(somebody(), ("SELECT pg_sleep(50)", {}))
    asking = asyncio.ensure_future(long)
    async with outside(embedded_database) as admin:
        while await (await admin.execute(sleeping)).fetchone() == (0,):  # noqa: ASYNC110 # it is the server that knows
            await asyncio.sleep(0.01)

    asking.cancel()
    await asyncio.wait([asking])

    assert asking.cancelled()
    assert await stroke(transactions) == {"answer": 1}
    assert [each for each in caplog.records if each.name == "psycopg.pool"] == []


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
