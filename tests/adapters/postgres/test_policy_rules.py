"""What the contracts of rules and tasks cannot see: how often the database is asked, and who is not
told."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta

import psycopg
import pytest
from psycopg.rows import DictRow

from portico.adapters.inline import InlineBus
from portico.adapters.postgres.guard.contexts import PostgresTaskContexts
from portico.adapters.postgres.guard.rules import OLDEST, PostgresRules
from portico.adapters.postgres.transaction import Connection, Part, Transactions
from portico.guard.core.rules import Rule, Ruling
from portico.kernel.label import PUBLIC, Label, Level
from portico.kernel.principal import Principal
from portico.testing.memory_store import BEGINNING, TickingClock

pytestmark = [pytest.mark.postgres]

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
        await contexts.rise(ana, label, untrusted=True)
    assert counted.strokes == 1

    await contexts.rise(ana, Label(Level.CONFIDENTIAL), untrusted=False)
    await contexts.rise(replace(ana, key="another"), TEAM, untrusted=True)
    assert counted.strokes == 3
