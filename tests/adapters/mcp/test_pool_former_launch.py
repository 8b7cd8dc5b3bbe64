"""A launch that was replaced while it started: who waits for it is served, and then it ends."""

import asyncio
from datetime import timedelta

import pytest

from portico.adapters.mcp.pool import UpstreamPool
from portico.gateway.core.call import Answer
from portico.gateway.core.errors import UpstreamDown
from portico.gateway.core.upstream import Phase
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
from tests.children import lives

pytestmark = pytest.mark.timeout(30)

FORMER = target(launched("plain"), pin="former")
LATER = target(launched("plain", "--more"), pin="later")


async def _starting(pool: UpstreamPool) -> "asyncio.Task[Answer]":
    call = asyncio.ensure_future(pool.call(FORMER, "where", {}, timeout=AMPLE))
    await until(lambda: pool.vitals(HOME, "server").phase is Phase.STARTING)
    return call


async def test_who_waits_for_a_launch_that_is_replaced_is_served_and_it_ends() -> None:
    async with a_pool() as pool:
        former = await _starting(pool)
        second = asyncio.ensure_future(pool.call(FORMER, "where", {}, timeout=AMPLE))
        await asyncio.sleep(0)
        later = await pool.call(LATER, "where", {}, timeout=AMPLE)
        process = int(said(await former))

        assert said(await second) == f"{process}"
        await until(lambda: not lives(process))
        assert pool.vitals(HOME, "server").process == int(said(later))
        await until(lambda: pool.running() == 1)


async def test_a_launch_that_was_replaced_and_is_not_waited_for_any_more_ends() -> None:
    async with a_pool() as pool:
        former = await _starting(pool)
        later = asyncio.ensure_future(pool.call(LATER, "where", {}, timeout=AMPLE))
        await asyncio.sleep(0)
        former.cancel()
        await together(former)
        process = int(said(await later))

        await until(lambda: [child.pid for child in children()] == [process])
        await until(lambda: pool.running() == 1)


async def test_to_stop_a_server_stops_its_former_launch_too() -> None:
    async with a_pool() as pool:
        former = await _starting(pool)
        later = asyncio.ensure_future(pool.call(LATER, "echo", {}, timeout=AMPLE))
        await asyncio.sleep(0)
        await pool.stop(HOME, "server")
        outcomes = await together(former, later)

        assert [type(outcome) for outcome in outcomes] == [UpstreamDown] * 2
        assert children() == []
        assert pool.running() == 0


async def test_a_former_launch_that_still_serves_is_stopped_with_its_server() -> None:
    async with a_pool() as pool:
        await pool.look(FORMER)
        former = asyncio.ensure_future(pool.call(FORMER, "sleep", {"seconds": 20}, timeout=AMPLE))
        await asyncio.sleep(0)
        await pool.call(LATER, "echo", {}, timeout=AMPLE)
        await pool.stop(HOME, "server")

        assert [type(outcome) for outcome in await together(former)] == [UpstreamDown]
        assert children() == []


async def test_who_waits_for_a_start_that_is_stopped_before_it_began_is_told_at_once() -> None:
    async with a_pool() as pool:
        call = asyncio.ensure_future(pool.call(FORMER, "echo", {}, timeout=timedelta(hours=1)))
        await asyncio.sleep(0)
        assert pool.vitals(HOME, "server").phase is Phase.STARTING
        await pool.stop(HOME, "server")

        with pytest.raises(UpstreamDown, match="it was stopped"):
            await call
