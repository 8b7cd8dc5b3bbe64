"""What pieces of work may cost: reserved, settled, released, and never passed."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest

from portico.adapters.postgres.addresses import Addresses
from portico.adapters.postgres.budgets import PostgresBudgets
from portico.adapters.postgres.transaction import Transactions, open_pool
from portico.guard.core.errors import BudgetNotFound, BudgetTaken
from portico.guard.ports import Budgets
from portico.kernel.budget import Cost, OverBudget, ReservationExceeded
from portico.kernel.principal import Principal
from portico.kernel.tokens import Tokens
from portico.testing.secrets import MemoryBudgets
from tests.contracts.doors import Doors

CAP = Cost(tokens=Tokens(1000), money=Decimal("2.50"), time=timedelta(minutes=5), calls=10)
SOME = Cost(tokens=Tokens(400), money=Decimal("0.30"), time=timedelta(seconds=30), calls=3)


@pytest.fixture
async def budgets(addresses: Addresses | None) -> AsyncIterator[Budgets]:
    if addresses is None:
        yield MemoryBudgets()
        return
    async with open_pool(addresses.app, 2) as pool:
        yield PostgresBudgets(Transactions(pool))


@pytest.fixture
async def ana(doors: Doors) -> Principal:
    return await doors.founded("home")


async def test_what_is_reserved_is_not_left(budgets: Budgets, ana: Principal) -> None:
    await budgets.open(ana, "run", CAP)

    assert await budgets.reserve(ana, "run", "step 1", SOME) is None

    assert await budgets.left(ana, "run") == Cost(
        tokens=Tokens(600),
        money=Decimal("2.20"),
        time=timedelta(minutes=4, seconds=30),
        calls=7,
    )


async def test_what_was_not_spent_is_free_again(budgets: Budgets, ana: Principal) -> None:
    await budgets.open(ana, "run", CAP)
    await budgets.reserve(ana, "run", "step 1", SOME)

    await budgets.settle(ana, "run", "step 1", Cost(tokens=Tokens(100), money=Decimal("0.05")))

    left = await budgets.left(ana, "run")
    assert left == replace(CAP, tokens=Tokens(900), money=Decimal("2.45"))
    with pytest.raises(BudgetNotFound):
        await budgets.settle(ana, "run", "step 1", SOME)


async def test_what_is_released_was_never_spent(budgets: Budgets, ana: Principal) -> None:
    await budgets.open(ana, "run", CAP)
    await budgets.reserve(ana, "run", "step 1", SOME)

    await budgets.release(ana, "run", "step 1")

    assert await budgets.left(ana, "run") == CAP


@pytest.mark.parametrize(
    ("amount", "dimensions"),
    [
        (Cost(tokens=Tokens(601)), ("tokens",)),
        (Cost(money=Decimal("2.21")), ("money",)),
        (Cost(time=timedelta(minutes=5)), ("time",)),
        (Cost(calls=8, tokens=Tokens(601)), ("tokens", "calls")),
    ],
)
async def test_no_dimension_is_ever_passed(
    budgets: Budgets, ana: Principal, amount: Cost, dimensions: tuple[str, ...]
) -> None:
    await budgets.open(ana, "run", CAP)
    await budgets.reserve(ana, "run", "step 1", SOME)
    before = await budgets.left(ana, "run")

    assert await budgets.reserve(ana, "run", "step 2", amount) == OverBudget(dimensions)
    assert await budgets.left(ana, "run") == before
    assert await budgets.reserve(ana, "run", "step 2", before) is None


async def test_more_than_was_reserved_is_refused_and_stays_reserved(
    budgets: Budgets, ana: Principal
) -> None:
    await budgets.open(ana, "run", CAP)
    await budgets.reserve(ana, "run", "step 1", SOME)

    with pytest.raises(ReservationExceeded, match="calls"):
        await budgets.settle(ana, "run", "step 1", replace(SOME, calls=4))

    await budgets.settle(ana, "run", "step 1", SOME)
    assert (await budgets.left(ana, "run")).calls == 7


async def test_a_name_is_taken_once(budgets: Budgets, ana: Principal) -> None:
    await budgets.open(ana, "run", CAP)
    await budgets.reserve(ana, "run", "step 1", SOME)

    with pytest.raises(BudgetTaken):
        await budgets.open(ana, "run", CAP)
    with pytest.raises(BudgetTaken):
        await budgets.reserve(ana, "run", "step 1", Cost(calls=1))
    assert (await budgets.left(ana, "run")).calls == 7


async def test_what_is_closed_or_elsewhere_is_not_there(
    doors: Doors, budgets: Budgets, ana: Principal
) -> None:
    eve = await doors.founded("elsewhere")
    await budgets.open(ana, "run", CAP)

    with pytest.raises(BudgetNotFound):
        await budgets.left(eve, "run")
    with pytest.raises(BudgetNotFound):
        await budgets.reserve(eve, "run", "step 1", SOME)
    await budgets.open(eve, "run", CAP)
    await budgets.close(ana, "run")
    with pytest.raises(BudgetNotFound):
        await budgets.left(ana, "run")
    assert await budgets.left(eve, "run") == CAP
