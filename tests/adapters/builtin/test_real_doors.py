"""Our own tools in a real box and on a real disk, and behind the whole gateway."""

import asyncio
import os
import shutil
import stat
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from portico.adapters.builtin.files import Owner, Workspaces
from portico.adapters.builtin.server import (
    LAUNCH,
    BuiltinTools,
    RoutedUpstreams,
    ServersWithBuiltin,
)
from portico.adapters.confined_files import FolderFiles
from portico.adapters.egress.client import GuardedWeb, guarded_client
from portico.adapters.egress.dialer import Dialer
from portico.adapters.sandbox.bubblewrap import BubblewrapSandbox
from portico.adapters.sandbox.landlock import LandlockSandbox
from portico.adapters.sandbox.runner import account_for
from portico.app.gateway_wiring import Limits, assemble_gateway
from portico.gateway.core.calls import ToolResult, Verb
from portico.gateway.core.catalog_snapshot import ToolRef
from portico.gateway.core.errors import (
    InvalidArguments,
    WrongVerb,
)
from portico.gateway.core.server_approval import Proposed
from portico.gateway.core.servers import BUILTIN
from portico.gateway.discovery import KeepBuiltin
from portico.guard.core.principals import Role
from portico.kernel.effect import Effect
from portico.kernel.json import JsonValue
from portico.kernel.principal import Principal
from portico.sandbox.core.profile import NetworkEndpoint
from portico.sandbox.requests import Sandbox
from portico.testing.engine import MemoryBus
from portico.testing.gateway import ScriptedUpstreams
from portico.testing.gateway_fakes import memory_gateway
from portico.testing.guard import a_person, a_space, an_identity
from portico.testing.memory_store import InMemoryStore, SeededEntropy, TickingClock
from portico.testing.sandbox import HOLDS, ScriptedInterpreter, ScriptedSandbox, ScriptedWeb, exited
from tests.adapters.builtin.bench import ANA, BEN, SECONDS, Bench, every_tool, facts, target
from tests.servers import reachable_folder

LINUX = pytest.mark.skipif(not Path("/proc/self/ns").exists(), reason="the box is Linux's")


@dataclass
class Real:
    tools: BuiltinTools
    root: Path
    box: Sandbox | None = None

    async def __call__(
        self, tool: str, by: Principal = ANA, /, **arguments: JsonValue
    ) -> ToolResult:
        return await self.tools.call(target(by), tool, arguments, timeout=SECONDS)

    async def shell(self, command: str, by: Principal = ANA) -> Any:
        return facts(await self("shell", by, command=command))

    def folder(self, principal: Principal = ANA) -> Path:
        return self.root / str(principal.space) / str(principal.id)


@pytest.fixture
def root() -> Iterator[Path]:
    with reachable_folder() as folder:
        data = folder / "data"
        data.mkdir(mode=0o711)
        (data / "pepper").write_text("CANARY")
        (data / "pepper").chmod(0o644)
        yield data / "workspaces"


@pytest.fixture(params=[BubblewrapSandbox, LandlockSandbox])
def real(request: pytest.FixtureRequest, root: Path) -> Real:
    if request.param is BubblewrapSandbox and shutil.which("bwrap") is None:
        pytest.skip("bubblewrap is not installed")
    box = request.param(
        hidden=[root.parent], lent=[root], run_as="nobody", dialer=Dialer(), report=HOLDS
    )
    return opened(root, box)


def opened(root: Path, box: Sandbox | None, *, largest: int = 10_000_000) -> Real:
    account = account_for("nobody")
    owner = Owner(account.uid, account.gid) if account.switch else None
    workspaces = Workspaces(root, FolderFiles, owner=owner, largest=largest)
    tools = every_tool(box, ScriptedWeb(), ScriptedInterpreter(), workspaces)
    return Real(BuiltinTools(tools), root, box)


@LINUX
async def test_each_reads_and_changes_what_the_other_wrote(real: Real) -> None:
    await real("write_file", path="notes/a", text="one\n")
    shell = await real.shell("cat notes/a && echo two >> notes/a && mkdir x && echo 3 > x/b")
    await real("write_file", path="x/b", text="4\n")
    await real("write_file", path="x/c", text="5\n")
    again = await real.shell("cat x/b && mv x/b x/d && rm x/c && umask 077 && echo 6 > x/e")
    read = await real("read_file", path="notes/a")

    assert (shell["exit_code"], shell["stdout"]) == (0, "one\n"), shell
    assert (again["exit_code"], again["stdout"]) == (0, "4\n"), again
    assert facts(read)["text"] == "one\ntwo\n"
    assert facts(await real("read_file", path="x/d"))["text"] == "4\n"
    assert facts(await real("read_file", path="x/e"))["text"] == "6\n"
    listed = facts(await real("list_files", path="x"))["entries"]
    assert [entry["path"] for entry in listed] == ["x/d", "x/e"]


