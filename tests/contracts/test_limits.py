"""How often something may be done and who counts together; what pieces of work may cost."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest

from portico.adapters.postgres.addresses import Addresses
from portico.adapters.postgres.guard.budgets import PostgresBudgets
from portico.adapters.postgres.guard.rules import PostgresCallLimits
from portico.adapters.postgres.transaction import Transactions, open_pool
from portico.guard.core.access_request import AccessRequest, ActionTarget
from portico.guard.core.errors import BudgetNotFound, BudgetTaken, LimitReached
from portico.guard.core.rate_limits import CallRates
from portico.guard.ports import Budgets, CallLimits
from portico.kernel.budget import Cost, OverBudget, ReservationExceeded, Tokens
from portico.kernel.effect import Effect
from portico.kernel.principal import Principal
from portico.testing.guard import MemoryCallLimits, a_person
from portico.testing.secrets import MemoryBudgets
from tests.contracts.doors import Doors

RATES = CallRates(principal=5, tools={"github.create_*": 3}, servers={"slack": 2})
CAP = Cost(tokens=Tokens(1000), money=Decimal("2.50"), time=timedelta(minutes=5), calls=10)
SOME = Cost(tokens=Tokens(400), money=Decimal("0.30"), time=timedelta(seconds=30), calls=3)


@pytest.fixture
async def limits(addresses: Addresses | None) -> AsyncIterator[CallLimits]:
    if addresses is None:
        yield MemoryCallLimits(RATES)
        return
    async with open_pool(addresses.app, 4) as pool:
        yield PostgresCallLimits(Transactions(pool), RATES)


@pytest.fixture
async def budgets(addresses: Addresses | None) -> AsyncIterator[Budgets]:
    if addresses is None:
        yield MemoryBudgets()
        return
    async with open_pool(addresses.app, 2) as pool:
        yield PostgresBudgets(Transactions(pool))


def an_act(caller: Principal, tool: str = "files.read") -> AccessRequest:
    aim = ActionTarget(
        tool=tool, server=tool.partition(".")[0], effect=Effect.EXTERNAL_WRITE, pin="0" * 64
    )
    return AccessRequest(caller=caller, target=aim)


async def take(limits: CallLimits, act: AccessRequest) -> None:
    """As something does that is allowed."""
    await limits.take_own(act)
    await limits.take_shared(act)


async def taken(limits: CallLimits, act: AccessRequest, most: int = 20) -> int:
    for count in range(most):
        try:
            await take(limits, act)
        except LimitReached:
            return count
    return most


async def test_each_principal_has_so_many_and_is_told_when_to_come_back(
    doors: Doors, limits: CallLimits, root: Principal
) -> None:
    eve = await doors.founded("elsewhere")

    for who in (root, a_person("bob"), eve):
        assert await taken(limits, an_act(who)) == 5
    with pytest.raises(LimitReached, match="5 calls by root") as reached:
        await take(limits, an_act(root, "files.write"))
    assert 55 < reached.value.retry_after.total_seconds() <= 61


async def test_what_a_wildcard_stands_for_and_a_server_count_together_whoever_calls(
    limits: CallLimits, root: Principal
) -> None:
    bob = a_person("bob")
    await take(limits, an_act(root, "github.create_issue"))
    await take(limits, an_act(bob, "github.create_branch"))

    assert await taken(limits, an_act(root, "github.create_issue")) == 1
    with pytest.raises(LimitReached, match=r"3 calls of github.create_\*"):
        await take(limits, an_act(bob, "github.create_branch"))
    await take(limits, an_act(bob, "github.get_issue"))

    await take(limits, an_act(root, "slack.post"))
    await take(limits, an_act(bob, "slack.~resource"))
    with pytest.raises(LimitReached, match="2 calls of the server slack"):
        await take(limits, an_act(bob, "slack.post"))


async def test_what_is_refused_counts_for_its_caller_alone(
    limits: CallLimits, root: Principal
) -> None:
    for _ in range(5):
        await limits.take_own(an_act(root, "slack.post"))

    await take(limits, an_act(a_person("bob"), "slack.post"))
    with pytest.raises(LimitReached, match="5 calls by root"):
        await limits.take_own(an_act(root))


async def test_what_is_made_ahead_of_time_uses_a_share_and_keeps_nobody_waiting(
    limits: CallLimits, root: Principal
) -> None:
    one = an_act(root, "github.create_issue")
    await limits.take_ahead(one, 0.5)

    with pytest.raises(LimitReached, match=r"1 calls of github.create_\*"):
        await limits.take_ahead(one, 0.5)

    assert await taken(limits, one) == 2
    with pytest.raises(LimitReached):
        await limits.take_ahead(an_act(root, "slack.post"), 0.25)
    await limits.take_ahead(an_act(root, "files.read"), 0.25)


async def test_what_is_reserved_is_not_left_until_it_is_settled_or_released(
    budgets: Budgets, root: Principal
) -> None:
    await budgets.open(root, "run", CAP)

    for name in ("step 1", "step 2"):
        assert await budgets.reserve(root, "run", name, SOME) is None
    assert await budgets.left(root, "run") == Cost(
        tokens=Tokens(200), money=Decimal("1.90"), time=timedelta(minutes=4), calls=4
    )

    await budgets.release(root, "run", "step 1")
    await budgets.settle(root, "run", "step 2", Cost(tokens=Tokens(100), money=Decimal("0.05")))
    left = await budgets.left(root, "run")
    assert left == replace(CAP, tokens=Tokens(900), money=Decimal("2.45"))
    for name in ("step 1", "step 2"):
        with pytest.raises(BudgetNotFound):
            await budgets.settle(root, "run", name, SOME)


async def test_no_dimension_is_ever_passed(budgets: Budgets, root: Principal) -> None:
    await budgets.open(root, "run", CAP)
    await budgets.reserve(root, "run", "step 1", SOME)
    before = await budgets.left(root, "run")

    for amount, dimensions in (
        (Cost(tokens=Tokens(601)), ("tokens",)),
        (Cost(money=Decimal("2.21")), ("money",)),
        (Cost(time=timedelta(minutes=5)), ("time",)),
        (Cost(calls=8, tokens=Tokens(601)), ("tokens", "calls")),
    ):
        assert await budgets.reserve(root, "run", "step 2", amount) == OverBudget(dimensions)
        assert await budgets.left(root, "run") == before
    assert await budgets.reserve(root, "run", "step 2", before) is None

    with pytest.raises(ReservationExceeded, match="calls"):
        await budgets.settle(root, "run", "step 1", replace(SOME, calls=4))
    await budgets.settle(root, "run", "step 1", SOME)
    assert (await budgets.left(root, "run")).calls == 0


async def test_a_name_is_taken_once_and_what_is_closed_or_elsewhere_is_not_there(
    doors: Doors, budgets: Budgets, root: Principal
) -> None:
    eve = await doors.founded("elsewhere")
    await budgets.open(root, "run", CAP)
    await budgets.reserve(root, "run", "step 1", SOME)

    with pytest.raises(BudgetTaken):
        await budgets.open(root, "run", CAP)
    with pytest.raises(BudgetTaken):
        await budgets.reserve(root, "run", "step 1", Cost(calls=1))
    assert (await budgets.left(root, "run")).calls == 7
    with pytest.raises(BudgetNotFound):
        await budgets.left(eve, "run")
    with pytest.raises(BudgetNotFound):
        await budgets.reserve(eve, "run", "step 1", SOME)

    await budgets.open(eve, "run", CAP)
    await budgets.close(root, "run")
    with pytest.raises(BudgetNotFound):
        await budgets.left(root, "run")
    assert await budgets.left(eve, "run") == CAP
