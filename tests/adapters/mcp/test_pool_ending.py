"""When servers are not needed, or we go, nothing of them is left: no child, no child's child."""

import asyncio
import os
import signal
import sys
import time
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from uuid import UUID

import psutil
import pytest
from blockbuster import blockbuster_ctx

from portico.adapters.mcp.pool import UpstreamPool
from portico.adapters.mcp.processes import StderrTail
from portico.adapters.mcp.secrets import Command
from portico.adapters.mcp.stdio import Starting, Terms, Watch, start
from portico.gateway.core.calls import Phase, ToolResult
from portico.gateway.core.errors import UpstreamBusy, UpstreamDown, UpstreamTimedOut
from portico.gateway.core.servers import FromFile, Http, Stdio
from portico.kernel.ids import SpaceId
from tests.adapters.mcp.pools import (
    AMPLE,
    HOME,
    Caller,
    Changes,
    a_pool,
    children,
    is_warden,
    launched,
    said,
    target,
    together,
    until,
)
from tests.children import children as descendants
from tests.children import lives

PLAIN = target(launched("plain"))
RUN = """
import asyncio, sys
from tests.adapters.mcp.pools import AMPLE, a_pool, launched, target

async def main() -> None:
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    loop.add_signal_handler(15, stop.set)
    async with a_pool() as pool:
        await pool.call(target(launched("parent", *sys.argv[1:])), "echo", {}, timeout=AMPLE)
        print(pool.health(target(launched("parent")).space, "server").process, flush=True)
        await stop.wait()

asyncio.run(main())
"""


async def test_a_server_that_nobody_calls_is_ended_and_started_again_when_somebody_does() -> None:
    async with a_pool(idle=timedelta(milliseconds=200)) as pool:
        first = await pool.call(PLAIN, "where", {}, timeout=AMPLE)
        await until(lambda: not children())
        idle = pool.health(HOME, "server")
        second = await pool.call(PLAIN, "where", {}, timeout=AMPLE)

    assert (idle.phase, idle.process, idle.since) == (Phase.IDLE, None, None)
    assert said(first) != said(second)


async def test_a_server_that_is_being_called_is_not_idle() -> None:
    async with a_pool(idle=timedelta(milliseconds=100)) as pool:
        answer = await pool.call(PLAIN, "sleep", {"seconds": 0.6}, timeout=AMPLE)

        assert said(answer) == "woke up"
        assert pool.health(HOME, "server").starts == 1


async def test_whoever_is_being_served_when_a_server_is_stopped_is_told(pool: UpstreamPool) -> None:
    await pool.look(PLAIN)
    calls = [
        asyncio.ensure_future(pool.call(PLAIN, "sleep", {"seconds": 60}, timeout=AMPLE))
        for _ in range(3)
    ]
    await until(lambda: pool.health(HOME, "server").calls_now == 3)
    await pool.stop(HOME, "server")
    outcomes = await together(*calls)

    assert [type(outcome) for outcome in outcomes] == [UpstreamDown] * 3
    assert children() == []


async def test_nothing_blocks_while_servers_are_started_called_and_ended(
    pool: UpstreamPool, tmp_path: Path
) -> None:
    file = tmp_path / "keys.json"
    file.write_text('{"key": "value"}')
    pids = str(tmp_path / "pids")

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
        assert pool.health(theirs.space, theirs.server).phase is Phase.RUNNING

    await pool.stop_space(HOME)


async def test_a_space_that_goes_waits_for_what_was_about_to_end(
    pool: UpstreamPool, tmp_path: Path
) -> None:
    pids = tmp_path / "pids"

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
    pool: UpstreamPool, tmp_path: Path, manner: str
) -> None:
    pids = tmp_path / "pids"

    await pool.call(target(launched("parent", str(pids), manner)), "echo", {}, timeout=AMPLE)
    near, far = (int(pid) for pid in pids.read_text().split())
    assert lives(near)
    assert lives(far)
    await pool.stop(HOME, "server")

    await until(lambda: not lives(near))
    await until(lambda: not lives(far))
    assert pool.running() == 0


async def test_a_servers_children_end_also_when_it_was_killed(
    pool: UpstreamPool, tmp_path: Path
) -> None:
    pids = tmp_path / "pids"

    await pool.call(target(launched("parent", str(pids))), "echo", {}, timeout=AMPLE)
    near, _ = (int(pid) for pid in pids.read_text().split())
    os.kill(pool.health(HOME, "server").process or 0, signal.SIGKILL)
    await until(lambda: not lives(near))
    await until(lambda: pool.running() == 0)


async def test_no_zombies_are_left_of_servers_that_die_of_themselves(pool: UpstreamPool) -> None:
    dying = [target(launched("plain"), f"server-{number}") for number in range(10)]
    await together(*(pool.call(each, "die", {}, timeout=AMPLE) for each in dying))
    await until(lambda: pool.running() == 0)

    assert children() == []


