"""The journey of a tool of ours: it waits, is let in, is found, called and remembered."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from portico.adapters.builtin.offers import LAUNCH, OFFERED
from portico.adapters.builtin.routing import RoutedUpstreams
from portico.adapters.builtin.servers import ServersWithBuiltin
from portico.gateway.core.acceptance import Proposed
from portico.gateway.core.call import Verb
from portico.gateway.core.errors import (
    BadArguments,
    ServerDisabled,
    ServerNotApproved,
    ToolNotFound,
    WrongVerb,
)
from portico.gateway.core.server import BUILTIN
from portico.gateway.core.tool import Standing, ToolRef
from portico.gateway.house import house
from portico.gateway.keep_builtin import KeepBuiltin
from portico.guard.core.roles import Role
from portico.kernel.effect import Effect
from portico.kernel.json import JsonValue
from portico.main.assemble_gateway import Limits, assemble_gateway
from portico.main.builtin import HouseDoors
from portico.testing.box import ScriptedBox, exited
from portico.testing.events import MemoryBus
from portico.testing.gateway_doors import memory_gateway
from portico.testing.guard import a_person, a_space, an_identity
from portico.testing.kernel import SeededEntropy, TickingClock
from portico.testing.upstreams import ScriptedUpstreams
from portico.testing.world import MemoryWorld
from tests.adapters.builtin.bench import Bench, facts, told_to_all

ROOT = a_person("root", roles=[Role.OPERATOR])
MAX = a_person("max", roles=[Role.MEMBER])
SHELL, LIST = ToolRef(BUILTIN, "shell"), ToolRef(BUILTIN, "list_files")


class House:
    """The whole gateway on doors in memory, with our own server in it."""

    def __init__(self, bench: Bench) -> None:
        world, bus, clock = MemoryWorld(), MemoryBus(), TickingClock()
        world.spaces[ROOT.space] = a_space()
        for each in (an_identity("root"), an_identity("max")):
            world.identities.insert((each.space, each.id), each)
        self.ways = RoutedUpstreams({BUILTIN: bench.tools}, ScriptedUpstreams())
        doors = memory_gateway(
            world,
            self.ways,
            bus=bus,
            clock=clock,
            entropy=SeededEntropy(),
            limits=Limits(call_timeout=timedelta(seconds=5)),
        )
        keep = KeepBuiltin(
            servers=doors.servers,
            together=doors.together,
            audit=doors.audit,
            bus=bus,
            clock=clock,
            entropy=SeededEntropy(),
            launch=LAUNCH,
        )
        self.gateway = assemble_gateway(
            replace(doors, servers=ServersWithBuiltin(doors.servers, keep))
        )
        self.use = self.gateway.over_http

    async def approve(self, which: Proposed = Proposed.ALL) -> None:
        """Both acts."""
        [review] = await self.use.review_servers(ROOT, BUILTIN)
        await self.use.approve_launch(ROOT, BUILTIN, review.server.launch_pin)
        await self.use.restart_server(ROOT, BUILTIN)
        [review] = await self.use.review_servers(ROOT, BUILTIN)
        await self.use.accept_tools(ROOT, BUILTIN, review.pin, which)

    async def effects(self) -> dict[str, Effect]:
        tools = await self.gateway.list_server_tools(ROOT, BUILTIN)
        shelf = await self.gateway.catalogues.current(ROOT)
        return {
            str(tool["name"]): shelf.find(ToolRef(BUILTIN, str(tool["name"]))).effect
            for tool in tools.tools
        }

    async def found(self, query: str) -> Sequence[str]:
        found = await self.use.find_tools(MAX, [query])
        return [str(hit.ref) for hit in found.hits] if found.fits else []


async def test_nothing_of_it_is_found_or_called_before_both_acts(tmp_path: Path) -> None:
    box = ScriptedBox()
    home = House(Bench(tmp_path, box))
    [look] = await home.use.list_servers(MAX)

    assert look.server.name == BUILTIN
    assert look.held.said == "part of Portico"
    assert await home.found("run a command") == []
    with pytest.raises((ToolNotFound, ServerNotApproved)):
        await home.use.call_tool(MAX, SHELL, {"command": "ls"})
    [review] = await home.use.review_servers(ROOT, BUILTIN)
    await home.use.approve_launch(ROOT, BUILTIN, review.server.launch_pin)
    await home.use.restart_server(ROOT, BUILTIN)
    with pytest.raises(ServerNotApproved):
        await home.use.call_tool(MAX, SHELL, {"command": "ls"})
    assert box.runs == []


async def test_its_effects_are_proposed_and_taken(tmp_path: Path) -> None:
    home = House(Bench(tmp_path))

    await home.approve()

    assert await home.effects() == {offered.name: offered.effect for offered in OFFERED}


async def test_with_yes_alone_only_its_reads_are_taken(tmp_path: Path) -> None:
    home = House(Bench(tmp_path))

    await home.approve(Proposed.READS)

    assert await home.effects() == {
        offered.name: offered.effect if offered.effect.reads_only else Effect.UNKNOWN
        for offered in OFFERED
    }


async def test_one_that_is_new_waits_by_itself_and_the_others_go_on(tmp_path: Path) -> None:
    bench = Bench(tmp_path, house=HouseDoors())
    home = House(bench)
    await home.approve()
    bench.house.tell = told_to_all

    await home.use.restart_server(ROOT, BUILTIN)

    assert "notify" not in await home.effects()
    assert (await home.effects())["shell"] is Effect.LOCAL_WRITE
    assert not (await home.use.call_tool(MAX, LIST, {})).answer.failed
    [review] = await home.use.review_servers(ROOT, BUILTIN)
    waiting = [each.tool.ref.name for each in review.tools if each.standing is not Standing.LIVE]
    assert waiting == ["notify"]


@pytest.mark.parametrize(
    ("query", "tool"),
    [
        ("run a command", "builtin.shell"),
        ("execute a shell command line", "builtin.shell"),
        ("read a file", "builtin.read_file"),
        ("save text to a file", "builtin.write_file"),
        ("download a web page", "builtin.fetch"),
        ("post to an API", "builtin.send_request"),
        ("compute something with python", "builtin.run_code"),
        ("rename a file", "builtin.move_file"),
        ("delete a file", "builtin.remove_file"),
        ("which files are in this folder", "builtin.list_files"),
        ("create a directory", "builtin.make_folder"),
        ("which language models can I use", "builtin.models_info"),
        ("status of my workflow run", "builtin.workflow_state"),
        ("how many of my calls failed", "builtin.metrics"),
        ("am I allowed to call a tool", "builtin.check_permission"),
        ("notify somebody that the task is done", "builtin.notify"),
    ],
)
async def test_it_is_found_by_what_it_is_for(tmp_path: Path, query: str, tool: str) -> None:
    home = House(Bench(tmp_path))
    await home.approve()

    assert (await home.found(query))[:1] == [tool]


async def test_a_call_is_for_whoever_calls_and_goes_through_the_door_of_its_effect(
    tmp_path: Path,
) -> None:
    box = ScriptedBox(exited("hi\n"))
    home = House(Bench(tmp_path, box))
    await home.approve()

    with pytest.raises(WrongVerb):
        await home.use.call_tool(MAX, SHELL, {"command": "ls"}, verb=Verb.READ)
    called = await home.use.call_tool(MAX, SHELL, {"command": "ls"}, verb=Verb.WRITE)

    [(order, _, _)] = box.runs
    assert order.home == str(tmp_path / str(MAX.space) / str(MAX.id))
    assert facts(called.answer)["stdout"] == "hi\n"
    [record] = await home.use.list_calls(ROOT)
    assert (record.ref, record.principal, record.effect) == (SHELL, MAX.id, Effect.LOCAL_WRITE)


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("shell", {}),
        ("shell", {"command": ""}),
        ("shell", {"command": "echo a\0b"}),
        ("shell", {"command": "ls", "user": "root"}),
        ("read_file", {"path": "a", "limit": 0}),
        ("read_file", {"path": "a", "limit": 10**9}),
        ("fetch", {"url": "file:///etc/passwd"}),
        ("fetch", {"url": "https://a", "method": "POST"}),
        ("send_request", {"url": "https://a", "method": "GET"}),
        ("run_code", {"program": "1", "inputs": {"a b": 1}}),
    ],
)
async def test_what_its_schema_does_not_ask_for_never_gets_there(
    tmp_path: Path, tool: str, arguments: dict[str, JsonValue]
) -> None:
    box = ScriptedBox()
    home = House(Bench(tmp_path, box))
    await home.approve()

    with pytest.raises(BadArguments):
        await home.use.call_tool(MAX, ToolRef(BUILTIN, tool), arguments)

    assert box.runs == []


async def test_without_a_box_all_but_the_shell_is_there_and_it_is_said_why(tmp_path: Path) -> None:
    home = House(Bench(tmp_path, None))

    await home.approve()

    look = await home.use.show_server(MAX, BUILTIN)
    assert look.tools[Standing.LIVE] == len(OFFERED) - 1
    assert look.vitals.lacking is not None
    assert "no user namespaces" in look.vitals.lacking
    with pytest.raises(ToolNotFound):
        await home.use.call_tool(MAX, SHELL, {"command": "ls"})


async def test_a_shell_that_comes_later_waits_alone(tmp_path: Path) -> None:
    bench = Bench(tmp_path, None)
    home = House(bench)
    await home.approve()
    before = (await home.use.show_server(ROOT, BUILTIN)).server.set_pin

    bench.tools._tools = Bench(tmp_path).tools._tools
    await home.gateway.index_server(house(ROOT.space), BUILTIN)

    look = await home.use.show_server(ROOT, BUILTIN)
    assert look.server.set_pin != before
    assert (look.tools[Standing.NEW], look.tools[Standing.LIVE]) == (1, len(OFFERED) - 1)


async def test_switched_off_it_does_nothing(tmp_path: Path) -> None:
    home = House(Bench(tmp_path))
    await home.approve()

    await home.use.switch_server(ROOT, BUILTIN, enabled=False)

    assert await home.found("run a command") == []
    with pytest.raises(ServerDisabled):
        await home.use.call_tool(MAX, SHELL, {"command": "ls"})
