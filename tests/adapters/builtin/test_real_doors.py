"""Our own tools with nothing in memory: a real box, real files, a real web, a real interpreter."""

import asyncio
import os
import shutil
import stat
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

from portico.adapters.box.account import account_for
from portico.adapters.box.bubblewrap import BubblewrapBox
from portico.adapters.box.landlock import LandlockBox
from portico.adapters.builtin.server import BuiltinTools
from portico.adapters.builtin.workspace import Owner, Workspaces
from portico.adapters.files.folder import FolderFiles
from portico.adapters.monty.interpreter import MontyInterpreter
from portico.adapters.web.client import guarded_client
from portico.adapters.web.dialer import Dialer
from portico.adapters.web.fetch import GuardedWeb
from portico.box.core.profile import Place
from portico.box.ports import Box
from portico.gateway.core.call import Answer
from portico.kernel.json import JsonValue
from portico.kernel.principal import Principal
from portico.testing.box import HOLDS, ScriptedInterpreter, ScriptedWeb
from tests.adapters.builtin.bench import ANA, BEN, SECONDS, every_tool, facts, target, words
from tests.servers import reachable_folder

pytestmark = pytest.mark.timeout(60)
LINUX = pytest.mark.skipif(not Path("/proc/self/ns").exists(), reason="the box is Linux's")


@dataclass
class Real:
    tools: BuiltinTools
    root: Path
    box: Box | None = None

    async def __call__(self, tool: str, by: Principal = ANA, /, **arguments: JsonValue) -> Answer:
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


@pytest.fixture(params=[BubblewrapBox, LandlockBox])
def real(request: pytest.FixtureRequest, root: Path) -> Real:
    if request.param is BubblewrapBox and shutil.which("bwrap") is None:
        pytest.skip("bubblewrap is not installed")
    box = request.param(
        hidden=[root.parent], lent=[root], run_as="nobody", dialer=Dialer(), report=HOLDS
    )
    return opened(root, box)


def opened(root: Path, box: Box | None, *, largest: int = 10_000_000) -> Real:
    account = account_for("nobody")
    owner = Owner(account.uid, account.gid) if account.switch else None
    workspaces = Workspaces(root, FolderFiles, owner=owner, largest=largest)
    tools = every_tool(box, ScriptedWeb(), ScriptedInterpreter(), workspaces)
    return Real(BuiltinTools(tools), root, box)


@LINUX
async def test_a_command_runs_and_says_how_it_ended(real: Real) -> None:
    said = await real.shell("echo $((6*7)); echo oh >&2; exit 3")

    assert (said["exit_code"], said["stdout"], said["stderr"]) == (3, "42\n", "oh\n")
    assert said["ended_by"] == "exited"


@LINUX
async def test_what_is_on_its_input_is_read(real: Real) -> None:
    answer = await real("shell", command="wc -c", input="é\n")

    assert facts(answer)["stdout"].strip() == "3"


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
async def test_there_is_no_network(real: Real) -> None:
    async with a_site(b"CANARY") as place:
        said = await real.shell(f"bash -c 'exec 3<>/dev/tcp/{place.host}/{place.port} && echo in'")

    assert "in\n" not in said["stdout"]
    assert said["exit_code"] != 0


@LINUX
async def test_a_flood_is_cut_off(real: Real) -> None:
    answer = await real("shell", command="yes")

    assert facts(answer)["code"] == "command_too_loud"
    assert len(facts(answer)["stdout"]) <= 1_000_000


@LINUX
async def test_what_goes_on_for_too_long_is_ended_with_all_that_it_started(
    real: Real, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("portico.adapters.builtin.shell.SECONDS", 0.5)

    answer = await real("shell", command="sleep 4217 & echo begun; sleep 4217")

    assert facts(answer)["code"] == "command_too_long"
    assert facts(answer)["stdout"] == "begun\n"
    assert not sleeping("4217")


@LINUX
async def test_cancelling_the_call_leaves_nothing_running(real: Real) -> None:
    call = asyncio.ensure_future(real("shell", command="sleep 4218"))
    async with asyncio.timeout(20):
        while not sleeping("4218"):
            assert not call.done(), call.result()
            await asyncio.sleep(0.02)

    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call

    assert not sleeping("4218")


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


@asynccontextmanager
async def a_site(body: bytes) -> AsyncIterator[Place]:
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
        yield Place("127.0.0.1", server.sockets[0].getsockname()[1])


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


async def test_a_program_runs_within_its_limits(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("portico.adapters.builtin.run_code.SECONDS", 0.3)
    async with MontyInterpreter() as interpreter:
        workspaces = Workspaces(root, FolderFiles)
        real = Real(BuiltinTools(every_tool(None, ScriptedWeb(), interpreter, workspaces)), root)
        done = await real("run_code", program="print('hi')\nn * 2", inputs={"n": [1]})
        raised = await real("run_code", program="1 / 0")
        endless = await real("run_code", program="while True:\n    pass")
        unread = await real("run_code", program="def (")

    assert facts(done) == {"result": [1, 1], "printed": "hi\n"}
    assert "ZeroDivisionError" in words(raised)
    assert facts(endless)["code"] == "program_failed"
    assert facts(unread)["code"] == "code_refused"
    assert raised.failed
    assert endless.failed
    assert unread.failed


def sleeping(seconds: str) -> bool:
    """Whether anybody on this machine does, in a box or not."""
    for process in psutil.process_iter(["cmdline"]):
        if process.info["cmdline"] == ["sleep", seconds]:
            return True
    return False


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="only root hands folders over")
async def test_as_root_all_of_a_workspace_belongs_to_the_account_of_the_box(real: Real) -> None:
    nobody = account_for("nobody")

    await real("write_file", path="a/b", text="x")
    await real.shell("echo y > a/c")

    found = [real.folder(), *real.folder().rglob("*")]  # a few
    assert len(found) == 4
    assert {each.stat().st_uid for each in found} == {nobody.uid}
