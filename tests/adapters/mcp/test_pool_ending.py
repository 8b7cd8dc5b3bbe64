"""When servers are not needed, or we go, nothing of them is left: no child, no child's child."""

import asyncio
import os
import signal
import sys
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from uuid import UUID

import psutil
import pytest
from blockbuster import blockbuster_ctx

from portico.gateway.core.errors import UpstreamBusy, UpstreamDown
from portico.gateway.core.server import FromFile, Http, Stdio
from portico.gateway.core.upstream import Phase
from portico.kernel.ids import SpaceId
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

pytestmark = pytest.mark.timeout(40)

PLAIN = target(launched("plain"))
RUN = """
import asyncio, sys
from tests.adapters.mcp.pools import AMPLE, a_pool, launched, target

async def main() -> None:
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    loop.add_signal_handler(15, stop.set)
    async with a_pool() as pool:
        await pool.call(target(launched("parent", *sys.argv[1:])), "echo", {}, timeout=AMPLE)
        print(pool.vitals(target(launched("parent")).space, "server").process, flush=True)
        await stop.wait()

asyncio.run(main())
"""


async def test_a_server_that_nobody_calls_is_ended_and_started_again_when_somebody_does() -> None:
    async with a_pool(idle=timedelta(milliseconds=200)) as pool:
        first = await pool.call(PLAIN, "where", {}, timeout=AMPLE)
        await until(lambda: not children())
        idle = pool.vitals(HOME, "server")
        second = await pool.call(PLAIN, "where", {}, timeout=AMPLE)

    assert (idle.phase, idle.process, idle.since) == (Phase.IDLE, None, None)
    assert said(first) != said(second)


async def test_a_server_that_is_being_called_is_not_idle() -> None:
    async with a_pool(idle=timedelta(milliseconds=100)) as pool:
        answer = await pool.call(PLAIN, "sleep", {"seconds": 0.6}, timeout=AMPLE)

        assert said(answer) == "woke up"
        assert pool.vitals(HOME, "server").starts == 1


async def test_whoever_is_being_served_when_a_server_is_stopped_is_told() -> None:
    async with a_pool() as pool:
        await pool.look(PLAIN)
        calls = [
            asyncio.ensure_future(pool.call(PLAIN, "sleep", {"seconds": 9}, timeout=AMPLE))
            for _ in range(3)
        ]
        await until(lambda: pool.vitals(HOME, "server").calls_now == 3)
        await pool.stop(HOME, "server")
        outcomes = await together(*calls)

        assert [type(outcome) for outcome in outcomes] == [UpstreamDown] * 3
        assert children() == []