async def test_when_the_pool_is_left_nothing_runs_any_more_and_nothing_is_started() -> None:
    async with a_pool() as pool:
        many = [target(launched("plain"), f"server-{number}") for number in range(5)]
        await asyncio.gather(*(pool.look(each) for each in many))
        ours = [child.pid for child in descendants()]

    await until(lambda: not any(lives(pid) for pid in ours))  # the warden among them
    with pytest.raises(UpstreamBusy):
        await pool.call(PLAIN, "echo", {}, timeout=AMPLE)
    assert pool.running() == 0
    assert pool.health(HOME, "server-1").phase is Phase.IDLE


async def test_a_start_that_is_under_way_when_the_pool_is_left_leaves_nothing() -> None:
    async with a_pool() as pool:
        hung = target(launched("hung", "deaf"))
        call = asyncio.ensure_future(pool.call(hung, "echo", {}, timeout=AMPLE))
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


async def test_the_warden_is_there_again_after_it_was_killed(pool: UpstreamPool) -> None:
    one, two = (target(launched("plain"), name) for name in ("one", "two"))
    await pool.look(one)
    (warden,) = _wardens()
    warden.kill()
    await until(lambda: not psutil.pid_exists(warden.pid))
    await pool.look(two)

    assert [other.pid != warden.pid for other in _wardens()] == [True]


def _wardens() -> list[psutil.Process]:
    return [child for child in psutil.Process().children() if is_warden(child)]


ROOT = Path(__file__).parents[3]
PARENT = "from tests.adapters.mcp.servers.odd import parent; parent()"


async def test_an_end_that_is_cancelled_half_way_ends_the_servers_children_too(
    tmp_path: Path,
) -> None:
    pids, words = tmp_path / "pids", StderrTail()
    words.mark_restarted()
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    arguments = ("-S", "-c", PARENT, str(pids), "stubborn")
    command = Command(sys.executable, arguments, environment, None, frozenset())
    server = await start(
        Starting(command, environment, None, Watch()), words, Terms(grace=timedelta(seconds=20))
    )
    await until(lambda: pids.exists() and len(pids.read_text().split()) == 2)
    family = [int(pid) for pid in pids.read_text().split()]

    ending = asyncio.ensure_future(server.close())
    await asyncio.sleep(1)  # it has been asked to end, and does not want to
    still = [lives(pid) for pid in family]
    ending.cancel()
    await asyncio.wait([ending])

    assert still == [True, True]
    await until(lambda: not any(map(lives, family)))


SOON = timedelta(milliseconds=150)


async def test_a_child_that_is_killed_in_a_call_is_down_and_the_next_call_starts_it_anew(
    pool: UpstreamPool,
) -> None:
    first = await pool.call(PLAIN, "where", {}, timeout=AMPLE)
    calls = [
        asyncio.ensure_future(pool.call(PLAIN, "sleep", {"seconds": 60}, timeout=AMPLE))
        for _ in range(3)
    ]
    await until(lambda: pool.health(HOME, "server").calls_now == 3)
    os.kill(int(said(first)), signal.SIGKILL)
    outcomes = await together(*calls)
    second = await pool.call(PLAIN, "where", {}, timeout=AMPLE)

    assert [type(outcome) for outcome in outcomes] == [UpstreamDown] * 3
    assert all(outcome.reached for outcome in outcomes if isinstance(outcome, UpstreamDown))
    assert "SIGKILL" in str(outcomes[0])
    assert said(first) != said(second)


async def test_what_a_server_prints_logs_and_says_last_is_kept_for_people(
    pool: UpstreamPool,
) -> None:
    caller = Caller()

    await pool.call(PLAIN, "print", {"words": "hello, I am not JSON"}, timeout=AMPLE)
    await pool.call(PLAIN, "log", {"words": "well"}, timeout=AMPLE, line=caller)
    words = pool.health(HOME, "server").last_words
    with pytest.raises(UpstreamDown, match="exit code 7; it last wrote: farewell"):
        await pool.call(PLAIN, "die", {"words": "farewell"}, timeout=AMPLE)

    assert words[-2:] == ("(not a message) hello, I am not JSON", "info: well")
    assert caller.logged == [{"level": "info", "data": "well"}]