@LINUX
async def test_nobody_reaches_the_workspace_of_another_or_what_is_portico_s(real: Real) -> None:
    await real("write_file", path="a", text="CANARY")
    await real("list_files", BEN)
    others = real.folder()

    said = await real.shell(
        f"ls -a; cat {others}/a; ls {others.parent}; cat {real.root.parent}/pepper; "
        f"ln -s {others}/a link; cat link; echo x > {others}/b",
        BEN,
    )
    linked = await real("read_file", BEN, path="link")

    assert "CANARY" not in said["stdout"] + said["stderr"], said
    assert str(ANA.id) not in said["stdout"]
    assert facts(linked)["code"] == "path_refused"
    assert sorted(each.name for each in others.iterdir()) == ["a"]  # one folder


@LINUX
async def test_a_command_cannot_lock_its_own_workspace_or_open_it(real: Real) -> None:
    await real.shell("echo x > a; chmod 0 .")
    read = await real("read_file", path="a")
    await real.shell("chmod 777 .")
    again = await real.shell("cat a")

    assert facts(read)["text"] == "x\n"
    assert again["stdout"] == "x\n"
    assert stat.S_IMODE(real.folder().stat().st_mode) == 0o700


@LINUX
async def test_a_file_does_not_grow_beyond_what_is_left(real: Real, root: Path) -> None:
    small = opened(root, real.box, largest=100_000)
    await small("write_file", path="a", text="." * 60_000)

    said = await small.shell("head -c 50000 /dev/zero > b; wc -c < b")
    full = await small("write_file", path="c", text="." * 50_000)
    tidy = await small.shell("rm a b; ls")

    assert int(said["stdout"]) == 40_000
    assert facts(full)["code"] == "workspace_full"
    assert (tidy["exit_code"], tidy["stdout"]) == (0, "")


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="only root hands folders over")
async def test_as_root_all_of_a_workspace_belongs_to_the_account_of_the_box(real: Real) -> None:
    nobody = account_for("nobody")

    await real("write_file", path="a/b", text="x")
    await real.shell("echo y > a/c")

    found = [real.folder(), *real.folder().rglob("*")]  # a few
    assert len(found) == 4
    assert {each.stat().st_uid for each in found} == {nobody.uid}


ROOT = a_person("root", roles=[Role.OPERATOR])
MAX = a_person("max", roles=[Role.MEMBER])
SHELL, LIST = ToolRef(BUILTIN, "shell"), ToolRef(BUILTIN, "list_files")


class House:
    """The whole gateway on doors in memory, with our own server in it."""

    def __init__(self, bench: Bench) -> None:
        world, bus, clock = InMemoryStore(), MemoryBus(), TickingClock()
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
            unit_of_work=doors.unit_of_work,
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
    box = ScriptedSandbox(exited("hi\n"))
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
    box = ScriptedSandbox()
    home = House(Bench(tmp_path, box))
    await home.approve()

    for tool, arguments in wrong:
        with pytest.raises(InvalidArguments):
            await home.use.call_tool(MAX, ToolRef(BUILTIN, tool), arguments)

    assert box.runs == []


@asynccontextmanager
async def a_site(body: bytes) -> AsyncIterator[NetworkEndpoint]:
    """Answers whatever it is asked with the same."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        asked = head.split(b"\r\n", 1)[0]
        text = body + b" for " + asked
        head = b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\nconnection: close\r\n"
        writer.write(head + b"content-length: %d\r\n\r\n" % len(text) + text)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield NetworkEndpoint("127.0.0.1", server.sockets[0].getsockname()[1])


async def test_the_web_is_reached_where_it_was_allowed_and_nowhere_else(root: Path) -> None:
    async with a_site(b"hello") as place, guarded_client(allow=[place]) as client:
        tools = BuiltinTools(
            every_tool(
                None, GuardedWeb(client), ScriptedInterpreter(), Workspaces(root, FolderFiles)
            )
        )
        real = Real(tools, root)
        fetched = await real("fetch", url=f"http://{place}/a?b")
        sent = await real("send_request", url=f"http://{place}/c", method="POST", text="x")
        refused = await real("fetch", url=f"http://127.0.0.1:{place.port + 1}/")

    assert facts(fetched)["text"] == "hello for GET /a?b HTTP/1.1"
    assert facts(fetched)["status"] == 200
    assert facts(sent)["text"] == "hello for POST /c HTTP/1.1"
    assert refused.failed
    assert facts(refused)["fix"]
