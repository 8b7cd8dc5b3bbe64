"""Servers are started when they are needed: once, in their own way, with what is theirs."""

import asyncio
import json
from datetime import timedelta
from pathlib import Path

import pytest

from portico.adapters.mcp.connection_slots import ConnectionSlot, ListChangedNotifier, Pace
from portico.adapters.mcp.pool import UpstreamPool
from portico.adapters.mcp.stdio import Terms
from portico.adapters.telemetry.known_secrets import KnownSecrets
from portico.gateway.core.calls import Phase, ToolResult, UpstreamTarget
from portico.gateway.core.errors import UpstreamBusy, UpstreamDown
from portico.gateway.core.servers import (
    FromEnvironment,
    FromFile,
    Plain,
    ProtocolRevision,
    Stdio,
    Template,
)
from portico.gateway.ports import Upstreams
from portico.kernel.ids import PrincipalId, SpaceId
from tests.adapters.mcp.pools import (
    AMPLE,
    HOME,
    Changes,
    a_pool,
    children,
    launched,
    said,
    target,
    together,
    until,
)
from tests.children import lives

PLAIN = target(launched("plain"))


async def test_nothing_runs_before_it_is_called_and_a_hundred_first_calls_start_one_process(
    pool: UpstreamPool,
) -> None:
    door: Upstreams = pool

    assert door.health(HOME, "server").phase is Phase.IDLE
    assert pool.running() == 0
    assert children() == []

    calls = (door.call(PLAIN, "where", {}, timeout=AMPLE) for _ in range(100))
    answers = await asyncio.gather(*calls)

    assert len({said(answer) for answer in answers}) == 1
    assert door.health(HOME, "server").phase is Phase.RUNNING
    assert [child.pid for child in children()] == [door.health(HOME, "server").process]
    assert pool.health(HOME, "server").starts == 1


async def test_a_start_goes_on_when_the_one_who_wanted_it_has_gone(pool: UpstreamPool) -> None:
    with pytest.raises(UpstreamDown, match="still starting") as gone:
        await pool.call(PLAIN, "echo", {}, timeout=timedelta(milliseconds=1))
    await until(lambda: pool.health(HOME, "server").phase is Phase.RUNNING)
    await pool.call(PLAIN, "echo", {}, timeout=AMPLE)

    assert pool.health(HOME, "server").starts == 1
    assert not gone.value.reached


async def test_a_server_that_ends_at_the_modern_greeting_is_started_again_in_its_own_way(
    pool: UpstreamPool, tmp_path: Path
) -> None:
    """Twice the first time, and from then on it is known; or at once if it was learnt elsewhere."""
    starts, few = tmp_path / "starts", tmp_path / "few"
    old = target(launched("old", str(starts)))
    known = target(launched("old", str(few)), "known", era=ProtocolRevision.LEGACY)

    seen = await pool.look(old)
    await pool.stop(HOME, "server")
    await pool.call(old, "echo", {}, timeout=AMPLE)
    await pool.call(known, "echo", {}, timeout=AMPLE)

    assert seen.protocol_revision is ProtocolRevision.LEGACY
    assert starts.read_text().count("started") == 3
    assert few.read_text().count("started") == 1


async def test_a_server_that_was_thought_to_be_old_and_is_not_is_understood(
    pool: UpstreamPool,
) -> None:
    seen = await pool.look(target(launched("modern"), era=ProtocolRevision.LEGACY))

    assert seen.protocol_revision is ProtocolRevision.MODERN


