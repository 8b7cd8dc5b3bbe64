"""How often something may be done, and who counts together."""

from collections.abc import AsyncIterator

import pytest

from portico.adapters.postgres.addresses import Addresses
from portico.adapters.postgres.call_limits import PostgresCallLimits
from portico.adapters.postgres.transaction import Transactions, open_pool
from portico.guard.core.act import Act, Aim
from portico.guard.core.errors import LimitReached
from portico.guard.core.rate import CallRates
from portico.guard.ports import CallLimits
from portico.kernel.effect import Effect
from portico.kernel.principal import Principal
from portico.testing.guard import a_person
from portico.testing.limits import MemoryCallLimits
from tests.contracts.doors import Doors

RATES = CallRates(principal=5, tools={"github.create_*": 3}, servers={"slack": 2})


@pytest.fixture
async def limits(addresses: Addresses | None) -> AsyncIterator[CallLimits]:
    if addresses is None:
        yield MemoryCallLimits(RATES)
        return
    async with open_pool(addresses.app, 4) as pool:
        yield PostgresCallLimits(Transactions(pool), RATES)


@pytest.fixture
async def ana(doors: Doors) -> Principal:
    return await doors.founded("home")


def an_act(caller: Principal, tool: str = "files.read") -> Act:
    aim = Aim(tool=tool, server=tool.partition(".")[0], effect=Effect.EXTERNAL_WRITE, pin="0" * 64)
    return Act(caller=caller, aim=aim)


async def take(limits: CallLimits, act: Act) -> None:
    """As something does that is allowed."""
    await limits.take_own(act)
    await limits.take_shared(act)


async def taken(limits: CallLimits, act: Act, most: int = 20) -> int:
    for count in range(most):
        try:
            await take(limits, act)
        except LimitReached:
            return count
    return most


async def test_a_principal_has_so_many_and_is_told_when_to_come_back(
    limits: CallLimits, ana: Principal
) -> None:
    assert await taken(limits, an_act(ana)) == 5
    with pytest.raises(LimitReached, match="5 calls by root") as reached:
        await take(limits, an_act(ana, "files.write"))
    assert 55 < reached.value.retry_after.total_seconds() <= 61


async def test_another_principal_and_another_space_have_their_own(
    doors: Doors, limits: CallLimits, ana: Principal
) -> None:
    eve = await doors.founded("elsewhere")
    bob = a_person("bob")

    assert await taken(limits, an_act(ana)) == 5
    assert await taken(limits, an_act(bob)) == 5
    assert await taken(limits, an_act(eve)) == 5


async def test_what_a_wildcard_stands_for_counts_together_whoever_calls(
    limits: CallLimits, ana: Principal
) -> None:
    bob = a_person("bob")
    await take(limits, an_act(ana, "github.create_issue"))
    await take(limits, an_act(bob, "github.create_branch"))

    assert await taken(limits, an_act(ana, "github.create_issue")) == 1
    with pytest.raises(LimitReached, match=r"3 calls of github.create_\*"):
        await take(limits, an_act(bob, "github.create_branch"))
    await take(limits, an_act(bob, "github.get_issue"))


async def test_a_server_counts_as_a_whole(limits: CallLimits, ana: Principal) -> None:
    await take(limits, an_act(ana, "slack.post"))
    await take(limits, an_act(ana, "slack.~resource"))

    with pytest.raises(LimitReached, match="2 calls of the server slack"):
        await take(limits, an_act(ana, "slack.post"))


async def test_what_is_refused_counts_for_its_caller_alone(
    limits: CallLimits, ana: Principal
) -> None:
    for _ in range(5):
        await limits.take_own(an_act(ana, "slack.post"))

    await take(limits, an_act(a_person("bob"), "slack.post"))
    with pytest.raises(LimitReached, match="5 calls by root"):
        await limits.take_own(an_act(ana))


async def test_what_is_made_ahead_of_time_uses_a_share_and_keeps_nobody_waiting(
    limits: CallLimits, ana: Principal
) -> None:
    one = an_act(ana, "github.create_issue")
    await limits.take_ahead(one, 0.5)

    with pytest.raises(LimitReached, match=r"1 calls of github.create_\*"):
        await limits.take_ahead(one, 0.5)

    assert await taken(limits, one) == 2
    with pytest.raises(LimitReached):
        await limits.take_ahead(an_act(ana, "slack.post"), 0.25)
    await limits.take_ahead(an_act(ana, "files.read"), 0.25)
