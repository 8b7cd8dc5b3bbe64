"""There are never more processes than allowed: who is not needed makes way for who is."""

import asyncio
from datetime import timedelta

import pytest

from portico.gateway.core.errors import UpstreamBusy
from portico.gateway.core.upstream import Phase, Target
from tests.adapters.mcp.pools import (
    AMPLE,
    HOME,
    a_pool,
    children,
    launched,
    said,
    target,
    together,
    until,
)

pytestmark = pytest.mark.timeout(90)


def servers(many: int) -> list[Target]:
    return [target(launched("plain"), f"server-{number}") for number in range(many)]


async def test_who_has_not_been_needed_for_longest_makes_way() -> None:
    one, two, three = servers(3)

    async with a_pool(processes=2) as pool:
        for each in (one, two, one, three):
            await pool.call(each, "echo", {}, timeout=AMPLE)

        phases = [pool.vitals(HOME, each.server).phase for each in (one, two, three)]
        assert phases == [Phase.RUNNING, Phase.IDLE, Phase.RUNNING]
        assert pool.running() == len(children()) == 2


async def test_while_all_are_busy_one_waits_a_moment_and_is_then_told() -> None:
    one, two = servers(2)

    async with a_pool(processes=1, wait=timedelta(milliseconds=200)) as pool:
        await pool.look(one)
        working = asyncio.ensure_future(pool.call(one, "sleep", {"seconds": 5}, timeout=AMPLE))
        await until(lambda: pool.vitals(HOME, one.server).calls_now)
        with pytest.raises(UpstreamBusy, match="All 1 processes are at work"):
            await pool.call(two, "echo", {}, timeout=AMPLE)
        working.cancel()

        assert pool.vitals(HOME, two.server).phase is Phase.IDLE


async def test_who_waits_gets_the_place_as_soon_as_a_call_is_over() -> None:
    one, two = servers(2)

    async with a_pool(processes=1) as pool:
        await pool.look(one)
        answers = await asyncio.gather(
            pool.call(one, "sleep", {"seconds": 0.3}, timeout=AMPLE),
            pool.call(two, "echo", {"text": "hello"}, timeout=AMPLE),
        )

        assert [said(answer) for answer in answers] == ["woke up", "hello"]
        assert pool.running() == 1


async def test_two_hundred_callers_of_twenty_servers_never_make_more_than_eight() -> None:
    twenty = servers(20)
    most = 0

    async with a_pool(processes=8, wait=timedelta(seconds=60)) as pool:

        async def watch() -> None:
            nonlocal most
            while True:
                most = max(most, len(children()))
                await asyncio.sleep(0.005)

        watching = asyncio.ensure_future(watch())
        outcomes = await together(
            *(
                pool.call(twenty[number % 20], "echo", {"text": f"{number}"}, timeout=3 * AMPLE)
                for number in range(200)
            )
        )
        watching.cancel()
        running = pool.running()

    wrong = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
    assert wrong == []
    assert [said(outcome) for outcome in outcomes] == [f"{number}" for number in range(200)]  # type: ignore[arg-type] # none is an error  # ty: ignore[invalid-argument-type] # checked by mypy
    assert 0 < most <= 8
    assert 0 < running <= 8
    assert children() == []


async def test_a_call_that_is_given_up_while_it_waits_leaves_no_place_taken() -> None:
    one, two, three = servers(3)

    async with a_pool(processes=1, wait=timedelta(milliseconds=300)) as pool:
        await pool.look(one)
        working = asyncio.ensure_future(pool.call(one, "sleep", {"seconds": 5}, timeout=AMPLE))
        await until(lambda: pool.vitals(HOME, one.server).calls_now)
        waiting = asyncio.ensure_future(pool.call(two, "echo", {}, timeout=AMPLE))
        await until(lambda: pool.vitals(HOME, two.server).phase is Phase.STARTING)
        waiting.cancel()
        await until(lambda: pool.vitals(HOME, two.server).phase is Phase.IDLE)
        working.cancel()
        await together(waiting, working)

        assert said(await pool.call(three, "echo", {"text": "hello"}, timeout=AMPLE)) == "hello"
        assert pool.running() == 1