async def test_nothing_blocks_while_servers_are_started_called_and_ended(tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    file.write_text('{"key": "value"}')
    pids = str(tmp_path / "pids")

    async with a_pool() as pool:
        with blockbuster_ctx("portico"):
            parent = launched("parent", pids, "stubborn", KEY=FromFile(str(file), "/key"))
            await pool.call(target(parent), "echo", {}, timeout=AMPLE)
            with pytest.raises(UpstreamDown):
                await pool.look(target(Stdio("no-such-program"), "nobody"))
            with pytest.raises(UpstreamDown):
                await pool.look(target(Http("https://127.0.0.1:9/"), "nowhere"))
            await pool.stop(HOME, "server")

        assert children() == []


async def test_a_space_that_goes_takes_all_that_runs_for_it_and_nothing_of_others() -> None:
    theirs = replace(PLAIN, space=SpaceId(UUID(int=2)))

    async with a_pool() as pool:
        for each in (PLAIN, target(launched("plain"), "second"), theirs):
            await pool.look(each)
        await pool.stop_space(HOME)

        assert pool.running() == 1
        assert pool.vitals(theirs.space, theirs.server).phase is Phase.RUNNING

    await pool.stop_space(HOME)


async def test_a_space_that_goes_waits_for_what_was_about_to_end(tmp_path: Path) -> None:
    pids = tmp_path / "pids"

    async with a_pool() as pool:
        stubborn = target(launched("parent", str(pids), "stubborn"))
        await pool.call(stubborn, "echo", {}, timeout=AMPLE)
        near = int(pids.read_text().split()[0])
        ending = asyncio.create_task(pool.stop(HOME, "server"))
        await asyncio.sleep(0)
        assert lives(near)
        await pool.stop_space(HOME)

        assert not lives(near)
        await ending


@pytest.mark.parametrize("manner", ["gentle", "stubborn"])
async def test_a_servers_children_end_with_it_also_those_that_do_not_want_to(
    tmp_path: Path, manner: str
) -> None:
    pids = tmp_path / "pids"

    async with a_pool() as pool:
        await pool.call(target(launched("parent", str(pids), manner)), "echo", {}, timeout=AMPLE)
        near, far = (int(pid) for pid in pids.read_text().split())
        assert lives(near)
        assert lives(far)
        await pool.stop(HOME, "server")

        await until(lambda: not lives(near))
        await until(lambda: not lives(far))
        assert pool.running() == 0


async def test_a_servers_children_end_also_when_it_was_killed(tmp_path: Path) -> None:
    pids = tmp_path / "pids"

    async with a_pool() as pool:
        await pool.call(target(launched("parent", str(pids))), "echo", {}, timeout=AMPLE)
        near, _ = (int(pid) for pid in pids.read_text().split())
        os.kill(pool.vitals(HOME, "server").process or 0, signal.SIGKILL)
        await until(lambda: not lives(near))
        await until(lambda: pool.running() == 0)


async def test_no_zombies_are_left_of_servers_that_die_of_themselves() -> None:
    async with a_pool() as pool:
        dying = [target(launched("plain"), f"server-{number}") for number in range(10)]
        await together(*(pool.call(each, "die", {}, timeout=AMPLE) for each in dying))
        await until(lambda: pool.running() == 0)

        assert children() == []


async def test_when_the_pool_is_left_nothing_runs_any_more_and_nothing_is_started() -> None:
    async with a_pool() as pool:
        many = [target(launched("plain"), f"server-{number}") for number in range(5)]
        await asyncio.gather(*(pool.look(each) for each in many))
        ours = [child.pid for child in psutil.Process().children(recursive=True)]

    await until(lambda: not any(lives(pid) for pid in ours))  # the warden among them
    with pytest.raises(UpstreamBusy):
        await pool.call(PLAIN, "echo", {}, timeout=AMPLE)
    assert pool.running() == 0
    assert pool.vitals(HOME, "server-1").phase is Phase.IDLE


async def test_a_start_that_is_under_way_when_the_pool_is_left_leaves_nothing() -> None:
    async with a_pool() as pool:
        call = asyncio.ensure_future(
            pool.call(target(launched("hung", "deaf")), "echo", {}, timeout=AMPLE)
        )
        await until(children)

    with pytest.raises(UpstreamDown, match="was stopped"):
        await call
    assert children() == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
async def test_no_server_outlives_portico_however_it_ends(
    tmp_path: Path, number: signal.Signals
) -> None:
    pids = tmp_path / "pids"
    portico = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", RUN, str(pids), "stubborn"),
        stdout=asyncio.subprocess.PIPE,
        cwd=Path(__file__).parents[3],
    )
    assert portico.stdout is not None
    server = int(await portico.stdout.readline())
    near, far = (int(pid) for pid in pids.read_text().split())

    portico.send_signal(number)
    await portico.wait()

    await until(lambda: not lives(server))
    await until(lambda: not lives(near))
    # One that has left its parent's group is found only while Portico itself still lives.
    if number is signal.SIGTERM:
        await until(lambda: not lives(far))
    elif lives(far):
        os.kill(far, signal.SIGKILL)


async def test_the_warden_is_there_again_after_it_was_killed() -> None:
    async with a_pool() as pool:
        one, two = (target(launched("plain"), name) for name in ("one", "two"))
        await pool.look(one)
        (warden,) = _wardens()
        warden.kill()
        await until(lambda: not psutil.pid_exists(warden.pid))
        await pool.look(two)

        assert [other.pid != warden.pid for other in _wardens()] == [True]


def _wardens() -> list[psutil.Process]:
    ours = {child.pid for child in children()}
    return [child for child in psutil.Process().children() if child.pid not in ours]