async def test_a_server_that_leaves_unknown_greetings_alone_is_greeted_in_the_other_way(
    pool: UpstreamPool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("portico.adapters.mcp.transport.Duplex.silence", 0.1)

    seen = await pool.look(target(launched("silent")))

    assert seen.protocol_revision is ProtocolRevision.LEGACY
    assert seen.identity.name == "plain"


async def test_a_server_that_never_greets_is_given_up_and_ended() -> None:
    async with a_pool(start=timedelta(milliseconds=300)) as pool:
        with pytest.raises(UpstreamDown, match=r"had not greeted after 0\.3 s"):
            await pool.call(target(launched("hung", "deaf")), "echo", {}, timeout=AMPLE)
        await until(lambda: not children())

        assert pool.running() == 0


async def test_a_server_that_cannot_start_says_why_without_its_secret() -> None:
    secrets = KnownSecrets()
    crashing = target(launched("crashing", TOKEN=FromEnvironment("TOKEN")))

    async with a_pool(environment={"TOKEN": "s3cr3t-t0ken-1"}, secrets=secrets) as pool:
        with pytest.raises(UpstreamDown) as down:
            await pool.call(crashing, "echo", {}, timeout=AMPLE)
        words = pool.health(HOME, "server").last_words

    assert "exit code 3; it last wrote: cannot log in with ********" in str(down.value)
    assert set(words) == {"cannot log in with ********"}
    assert secrets.clean("s3cr3t-t0ken-1") == "********"


@pytest.mark.parametrize(
    ("launch", "reason", "fix"),
    [
        (Stdio("no-such-program-at-all"), "there is no program", "Install"),
        (Stdio(__file__), "may not be run", "executable"),
        (Stdio("python", folder="/no/such/folder"), "there is no folder", "folder"),
        (Stdio("a\0b"), "cannot be run", "Check its command"),
        (launched("plain", TOKEN=FromEnvironment("NOT_SET")), "NOT_SET is not set", "Set NOT"),
        (
            launched("plain", TOKEN=FromEnvironment("PORTICO_DATABASE__URL")),
            "gives nothing of its own away",
            "whose name",
        ),
        (
            launched("plain", TOKEN=FromFile("/no/such/file.json", "/a")),
            "there is no file",
            "Bring",
        ),
    ],
)
async def test_what_keeps_a_server_from_starting_is_said_with_its_fix(
    launch: Stdio, reason: str, fix: str
) -> None:
    async with a_pool(environment={"PORTICO_DATABASE__URL": "postgres://"}) as pool:
        with pytest.raises(UpstreamDown, match=reason) as down:
            await pool.look(target(launch))

        assert fix in (down.value.fix or "")
        assert not down.value.reached
        assert pool.running() == 0


async def test_a_server_finds_only_what_it_was_given_in_its_environment(tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    file.write_text('{"env": {"KEY": "from the file"}} // mine')
    launch = launched(
        "plain",
        WRITTEN=Plain("here"),
        TOKEN=FromEnvironment("TOKEN"),
        LEVEL=FromEnvironment("LEVEL", "low"),
        KEY=FromFile(str(file), "/env/KEY"),
        HEADER=Template(("Bearer ", FromEnvironment("TOKEN"))),
    )
    ours = {
        "TOKEN": "of ours",
        "PORTICO_DATABASE__PASSWORD": "secret",
        "PGPASSWORD": "secret",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "HTTPS_PROXY": "http://user:secret@proxy",
        "LANG": "C.UTF-8",
        "LC_TIME": "C",
    }
    folder = Stdio(launch.command, launch.arguments, launch.environment, str(tmp_path))

    async with a_pool(environment=ours) as pool:
        answer = await pool.call(target(folder), "environment", {"backwards": True}, timeout=AMPLE)
    found = json.loads(said(answer))

    assert {name: value[::-1] for name, value in found["environment"].items()} == {
        "PATH": "/usr/bin:/bin",
        "HOME": "/",
        "LANG": "C.UTF-8",
        "LC_TIME": "C",
        "WRITTEN": "here",
        "TOKEN": "of ours",
        "LEVEL": "low",
        "KEY": "from the file",
        "HEADER": "Bearer of ours",
    }
    assert found["folder"] == str(tmp_path)


async def test_a_value_in_a_file_is_read_anew_at_each_start(
    pool: UpstreamPool, tmp_path: Path
) -> None:
    file = tmp_path / "mcp.json"
    keyed = target(launched("plain", KEY=FromFile(str(file), "/key")))

    found = []
    for value in ("first", "second"):
        file.write_text(json.dumps({"key": value}))
        answer = await pool.call(keyed, "environment", {}, timeout=AMPLE)
        found.append(json.loads(said(answer))["environment"]["KEY"])
        await pool.stop(HOME, "server")

    assert found == ["first", "second"]


async def test_another_launch_is_another_process_and_the_former_serves_to_the_end(
    pool: UpstreamPool,
) -> None:
    first = await pool.call(PLAIN, "where", {}, timeout=AMPLE)
    moved = target(launched("plain", "--more"), pin="another")
    serving = asyncio.ensure_future(pool.call(PLAIN, "sleep", {"seconds": 0.3}, timeout=AMPLE))
    await until(lambda: pool.health(HOME, "server").calls_now)

    second = await pool.call(moved, "where", {}, timeout=AMPLE)

    assert said(await serving) == "woke up"
    await until(lambda: not lives(int(said(first))))
    assert pool.health(HOME, "server").process == int(said(second))
    await until(lambda: pool.running() == 1)


async def test_a_server_that_cannot_start_is_left_alone_for_a_while_and_then_tried_again(
    pool: UpstreamPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("portico.adapters.mcp.connection_slots._FIRST", 3_600.0)
    monkeypatch.setattr("portico.adapters.mcp.connection_slots._LONGEST", 3_600.0)
    crashing = target(launched("crashing"), era=ProtocolRevision.LEGACY)

    for _ in range(2):
        with pytest.raises(UpstreamDown):
            await pool.call(crashing, "echo", {}, timeout=AMPLE)
    resting = pool.health(HOME, "server")
    with pytest.raises(UpstreamDown, match="exit code 3"):
        await pool.call(crashing, "echo", {}, timeout=AMPLE)
    still = pool.health(HOME, "server").starts
    [station] = pool._stations.of(HOME, "server")
    station.breaker.until = 0.0  # it has rested for long enough
    assert pool.health(HOME, "server").phase is Phase.IDLE
    await together(*(pool.call(crashing, "echo", {}, timeout=AMPLE) for _ in range(10)))
    probed = pool.health(HOME, "server").starts
    await pool.stop(HOME, "server")
    forgiven = pool.health(HOME, "server").phase

    assert (resting.phase, resting.starts, still) == (Phase.RESTING, 2, 2)
    assert resting.until is not None
    assert (probed, forgiven) == (3, Phase.IDLE)


FORMER = target(launched("plain"), pin="former")
LATER = target(launched("plain", "--more"), pin="later")


async def _starting(pool: UpstreamPool) -> "asyncio.Task[ToolResult]":
    call = asyncio.ensure_future(pool.call(FORMER, "where", {}, timeout=AMPLE))
    await asyncio.sleep(0)  # no longer, or it may have started
    assert pool.health(HOME, "server").phase is Phase.STARTING
    return call


async def test_who_waits_for_a_launch_that_is_replaced_is_served_and_it_ends(
    pool: UpstreamPool,
) -> None:
    former = await _starting(pool)
    second = asyncio.ensure_future(pool.call(FORMER, "where", {}, timeout=AMPLE))
    await asyncio.sleep(0)
    later = await pool.call(LATER, "where", {}, timeout=AMPLE)
    process = int(said(await former))

    assert said(await second) == f"{process}"
    await until(lambda: not lives(process))
    assert pool.health(HOME, "server").process == int(said(later))
    await until(lambda: pool.running() == 1)


async def test_a_launch_that_was_replaced_and_is_not_waited_for_any_more_ends(
    pool: UpstreamPool,
) -> None:
    former = await _starting(pool)
    later = asyncio.ensure_future(pool.call(LATER, "where", {}, timeout=AMPLE))
    await asyncio.sleep(0)
    former.cancel()
    await together(former)
    process = int(said(await later))

    await until(lambda: [child.pid for child in children()] == [process])
    await until(lambda: pool.running() == 1)


async def test_to_stop_a_server_stops_its_former_launch_too(pool: UpstreamPool) -> None:
    former = await _starting(pool)
    later = asyncio.ensure_future(pool.call(LATER, "echo", {}, timeout=AMPLE))
    await asyncio.sleep(0)
    await pool.stop(HOME, "server")
    outcomes = await together(former, later)

    assert [type(outcome) for outcome in outcomes] == [UpstreamDown] * 2
    await until(lambda: not children())
    assert pool.running() == 0


async def test_a_former_launch_that_still_serves_is_stopped_with_its_server(
    pool: UpstreamPool,
) -> None:
    await pool.look(FORMER)
    former = asyncio.ensure_future(pool.call(FORMER, "sleep", {"seconds": 20}, timeout=AMPLE))
    await asyncio.sleep(0)
    await pool.call(LATER, "echo", {}, timeout=AMPLE)
    await pool.stop(HOME, "server")

    assert [type(outcome) for outcome in await together(former)] == [UpstreamDown]
    assert children() == []


async def test_who_waits_for_a_start_that_is_stopped_before_it_began_is_told_at_once(
    pool: UpstreamPool,
) -> None:
    call = asyncio.ensure_future(pool.call(FORMER, "echo", {}, timeout=timedelta(hours=1)))
    await asyncio.sleep(0)
    assert pool.health(HOME, "server").phase is Phase.STARTING
    await pool.stop(HOME, "server")

    with pytest.raises(UpstreamDown, match="it was stopped"):
        await call


def servers(many: int) -> list[UpstreamTarget]:
    return [target(launched("plain"), f"server-{number}") for number in range(many)]


async def test_who_has_not_been_needed_for_longest_makes_way() -> None:
    one, two, three = servers(3)

    async with a_pool(processes=2) as pool:
        for each in (one, two, one, three):
            await pool.call(each, "echo", {}, timeout=AMPLE)

        phases = [pool.health(HOME, each.server).phase for each in (one, two, three)]
        assert phases == [Phase.RUNNING, Phase.IDLE, Phase.RUNNING]
        assert pool.running() == len(children()) == 2


async def test_while_all_are_busy_one_waits_a_moment_and_is_then_told() -> None:
    one, two = servers(2)

    async with a_pool(processes=1, wait=timedelta(milliseconds=200)) as pool:
        await pool.look(one)
        working = asyncio.ensure_future(pool.call(one, "sleep", {"seconds": 60}, timeout=AMPLE))
        await until(lambda: pool.health(HOME, one.server).calls_now)
        with pytest.raises(UpstreamBusy, match="All 1 processes are at work"):
            await pool.call(two, "echo", {}, timeout=AMPLE)
        working.cancel()

        assert pool.health(HOME, two.server).phase is Phase.IDLE


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

    async with a_pool(processes=1, wait=timedelta(seconds=2)) as pool:
        await pool.look(one)
        working = asyncio.ensure_future(pool.call(one, "sleep", {"seconds": 60}, timeout=AMPLE))
        await until(lambda: pool.health(HOME, one.server).calls_now)
        waiting = asyncio.ensure_future(pool.call(two, "echo", {}, timeout=AMPLE))
        await asyncio.sleep(0)
        assert pool.health(HOME, two.server).phase is Phase.STARTING
        waiting.cancel()
        await until(lambda: pool.health(HOME, two.server).phase is Phase.IDLE)
        working.cancel()
        await together(waiting, working)

        assert said(await pool.call(three, "echo", {"text": "hello"}, timeout=AMPLE)) == "hello"
        assert pool.running() == 1


RESTLESS = target(launched("restless"))
TOLD = (HOME, "server")


class Looker(Changes):
    """Looks at once, as the gateway does."""

    def __init__(self, pool: list[UpstreamPool], server: UpstreamTarget) -> None:
        super().__init__()
        self._pool = pool
        self._server = server

    async def __call__(self, space: SpaceId, server: str, login: PrincipalId | None) -> None:
        await super().__call__(space, server, login)
        await self._pool[0].look(self._server)


async def test_a_server_that_a_call_has_started_is_looked_at_once() -> None:
    entered: list[UpstreamPool] = []
    changes = Looker(entered, PLAIN)

    async with a_pool(changed=changes) as pool:
        entered.append(pool)
        await pool.call(PLAIN, "echo", {}, timeout=AMPLE)
        await until(lambda: changes.told)
        await pool.call(PLAIN, "sleep", {"seconds": 0.2}, timeout=AMPLE)

        assert changes.told == [TOLD]


async def test_a_server_that_is_started_again_is_looked_at_again() -> None:
    changes = Changes()

    async with a_pool(changed=changes) as pool:
        await pool.look(PLAIN)
        with pytest.raises(UpstreamDown):
            await pool.call(PLAIN, "die", {}, timeout=AMPLE)
        before = list(changes.told)
        await pool.call(PLAIN, "echo", {}, timeout=AMPLE)
        await until(lambda: changes.told)

    assert before == []
    assert changes.told == [TOLD]


async def test_a_look_that_started_the_server_is_enough_and_of_one_that_ended_nothing_is_told() -> (
    None
):
    changes = Changes()
    telling = ListChangedNotifier(changes, Terms(settle=timedelta(0)), asyncio.ensure_future)
    station = ConnectionSlot(PLAIN)

    async with a_pool(changed=changes) as pool:
        await together(pool.look(PLAIN), pool.call(PLAIN, "sleep", {"seconds": 0.3}, timeout=AMPLE))
    telling(station)
    assert station.telling is not None
    await station.telling

    assert (changes.told, station.changes) == ([], 0)


async def test_a_look_that_was_given_up_is_not() -> None:
    changes = Changes()

    async with a_pool(changed=changes) as pool:
        look = asyncio.ensure_future(pool.look(target(launched("hung", "listless"))))
        await until(lambda: pool.health(HOME, "server").phase is Phase.RUNNING)
        look.cancel()
        await together(look)
        await until(lambda: changes.told)


async def test_to_look_is_not_to_use() -> None:
    async with a_pool(idle=timedelta(milliseconds=400)) as pool:
        await pool.call(PLAIN, "echo", {}, timeout=AMPLE)
        for _ in range(100):
            if pool.health(HOME, "server").phase is Phase.IDLE:
                break
            await pool.look(PLAIN)
            await asyncio.sleep(0.05)

        assert pool.health(HOME, "server").starts == 1
        assert pool.health(HOME, "server").phase is Phase.IDLE


async def test_a_server_that_changes_whenever_it_is_looked_at_is_put_to_sleep_and_stays_so() -> (
    None
):
    entered: list[UpstreamPool] = []
    changes = Looker(entered, RESTLESS)

    async with a_pool(changed=changes, idle=timedelta(milliseconds=600)) as pool:
        entered.append(pool)
        await pool.call(RESTLESS, "echo", {}, timeout=AMPLE)
        await until(lambda: changes.told)
        await until(lambda: pool.health(HOME, "server").phase is Phase.IDLE)
        await asyncio.sleep(0.5)

        assert pool.health(HOME, "server").starts == 1


async def test_a_server_that_lists_well_and_hangs_when_it_is_called_is_left_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("portico.adapters.mcp.connection_slots._FIRST", 60.0)
    entered: list[UpstreamPool] = []
    hung = target(launched("hung"))
    changes = Looker(entered, hung)

    async with a_pool(changed=changes) as pool:
        entered.append(pool)
        while pool.health(HOME, "server").phase is not Phase.RESTING:
            await together(pool.call(hung, "echo", {}, timeout=timedelta(milliseconds=200)))

        assert pool.health(HOME, "server").starts == 2

    assert len(changes.told) == 2


async def test_whoever_cannot_be_told_of_one_change_is_told_of_the_next() -> None:
    class Failing(Changes):
        async def __call__(self, space: SpaceId, server: str, login: PrincipalId | None) -> None:
            await super().__call__(space, server, login)
            if len(self.told) == 1:
                await pool.call(PLAIN, "grow", {}, timeout=AMPLE)
                raise RuntimeError("whoever is told is broken")

    changes = Failing()

    async with a_pool(changed=changes) as pool:
        await pool.look(PLAIN)
        await pool.call(PLAIN, "grow", {}, timeout=AMPLE)
        await until(lambda: len(changes.told) == 2)
        await asyncio.sleep(0.1)
        await pool.call(PLAIN, "grow", {}, timeout=AMPLE)
        await until(lambda: len(changes.told) == 3)


def test_changes_that_follow_each_other_are_looked_at_ever_less_often() -> None:
    pace, now, pauses = Pace(), 1_000.0, []
    for _ in range(11):
        now += pace.pause(now, 1.0)
        pauses.append(pace.last)
        pace.listed(now)
        now += 3.0

    assert pauses == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]
    assert pace.pause(now + 3_000, 1.0) == 1.0
