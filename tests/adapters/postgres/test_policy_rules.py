"""What the contract of rules cannot see: how often the database is asked, and who is not told."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta

import psycopg
import pytest

from portico.adapters.inline.bus import InlineBus
from portico.adapters.postgres.addresses import Addresses
from portico.adapters.postgres.policy_rules import OLDEST, PostgresRules
from portico.adapters.postgres.spaces import PostgresSpaces
from portico.adapters.postgres.transaction import Connection, Transactions, open_pool
from portico.guard.core.api_key import ApiKey
from portico.guard.core.authentication import as_principal
from portico.guard.core.roles import Role
from portico.guard.core.rules import Rule, Ruling
from portico.kernel.principal import Principal
from portico.testing.guard import a_space, an_identity
from portico.testing.kernel import BEGINNING, SeededEntropy, TickingClock
from tests.contracts.doors import a_key

pytestmark = [pytest.mark.postgres, pytest.mark.timeout(60)]

RULE = Rule(name="no", ruling=Ruling.DENY, tools=("*",), made_by="root", made_at=BEGINNING)


class Counted(Transactions):
    begun = 0

    @asynccontextmanager
    async def begin(self, caller: Principal) -> AsyncIterator[Connection]:
        self.begun += 1
        async with super().begin(caller) as connection:
            yield connection


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
async def town(embedded_database: Addresses) -> AsyncIterator[Town]:
    async with open_pool(embedded_database.app, 4) as pool:
        here, there = (Process(Counted(pool), TickingClock()) for _ in range(2))
        home = a_space("home")
        admin = an_identity("root", space=home, roles=[Role.ADMIN])
        key = ApiKey.mint(SeededEntropy())
        spaces = PostgresSpaces(Transactions(pool))
        await spaces.found(home, admin, a_key(admin, key), bytes(32))
        yield Town(as_principal(admin), here, there)


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
