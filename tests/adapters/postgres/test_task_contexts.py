"""What the contract of tasks cannot see: how often the database is asked."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace

import pytest
from psycopg.rows import DictRow

from portico.adapters.postgres.addresses import Addresses
from portico.adapters.postgres.spaces import PostgresSpaces
from portico.adapters.postgres.task_contexts import PostgresTaskContexts
from portico.adapters.postgres.transaction import Part, Transactions, open_pool
from portico.guard.core.api_key import ApiKey
from portico.guard.core.authentication import as_principal
from portico.guard.core.roles import Role
from portico.kernel.label import PUBLIC, Label, Level
from portico.kernel.principal import Principal
from portico.testing.guard import a_space, an_identity
from portico.testing.kernel import SeededEntropy, TickingClock
from tests.contracts.doors import a_key

pytestmark = [pytest.mark.postgres, pytest.mark.timeout(60)]

TEAM = Label(Level.TEAM)


class Counted(Transactions):
    strokes = 0

    async def stroke(self, caller: Principal, *parts: Part) -> Sequence[Sequence[DictRow]]:
        self.strokes += 1
        return await super().stroke(caller, *parts)


@pytest.fixture
async def transactions(embedded_database: Addresses) -> AsyncIterator[Counted]:
    async with open_pool(embedded_database.app, 2) as pool:
        yield Counted(pool)


async def test_a_call_that_adds_nothing_asks_nobody(transactions: Counted) -> None:
    space = a_space()
    admin = an_identity("root", space=space, roles=[Role.ADMIN])
    key = ApiKey.mint(SeededEntropy("key"))
    await PostgresSpaces(transactions).found(space, admin, a_key(admin, key), key.digest(b"p"))
    root = as_principal(admin)
    contexts = PostgresTaskContexts(transactions, TickingClock())

    for label in (TEAM, TEAM, PUBLIC):
        await contexts.rise(root, label, untrusted=True)
    assert transactions.strokes == 1

    await contexts.rise(root, Label(Level.CONFIDENTIAL), untrusted=False)
    await contexts.rise(replace(root, key="another"), TEAM, untrusted=True)
    assert transactions.strokes == 3
