"""The journey of a tool of ours: it waits, is let in, is found, called and remembered."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from portico.adapters.builtin.offers import LAUNCH
from portico.adapters.builtin.routing import RoutedUpstreams
from portico.adapters.builtin.servers import ServersWithBuiltin
from portico.gateway.core.acceptance import Proposed
from portico.gateway.core.call import Verb
from portico.gateway.core.errors import (
    BadArguments,
    WrongVerb,
)
from portico.gateway.core.server import BUILTIN
from portico.gateway.core.tool import ToolRef
from portico.gateway.keep_builtin import KeepBuiltin
from portico.guard.core.roles import Role
from portico.kernel.effect import Effect
from portico.kernel.json import JsonValue
from portico.main.assemble_gateway import Limits, assemble_gateway
from portico.testing.box import ScriptedBox, exited
from portico.testing.events import MemoryBus
from portico.testing.gateway_doors import memory_gateway
from portico.testing.guard import a_person, a_space, an_identity
from portico.testing.kernel import SeededEntropy, TickingClock
from portico.testing.upstreams import ScriptedUpstreams
from portico.testing.world import MemoryWorld
from tests.adapters.builtin.bench import Bench, facts

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

    async def approve(self) -> None:
        """Both acts."""
        [review] = await self.use.review_servers(ROOT, BUILTIN)
        await self.use.approve_launch(ROOT, BUILTIN, review.server.launch_pin)
        await self.use.restart_server(ROOT, BUILTIN)
        [review] = await self.use.review_servers(ROOT, BUILTIN)
        await self.use.accept_tools(ROOT, BUILTIN, review.pin, Proposed.ALL)

    async def found(self, query: str) -> Sequence[str]:
        found = await self.use.find_tools(MAX, [query])
        return [str(hit.ref) for hit in found.hits] if found.fits else []


async def test_each_tool_is_found_by_what_it_is_for(tmp_path: Path) -> None:
    wanted = {
        "run a command": "builtin.shell",
        "execute a shell command line": "builtin.shell",
        "read a file": "builtin.read_file",
        "save text to a file": "builtin.write_file",
        "download a web page": "builtin.fetch",
        "post to an API": "builtin.send_request",
        "compute something with python": "builtin.run_code",
        "rename a file": "builtin.move_file",
        "delete a file": "builtin.remove_file",
        "which files are in this folder": "builtin.list_files",
        "create a directory": "builtin.make_folder",
        "which language models can I use": "builtin.models_info",
        "status of my workflow run": "builtin.workflow_state",
        "how many of my calls failed": "builtin.metrics",
        "am I allowed to call a tool": "builtin.check_permission",
        "notify somebody that the task is done": "builtin.notify",
    }
    home = House(Bench(tmp_path))
    await home.approve()

    found = {query: await home.found(query) for query in wanted}

    assert {query: hits[0] for query, hits in found.items()} == wanted


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


async def test_what_its_schema_does_not_ask_for_never_gets_there(tmp_path: Path) -> None:
    wrong: list[tuple[str, dict[str, JsonValue]]] = [
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
    ]
    box = ScriptedBox()
    home = House(Bench(tmp_path, box))
    await home.approve()

    for tool, arguments in wrong:
        with pytest.raises(BadArguments):
            await home.use.call_tool(MAX, ToolRef(BUILTIN, tool), arguments)

    assert box.runs == []
