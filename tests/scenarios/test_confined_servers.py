"""Real servers in their default profiles reach none of the canaries around them; without a box the
same attempts reach all of them."""

import json
import os
import subprocess
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from portico.adapters.mcp import secrets
from portico.adapters.mcp.pool import UpstreamPool
from portico.adapters.mcp.processes import scrubbed
from portico.adapters.mcp.stdio import Confine
from portico.app.app_context import AppContext
from portico.app.box import Sandboxes
from portico.gateway.core.calls import UpstreamTarget
from portico.gateway.core.servers import Plain, Stdio
from portico.sandbox.core.profile import Limits
from portico.sandbox.core.requests import End
from portico.testing.sandbox import NoConfine
from tests.adapters.mcp.pools import HOME, a_pool
from tests.installation import installation
from tests.real_servers import canary_probe
from tests.real_servers.canaries import Canaries, canaries
from tests.real_servers.catalogue import SERVERS, RealServer, chosen, each_server
from tests.real_servers.install import Installed, install
from tests.real_servers.world import World, world

pytestmark = [pytest.mark.scenario, pytest.mark.postgres]

PYTHON = "/usr/bin/python3"
PROBE = Path(canary_probe.__file__).read_text()


@dataclass(frozen=True)
class Cage:
    installed: Installed
    around: World
    canaries: Canaries
    boxes: Sandboxes
    """As a Portico that lives in this house would open them."""

    def target(self, server: RealServer) -> UpstreamTarget:
        command = [*self.installed.command(server), *self.around.fill(server.arguments)]
        given = {k: Plain(v) for k, v in self.around.fill(server.environment).items()}
        arguments = tuple(map(Plain, command[1:]))
        launch = Stdio(command[0], arguments, given, str(self.around.folder))
        return UpstreamTarget(space=HOME, server=server.name, launch=launch, launch_pin="p")

    def fill(self, value: Any) -> Any:
        made = self.canaries
        text = json.dumps(value).replace("{file}", str(made.open_file))
        text = text.replace("{folder}", str(made.open_folder)).replace("{port}", str(made.port))
        return json.loads(text.replace("{repository}", str(made.repository)))


@pytest.fixture(scope="module")
def cage(request: pytest.FixtureRequest) -> Iterator[Cage]:
    shelves, _ = chosen(request.config)
    installed = install(shelves)
    with (
        installation() as house,
        world(house.home.parent / "world") as around,
        canaries(house) as made,
        pytest.MonkeyPatch.context() as environment,
    ):
        environment.setenv("PORTICO_HOME", str(house.home))
        environment.setenv("CANARY_API_KEY", made.secret)
        yield Cage(installed, around, made, Sandboxes(AppContext()))


@pytest.mark.requirement("box:servers:canaries")
@each_server
async def test_whatever_runs_in_its_place_reaches_nothing(cage: Cage, server: RealServer) -> None:
    target, boxes = cage.target(server), cage.boxes
    assert isinstance(target.launch, Stdio)
    command = await secrets.command(target.launch, secrets.Ours(os.environ))
    environment = scrubbed(os.environ) | dict(command.environment)
    order = boxes.cells().order(target, command, environment)
    instead = ("-I", "-S", "-c", PROBE, cage.canaries.wanted)
    before = len(cage.canaries.hits)

    outcome = await (await boxes.find()).run(
        replace(order, program=PYTHON, arguments=instead), Limits(seconds=120, output=1_000_000)
    )

    assert outcome.end is End.EXITED, outcome
    assert json.loads(outcome.output) == [], outcome.errors
    assert cage.canaries.hits[before:] == []


@pytest.mark.requirement("box:servers:canaries")
def test_without_a_box_all_of_it_is_reached(cage: Cage) -> None:
    before = len(cage.canaries.hits)

    done = subprocess.run(
        [PYTHON, "-I", "-S", "-c", PROBE, cage.canaries.wanted],
        env=scrubbed(os.environ),
        capture_output=True,
        text=True,
        check=True,
    )

    found = set(json.loads(done.stdout))
    wanted = json.loads(cage.canaries.wanted)
    assert {f"file {path}" for path in wanted["files"]} <= found
    assert {f"listed {path}" for path, _ in wanted["folders"]} <= found
    assert {f"socket {path}" for path in wanted["sockets"]} <= found
    assert {"key", "port at 127.0.0.1", "port by proxy at localhost"} <= found
    assert len(cage.canaries.hits) > before


@dataclass(frozen=True)
class Reading:
    """A tool of a server itself that can be made to reach for a canary."""

    server: str
    calls: tuple[tuple[str, Mapping[str, Any]], ...]


READINGS = [
    Reading("duckdb", (("execute_query", {"sql": "select content from read_text('{file}')"}),)),
    Reading("git", (("git_log", {"repo_path": "{repository}"}),)),
    Reading("git-cyanheads", (("git_log", {"path": "{repository}"}),)),
    Reading(
        "tree-sitter",
        (
            ("register_project_tool", {"path": "{folder}", "name": "canary"}),
            ("get_file", {"project": "canary", "path": "canary.txt"}),
        ),
    ),
    Reading("fetch", (("fetch", {"url": "http://127.0.0.1:{port}/", "raw": True}),)),
]


@asynccontextmanager
async def pool_in(confine: Confine) -> AsyncIterator[UpstreamPool]:
    async with a_pool(environment=os.environ, confine=confine) as pool:
        yield pool


async def reads(cage: Cage, reading: Reading, confine: Confine) -> bool:
    [server] = [each for each in SERVERS if each.name == reading.server]
    before = len(cage.canaries.hits)
    said = ""
    async with pool_in(confine) as pool:
        for tool, arguments in reading.calls:
            answer = await pool.call(
                cage.target(server), tool, cage.fill(arguments), timeout=timedelta(seconds=60)
            )
            said += json.dumps(answer.content)
    return cage.canaries.secret in said or len(cage.canaries.hits) > before


@pytest.mark.nightly
@pytest.mark.requirement("box:servers:canaries")
@pytest.mark.parametrize("reading", READINGS, ids=lambda reading: reading.server)
async def test_a_tool_of_its_own_reaches_a_canary_only_without_a_box(
    cage: Cage, reading: Reading
) -> None:
    assert not await reads(cage, reading, cage.boxes.cells())
    assert await reads(cage, reading, NoConfine())
