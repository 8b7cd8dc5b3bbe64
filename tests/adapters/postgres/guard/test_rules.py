"""Policy rules in PostgreSQL, and rate limits by its clock."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta

import psycopg
import pytest
from psycopg.rows import DictRow

from portico.adapters.inline import InlineBus
from portico.adapters.postgres.addresses import Addresses
from portico.adapters.postgres.guard.contexts import PostgresTaskContexts
from portico.adapters.postgres.guard.rules import OLDEST, PostgresCallLimits, PostgresRules
from portico.adapters.postgres.transaction import Connection, Part, Transactions, open_pool
from portico.engine.core.errors import StoreUnavailable
from portico.guard.core.access_request import AccessRequest, ActionTarget
from portico.guard.core.errors import LimitReached
from portico.guard.core.rate_limits import CallRates, Slots
from portico.guard.core.rules import Rule, Ruling
from portico.kernel.effect import Effect
from portico.kernel.label import PUBLIC, Label, Level
from portico.kernel.principal import Principal
from portico.testing.guard import a_person, a_space
from portico.testing.memory_store import BEGINNING, TickingClock

pytestmark = pytest.mark.postgres

TEAM = Label(Level.TEAM)
RULE = Rule(name="no", ruling=Ruling.DENY, tools=("*",), made_by="root", made_at=BEGINNING)


class Counted(Transactions):
    begun = 0
    strokes = 0

    @asynccontextmanager
    async def begin(self, caller: Principal) -> AsyncIterator[Connection]:
        self.begun += 1
        async with super().begin(caller) as connection:
            yield connection

    async def stroke(self, caller: Principal, *parts: Part) -> Sequence[Sequence[DictRow]]:
        self.strokes += 1
        return await super().stroke(caller, *parts)


@dataclass
class Process:
    """One that hears nothing of the others."""

    transactions: Counted
    clock: TickingClock
    seconds: float = 0.0

    def __post_init__(self) -> None:
        self.rules = PostgresRules(
            self.transactions, InlineBus(), self.clock, now=lambda: self.seconds
        )

    async def names(self, caller: Principal) -> list[str]:
        return [rule.name for rule in await self.rules.all(caller)]


@dataclass
class Town:
    root: Principal
    here: Process
    there: Process


@pytest.fixture
def town(transactions: Transactions, ana: Principal) -> Town:
    here, there = (Process(Counted(transactions._pool), TickingClock()) for _ in range(2))
    return Town(ana, here, there)


async def test_asking_again_asks_no_database(town: Town) -> None:
    for _ in range(100):
        assert await town.here.names(town.root) == []

    assert town.here.transactions.begun == 1


async def test_a_process_sees_its_own_change_at_once(town: Town) -> None:
    assert await town.here.names(town.root) == []

    await town.here.rules.add(town.root, RULE)
    assert await town.here.names(town.root) == ["no"]

    await town.here.rules.remove(town.root, "no")
    assert await town.here.names(town.root) == []


async def test_a_process_that_was_told_nothing_looks_by_itself_within_two_seconds(
    town: Town,
) -> None:
    assert await town.there.names(town.root) == []
    await town.here.rules.add(town.root, RULE)

    town.there.seconds += OLDEST - 0.01
    assert await town.there.names(town.root) == []
    town.there.seconds += 0.01
    assert await town.there.names(town.root) == ["no"]
    assert OLDEST <= 2.0


async def test_a_rule_that_is_over_is_gone_and_makes_room_for_its_name(town: Town) -> None:
    over = replace(RULE, expires_at=BEGINNING + timedelta(minutes=1))
    await town.here.rules.add(town.root, over)
    assert await town.here.names(town.root) == ["no"]

    town.here.clock.turn(timedelta(minutes=2))
    town.here.seconds += OLDEST
    assert await town.here.names(town.root) == []

    await town.here.rules.add(town.root, RULE)
    assert await town.here.names(town.root) == ["no"]


async def test_a_rule_is_never_changed_in_place(town: Town) -> None:
    await town.here.rules.add(town.root, RULE)

    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        async with town.here.transactions.begin(town.root) as connection:
            await connection.execute("UPDATE policy_rule SET ruling = 'allow'")


async def test_a_call_that_adds_nothing_to_its_task_asks_nobody(
    transactions: Transactions, ana: Principal
) -> None:
    counted = Counted(transactions._pool)
    contexts = PostgresTaskContexts(counted, TickingClock())

    for label in (TEAM, TEAM, PUBLIC):
        await contexts.raise_taint(ana, label, untrusted=True)
    assert counted.strokes == 1

    await contexts.raise_taint(ana, Label(Level.CONFIDENTIAL), untrusted=False)
    await contexts.raise_taint(replace(ana, key="another"), TEAM, untrusted=True)
    assert counted.strokes == 3


ANA = a_person("ana")


def an_act(effect: Effect = Effect.EXTERNAL_WRITE, tool: str = "files.write") -> AccessRequest:
    return AccessRequest(
        caller=ANA, target=ActionTarget(tool=tool, server="files", effect=effect, pin="0" * 64)
    )


@pytest.fixture
async def call_limit_transactions(embedded_database: Addresses) -> AsyncIterator[Transactions]:
    with psycopg.connect(str(embedded_database.owner)) as owner:
        space = a_space()
        owner.execute(
            "INSERT INTO space (space_id, name, created_at) VALUES (%s, %s, now())",
            [space.id.value, space.name],
        )
    async with open_pool(embedded_database.app, 4) as pool:
        yield Transactions(pool)


def taken_of(addresses: Addresses) -> int:
    with psycopg.connect(str(addresses.owner)) as owner:
        row = owner.execute("SELECT sum(each) FROM call_count, unnest(taken) AS each").fetchone()
    return 0 if row is None or row[0] is None else int(row[0])


async def test_most_calls_need_no_trip_and_a_crowd_shares_one(
    call_limit_transactions: Transactions,
) -> None:
    limits = PostgresCallLimits(call_limit_transactions, CallRates(principal=1000), now=lambda: 0.0)

    for _ in range(10):
        await limits.take_own(an_act())
    alone = limits.trips
    await asyncio.gather(*(limits.take_own(an_act()) for _ in range(100)))

    assert alone <= 2
    assert limits.trips - alone <= 5


async def test_what_was_taken_ahead_and_not_used_goes_back(
    call_limit_transactions: Transactions, embedded_database: Addresses
) -> None:
    now = 0.0
    limits = PostgresCallLimits(call_limit_transactions, CallRates(principal=1000), now=lambda: now)
    await limits.take_own(an_act())
    assert taken_of(embedded_database) == 10

    now = 0.6
    await limits.take_own(an_act())

    assert taken_of(embedded_database) == 1 + 10


async def test_the_last_ones_are_not_taken_ahead(
    call_limit_transactions: Transactions, embedded_database: Addresses
) -> None:
    """So that they go to whoever needs them."""
    rates = CallRates(principal=800)
    one, other = (
        PostgresCallLimits(call_limit_transactions, rates, now=lambda: 0.0) for _ in range(2)
    )
    for _ in range(790):
        await one.take_own(an_act())

    for limits in (one, other) * 5:
        await limits.take_own(an_act())

    assert taken_of(embedded_database) == 800
    with pytest.raises(LimitReached):
        await other.take_own(an_act())


async def test_whoever_is_refused_asks_no_more_until_there_is_something(
    call_limit_transactions: Transactions,
) -> None:
    limits = PostgresCallLimits(call_limit_transactions, CallRates(principal=1))
    await limits.take_own(an_act())
    with pytest.raises(LimitReached):
        await limits.take_own(an_act())
    trips = limits.trips

    for _ in range(100):
        with pytest.raises(LimitReached):
            await limits.take_own(an_act())

    assert limits.trips == trips


async def test_a_slot_is_free_again_after_the_window(
    call_limit_transactions: Transactions,
) -> None:
    window = timedelta(seconds=1)
    limits = PostgresCallLimits(
        call_limit_transactions, CallRates(principal=2), slots=Slots(window)
    )
    await limits.take_own(an_act())
    await limits.take_own(an_act())
    with pytest.raises(LimitReached):
        await limits.take_own(an_act())

    await when_there_is_one(limits)


async def when_there_is_one(limits: PostgresCallLimits) -> None:
    async with asyncio.timeout(30):
        while True:
            try:
                return await limits.take_own(an_act())
            except LimitReached as reached:
                await asyncio.sleep(reached.retry_after.total_seconds())


@pytest.mark.parametrize("seconds", [-30, -100_000, 100_000])
async def test_a_clock_that_was_set_shuts_nobody_out_for_long(
    call_limit_transactions: Transactions, embedded_database: Addresses, seconds: int
) -> None:
    """Back a little: no slot counts twice. Back or forth by far: it is begun anew."""
    limits = PostgresCallLimits(call_limit_transactions, CallRates(principal=5))
    await limits.take_own(an_act())
    with psycopg.connect(str(embedded_database.owner)) as owner:
        owner.execute("UPDATE call_count SET slot = slot - %s * 4", [seconds])

    for _ in range(4):
        await limits.take_own(an_act())

    assert taken_of(embedded_database) <= 5


class Away(Transactions):
    """A database that can be taken away."""

    away = False

    async def stroke(self, caller: Principal, *parts: Part):  # type: ignore[no-untyped-def] # noqa: ANN201 # as above it
        if self.away:
            raise StoreUnavailable("The database is away.")
        return await super().stroke(caller, *parts)


async def test_without_a_database_reads_are_counted_alone_and_writes_wait(
    embedded_database: Addresses, call_limit_transactions: Transactions
) -> None:
    del call_limit_transactions  # it has made the space
    now = 0.0
    async with open_pool(embedded_database.app, 2) as pool:
        database = Away(pool)
        limits = PostgresCallLimits(database, CallRates(principal=3), now=lambda: now)
        database.away = True

        for _ in range(3):
            await limits.take_own(an_act(Effect.EXTERNAL_READ))
        with pytest.raises(LimitReached):
            await limits.take_own(an_act(Effect.EXTERNAL_READ))
        with pytest.raises(StoreUnavailable):
            await limits.take_own(an_act(Effect.LOCAL_WRITE))
        trips = limits.trips
        database.away, now = False, 6.0
        await limits.take_own(an_act(Effect.EXTERNAL_READ))

    assert limits.trips == trips + 1
