"""Many clients that come, and are killed, over more servers than may run at once.

Warm-up is over when the gateway holds what it will always hold: each server has been started once,
as many sessions have been left behind as one key may have open, and a tenth of the crowd has gone.
Memory then is the median over the next tenth of the sessions, against that over the last tenth.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

import httpx2
import pytest

from portico.adapters.mcp.stdio import Child
from tests.installation import Installation, installation
from tests.real_servers.catalogue import SERVERS
from tests.real_servers.gateway import Gateway, echo, script_command, write_plan
from tests.real_servers.install import install
from tests.real_servers.watching import Memory, Sample, Watching, eventually
from tests.real_servers.world import World, world
from tests.scenarios.session_clients import Crowd, Tool

FULL_SIZE = bool(os.environ.get("PORTICO_PROOF"))
SESSIONS = 2_000 if FULL_SIZE else 80
LEFT_BEHIND = 150
"""Sessions of the warm-up; the gateway keeps 128 of one key."""
PROCESSES = 12
IDLE_AFTER = 10
MOST_GROWTH = 1.05
FROM_REGISTRIES: Mapping[str, Tool] = {
    "everything": Tool("everything.echo", "", {"message": "TOKEN"}, "Echo: TOKEN"),
    "memory": Tool("memory.search_nodes", "", {"query": "TOKEN"}, "entities"),
    "filesystem": Tool(
        "filesystem.read_text_file", "", {"path": "{world}/note.txt"}, "The heron stands"
    ),
    "sequential-thinking": Tool(
        "sequential-thinking.sequentialthinking",
        "",
        {"thought": "TOKEN", "nextThoughtNeeded": False, "thoughtNumber": 1, "totalThoughts": 1},
        "thoughtNumber",
    ),
    "time": Tool(
        "time.convert_time",
        "",
        {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"},
        "21:00",
    ),
    "sqlite": Tool("sqlite.read_query", "", {"query": "SELECT 'TOKEN' AS it"}, "TOKEN"),
}
REAL: Mapping[str, Tool] = FROM_REGISTRIES if FULL_SIZE else {}
SCRIPTED = 20 - len(REAL) if FULL_SIZE else 16

pytestmark = [
    pytest.mark.scenario,
    pytest.mark.postgres,
    pytest.mark.timeout(3600 if FULL_SIZE else 600),
]


@pytest.fixture
def house() -> Iterator[Installation]:
    with installation() as made:
        for name, value in (("processes", PROCESSES), ("idle_after", IDLE_AFTER)):
            said = made.run("config", "set", f"gateway.{name}", str(value))
            assert said.code == 0, said.err
        yield made


@pytest.fixture
def around(house: Installation) -> Iterator[World]:
    with world(house.home.parent / "world") as made:
        yield made


def add_small(gateway: Gateway, around: World, mark: str, count: int) -> list[str]:
    names = [f"small-{number}" for number in range(count)]
    for name in names:
        plan = {"name": name, "tools": [echo(f"{name}_echo"), echo(f"{name}_wait")]}
        path = write_plan(around.folder / f"{name}.json", plan)
        gateway.add(
            name, script_command(path), environment={"SOAK_MARK": mark}, folder=around.folder
        )
    gateway.approve(*names)
    return names


def add_servers(gateway: Gateway, around: World, mark: str) -> list[Tool]:
    """Small ones of ours, at full size six from the registries; the tools that will be called."""
    names = add_small(gateway, around, mark, SCRIPTED)
    real = [server for server in SERVERS if server.name in REAL]
    installed = install({server.shelf for server in real})
    for server in real:
        gateway.add(
            server.name,
            [*installed.command(server), *around.fill(server.arguments)],
            environment={**around.fill(server.environment), "SOAK_MARK": mark},
            folder=around.folder,
        )
    gateway.approve(*REAL)
    wanted = [
        *(Tool(f"{n}.{n}_echo", "", {"text": "TOKEN"}, "TOKEN") for n in names),
        *(Tool(f"{n}.{n}_wait", "", {"text": "TOKEN", "seconds": 0.3}, "TOKEN") for n in names),
        *(replace(tool, arguments=around.fill(tool.arguments)) for tool in REAL.values()),
    ]
    return [replace(tool, verb=gateway.verb(tool.name)) for tool in wanted]


def attend(crowd: Crowd, watching: Watching) -> dict[str, int]:
    """Runs the crowd to its end; `watching` learns how far it is."""
    with subprocess.Popen(
        [sys.executable, "-m", "tests.scenarios.session_clients"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as clients:
        assert clients.stdin is not None
        assert clients.stdout is not None
        clients.stdin.write(f"{crowd.text()}\n")
        clients.stdin.close()
        for line in clients.stdout:
            if line.startswith("done "):
                watching.done = int(line.split()[1])
            else:
                ended: dict[str, int] = json.loads(line)
    return ended


async def leave_behind(gateway: Gateway, count: int) -> None:
    """Sessions of the older protocol that nobody says goodbye to."""
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}}
    hello["clientInfo"] = {"name": "gone", "version": "1"}
    headers = {
        "Authorization": f"Bearer {gateway.house.key}",
        "Accept": "application/json, text/event-stream",
    }
    message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}
    async with httpx2.AsyncClient(headers=headers) as client:
        for _ in range(count):
            answered = await client.post(f"{gateway.house.url}/mcp", json=message)
            assert answered.is_success, answered.text


def troubles(house: Installation) -> list[str]:
    """What broke, except that a client went away in the middle of its request."""
    broken = (line for line in house.log.splitlines() if "Traceback" in line)
    return [line for line in broken if "ClientDisconnect" not in line]


def report(
    ended: Mapping[str, int], watching: Watching, starts: int, memory: tuple[Memory, Memory]
) -> str:
    warm, last = memory
    return (
        f"\ngateway soak: {SESSIONS} sessions, {ended['finished']} went to their end, "
        f"{ended['killed']} were killed, {ended['failed']} failed; {SCRIPTED + len(REAL)} servers, "
        f"started {starts} times, at most {watching.most_servers} at once of {PROCESSES} allowed; "
        f"after warm-up "
        f"RSS {warm.resident / 1e6:.0f} -> {last.resident / 1e6:.0f} MB "
        f"({last.resident / warm.resident - 1:+.1%}), "
        f"of it anonymous {warm.own / 1e6:.0f} -> {last.own / 1e6:.0f} MB "
        f"({last.own / warm.own - 1:+.1%})"
    )


@dataclass(frozen=True)
class Soaked:
    ended: Mapping[str, int]
    watching: Watching
    starts: int
    left: Sample

    def faults(self) -> list[str]:
        wrong = {
            "a session failed": self.ended["failed"] > 0,
            "more ran at once than may": self.watching.most_servers > PROCESSES,
            "some were not buried": bool(self.left.zombies),
            "some still run": self.left.servers > 0,
        }
        return [what for what, so_it_is in wrong.items() if so_it_is]


async def soak(
    house: Installation, around: World, sessions: int, plant: Callable[[], None] | None = None
) -> Soaked:
    gateway, mark = Gateway(house), f"mark-{os.getpid()}-{house.port}"
    with house.serving(plant) as server:
        tools = add_servers(gateway, around, mark)
        await leave_behind(gateway, LEFT_BEHIND)
        crowd = Crowd(
            url=f"{house.url}/mcp",
            key=house.key,
            sessions=sessions,
            at_once=8,
            tools=tools,
            doomed=0.5,
        )
        watching = Watching(server.pid, mark)

        with watching.all_along():
            ended = attend(crowd, watching)

        starts = gateway.starts()
        eventually(lambda: not watching.groups() and not watching.look().zombies)
        left = watching.look()
        assert server.poll() is None
    return Soaked(ended, watching, starts, left)


@pytest.mark.requirement("gateway:processes:soak")
async def test_clients_that_are_killed_leave_nothing_behind(
    house: Installation, around: World, capsys: pytest.CaptureFixture[str]
) -> None:
    found = await soak(house, around, SESSIONS)

    ended, watching, tenth = found.ended, found.watching, SESSIONS // 10
    warm, last = watching.memory(tenth, 2 * tenth), watching.memory(9 * tenth, SESSIONS)
    with capsys.disabled():
        print(report(ended, watching, found.starts, (warm, last)))
    assert found.faults() == []
    assert ended["killed"] > SESSIONS / 5
    assert ended["finished"] > SESSIONS / 5
    assert found.starts > (2 if FULL_SIZE else 1) * (SCRIPTED + len(REAL))
    assert last.resident < warm.resident * MOST_GROWTH
    assert last.own < warm.own * MOST_GROWTH
    assert troubles(house) == []


def left_alone() -> None:
    """A server whose place is given to another goes on."""

    async def close(_: Child) -> None:
        """Nothing."""

    Child.close = close  # type: ignore[assignment, method-assign] # a red run


@pytest.mark.planted
async def test_once_servers_are_not_ended_the_same_check_finds_what_is_left_behind(
    house: Installation, around: World
) -> None:
    """A red run: what it is for that each server's end is seen to."""
    found = await soak(house, around, SESSIONS // 4, left_alone)

    assert {"more ran at once than may", "some still run"} <= set(found.faults())


@pytest.mark.nightly
@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL])
def test_when_the_gateway_ends_so_do_its_servers_however_it_ended(
    house: Installation, around: World, end: signal.Signals
) -> None:
    gateway, mark = Gateway(house), f"mark-{os.getpid()}-{house.port}"
    with house.serving() as server:
        watching = Watching(server.pid, mark)
        add_small(gateway, around, mark, 5)
        before = watching.groups()
        server.send_signal(end)
        server.wait(60)

        assert len(before) == 5
        assert eventually(lambda: not watching.groups())
