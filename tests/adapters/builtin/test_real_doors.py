"""Our own tools with nothing in memory: a real box, real files, a real web, a real interpreter."""

import os
import shutil
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from portico.adapters.box.account import account_for
from portico.adapters.box.bubblewrap import BubblewrapBox
from portico.adapters.box.landlock import LandlockBox
from portico.adapters.builtin.server import BuiltinTools
from portico.adapters.builtin.workspace import Owner, Workspaces
from portico.adapters.files.folder import FolderFiles
from portico.adapters.web.dialer import Dialer
from portico.box.ports import Box
from portico.gateway.core.call import Answer
from portico.kernel.json import JsonValue
from portico.kernel.principal import Principal
from portico.testing.box import HOLDS, ScriptedInterpreter, ScriptedWeb
from tests.adapters.builtin.bench import ANA, BEN, SECONDS, every_tool, facts, target
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