async def test_a_server_that_dies_of_every_call_is_left_alone_from_the_second_on(
    pool: UpstreamPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("portico.adapters.mcp.connection_slots._FIRST", 60.0)
    for _ in range(2):
        with pytest.raises(UpstreamDown):
            await pool.call(PLAIN, "die", {}, timeout=AMPLE)
    with pytest.raises(UpstreamDown) as resting:
        await pool.call(PLAIN, "echo", {}, timeout=AMPLE)

    assert not resting.value.reached
    assert pool.health(HOME, "server").phase is Phase.RESTING
    assert pool.health(HOME, "server").starts == 2


async def test_a_call_that_takes_too_long_is_given_up_and_the_server_told(
    pool: UpstreamPool,
) -> None:
    await pool.look(PLAIN)
    with pytest.raises(UpstreamTimedOut) as late:
        await pool.call(PLAIN, "sleep", {"seconds": 30}, timeout=SOON)
    # The server sleeps no longer than until it is told: else this would have to wait.
    cancelled = await pool.call(PLAIN, "cancelled", {}, timeout=AMPLE)

    assert (late.value.ref, late.value.seconds) == ("server.sleep", 0.15)
    assert said(cancelled) != "[]"


async def test_a_server_that_hangs_delays_nobody_else(pool: UpstreamPool) -> None:
    hung = target(launched("hung"), "hung")

    waiting = [asyncio.ensure_future(pool.call(hung, "echo", {}, timeout=AMPLE)) for _ in range(50)]
    await until(lambda: pool.health(HOME, "hung").phase is Phase.RUNNING)
    for number in range(50):
        answer = await pool.call(PLAIN, "echo", {"text": f"{number}"}, timeout=AMPLE)
        assert said(answer) == f"{number}"

    assert not any(call.done() for call in waiting)
    for call in waiting:
        call.cancel()
    await together(*waiting)


async def test_a_server_that_has_not_said_a_word_to_three_calls_is_started_anew(
    pool: UpstreamPool,
) -> None:
    hung = target(launched("hung"))

    await pool.look(hung)
    process = pool.health(HOME, "server").process
    for _ in range(3):
        with pytest.raises(UpstreamTimedOut):
            await pool.call(hung, "echo", {}, timeout=SOON)
    await until(lambda: not lives(process or 0))
    await pool.look(hung)

    assert pool.health(HOME, "server").starts == 2


async def test_a_server_that_is_slow_but_speaks_is_not_taken_to_hang(pool: UpstreamPool) -> None:
    await pool.look(PLAIN)
    for _ in range(3):
        late = pool.call(PLAIN, "sleep", {"seconds": 60}, timeout=timedelta(seconds=1))
        await together(late, pool.call(PLAIN, "echo", {}, timeout=AMPLE))

    assert pool.health(HOME, "server").starts == 1


@pytest.mark.parametrize("where", ["stdout", "stderr"])
async def test_a_server_that_talks_without_end_still_answers_and_leaves_us_room(
    pool: UpstreamPool, where: str
) -> None:
    flooding = target(launched("flooding", where), "flooding")

    answer = await pool.call(flooding, "echo", {"text": "through"}, timeout=AMPLE)
    before = time.process_time()
    began = time.monotonic()
    await asyncio.sleep(1.0)
    used = (time.process_time() - before) / (time.monotonic() - began)
    words = pool.health(HOME, "flooding").last_words

    assert said(answer) == "through"
    assert used < 0.5
    assert len(words) <= 201
    assert max(len(word) for word in words) <= 2_000


async def test_an_answer_that_is_too_long_harms_nobody_but_who_asked_for_it() -> None:
    async with a_pool(largest=1_000_000) as pool:
        where = await pool.call(PLAIN, "where", {}, timeout=AMPLE)
        for _ in range(3):
            long, other = await together(
                pool.call(PLAIN, "big", {"size": 3_000_000}, timeout=AMPLE),
                pool.call(PLAIN, "sleep", {"seconds": 0.2}, timeout=AMPLE),
            )
            assert isinstance(long, UpstreamDown)
            assert "its answer is too long" in str(long)
            assert isinstance(other, ToolResult)
        still = await pool.call(PLAIN, "where", {}, timeout=AMPLE)

    assert said(where) == said(still)


async def test_a_message_without_an_end_ends_its_server() -> None:
    endless = target(launched("flooding"))

    async with a_pool(largest=1_000_000) as pool:
        with pytest.raises(UpstreamDown, match="too long"):
            await pool.call(endless, "endless", {}, timeout=AMPLE)
        await until(lambda: not children())


async def test_a_long_answer_and_many_long_questions_at_once_all_arrive(
    pool: UpstreamPool,
) -> None:
    many = [{"text": f"{number}", "more": "y" * 3_900_000} for number in range(7)]

    long = await pool.call(PLAIN, "big", {"size": 5_000_000}, timeout=AMPLE)
    answers = await together(*(pool.call(PLAIN, "echo", each, timeout=AMPLE) for each in many))

    assert len(said(long)) == 5_000_000
    assert [said(each) for each in answers if isinstance(each, ToolResult)] == [*"0123456"]


async def test_words_of_change_are_told_once_for_many() -> None:
    changes = Changes()

    async with a_pool(changed=changes) as pool:
        await pool.look(PLAIN)
        await pool.call(PLAIN, "grow", {"times": 100}, timeout=AMPLE)
        await until(lambda: changes.told)
        seen = await pool.look(PLAIN)

    assert changes.told == [(HOME, "server")]
    assert seen.tools[-1]["name"] == "new"
