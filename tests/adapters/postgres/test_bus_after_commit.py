"""Whoever is woken by the bus finds what it was woken for."""

from collections.abc import AsyncIterator

import pytest

from portico.adapters.inline.bus import InlineBus
from portico.adapters.postgres.addresses import Addresses
from portico.adapters.postgres.bus_after_commit import BusAfterCommit
from portico.adapters.postgres.transaction import Transactions, open_pool
from portico.testing.guard import a_person

pytestmark = [pytest.mark.postgres, pytest.mark.timeout(60)]


@pytest.fixture
async def transactions(embedded_database: Addresses) -> AsyncIterator[Transactions]:
    async with open_pool(embedded_database.app, 2) as pool:
        yield Transactions(pool)


async def test_a_change_is_told_when_it_can_be_seen(transactions: Transactions) -> None:
    ana, inner = a_person(), InlineBus()
    bus = BusAfterCommit(inner, transactions)

    with inner.listen(ana.space, "catalogue") as ear:
        async with transactions.begin(ana):
            bus.wake(ana.space, "catalogue")
            early = ear.rung
        late = ear.rung

    assert (early, late) == (False, True)


async def test_a_change_that_came_to_nothing_is_not_told(transactions: Transactions) -> None:
    ana, inner = a_person(), InlineBus()
    bus = BusAfterCommit(inner, transactions)

    with inner.listen(ana.space, "catalogue") as ear:
        with pytest.raises(RuntimeError):
            async with transactions.begin(ana):
                bus.wake(ana.space, "catalogue")
                raise RuntimeError

        assert not ear.rung


async def test_outside_of_anything_it_is_told_at_once(transactions: Transactions) -> None:
    ana = a_person()
    bus = BusAfterCommit(InlineBus(), transactions)

    with bus.listen(ana.space, "catalogue") as wakeups:
        bus.wake(ana.space, "catalogue")

        await wakeups.wait()
