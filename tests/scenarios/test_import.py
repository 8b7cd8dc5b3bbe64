"""The whole way: servers in the files of several clients, taken over, used, and changed live."""

import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.installation import Installation
from tests.servers import free_port, reachable_folder

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.scenario,
    pytest.mark.postgres,
    pytest.mark.timeout(240),
]

TINY = [str(Path(__file__).with_name("tiny_server.py"))]
KEY = {"TINY_KEY": "SECRET-of-tiny"}


@dataclass(frozen=True)
class AtHome(Installation):
    """Of a user who has other programs, in whose home their files are."""

    @property
    def environment(self) -> Mapping[str, str]:
        kept = {name: value for name, value in super().environment.items() if "XDG" not in name}
        return {**kept, "HOME": str(self.user)}

    @property
    def user(self) -> Path:
        return self.home.parent / "user"

    def write(self, file: str, value: object) -> Path:
        path = self.user / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(value))
        return path


@contextmanager
def a_home() -> Iterator[AtHome]:
    with reachable_folder() as folder:
        made = AtHome(folder / "home", free_port())
        made.home.mkdir(mode=0o711)
        made.user.mkdir()
        try:
            yield made
        finally:
            made.run("db", "stop", "--force")


def tiny(*tools: str, **more: object) -> dict[str, object]:
    return {"command": sys.executable, "args": [*TINY, *tools], "env": KEY, **more}


def several_clients(made: AtHome) -> None:
    made.write(".cursor/mcp.json", {"mcpServers": {"Notes": tiny("get_note", "delete_note")}})
    toml = made.user / ".codex" / "config.toml"
    toml.parent.mkdir()
    args = json.dumps([*TINY, "get_mail", "send_mail"])
    toml.write_text(
        f'[mcp_servers.mail]\ncommand = "{sys.executable}"\nargs = {args}\n'
        'env = { TINY_KEY = "SECRET-of-tiny" }\n'
    )
    older = [sys.executable, "-c", "from mcp.server.fastmcp import FastMCP"]
    made.write(
        ".gemini/settings.json",
        {"mcpServers": {"old": {"command": older[0], "args": older[1:]}, "bad": {"args": 5}}},
    )
    (made.home / ".mcp.json").write_text(json.dumps({"mcpServers": {"strange": tiny("get_x")}}))


def files_of(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.requirement("gateway:import:clients")
@pytest.mark.requirement("gateway:import:secrets-stay")
@pytest.mark.requirement("gateway:import:never-written")
@pytest.mark.requirement("gateway:import:dry-run")
def test_init_takes_over_what_is_there_and_nothing_secret_goes_with_it() -> None:
    with a_home() as made:
        several_clients(made)
        before = files_of(made.user)

        looked = made.run("init", "--dry-run", "--json")
        assert looked.code == 0, looked.err
        assert not (made.home / "data").exists()
        found = [(each["client"], len(each["servers"])) for each in json.loads(looked.out)["found"]]
        assert found == [("Cursor", 1), ("Codex", 1), ("Gemini CLI", 1), (".mcp.json", 1)]

        done = made.run("init", "--yes", "--json")
        assert done.code == 0, done.err
        again = made.run("init", "--yes")

        answer = json.loads(done.out)
        servers = {each["name"]: each for each in answer["servers"]}
        assert {name: each["listed"] for name, each in servers.items()} == {
            "mail": True,
            "notes": True,
            "old": False,
        }
        assert servers["mail"]["proposed"] == {"reads": 1, "writes": 1, "others": 0}
        assert servers["notes"]["proposed"] == {"reads": 1, "writes": 0, "others": 1}
        assert "'mcp<2'" in servers["old"]["fix"]
        assert answer["context"]["tools"] == 4
        assert "strange" in again.err
        assert "notes" not in again.err
        assert files_of(made.user) == before
        told = f"{looked.out}{looked.err}{done.out}{done.err}{again.out}{again.err}"
        assert "SECRET" not in told
        made.run("db", "stop", "--force")
        assert not [path for path, kept in files_of(made.home).items() if _holds(path, kept)]


def _holds(path: Path, kept: bytes) -> bool:
    """A file of ours: what the user keeps in a folder of theirs is theirs."""
    return b"SECRET-of-tiny" in kept and path.name != ".mcp.json"


@pytest.mark.requirement("gateway:import:live")
def test_a_running_server_follows_the_files() -> None:
    with a_home() as made:
        file = made.write(".cursor/mcp.json", {"mcpServers": {"notes": tiny("get_note")}})
        done = made.run("init", "--yes")
        assert done.code == 0, done.err

        with made.serving(), made.client() as client:
            until(client, lambda servers: servers["notes"]["tools"]["live"] == 1)

            more = {"notes": tiny("get_note"), "mail": tiny("get_mail")}
            half = file.with_suffix(".new")
            half.write_text(json.dumps({"mcpServers": more}))
            half.replace(file)
            waiting = until(client, lambda servers: "mail" in servers)
            assert not waiting["mail"]["approved"]

            config = made.home / "config" / "portico.toml"
            config.write_text(f'{config.read_text()}\n[servers.own]\ncommand = "true"\n')
            until(client, lambda servers: "own" in servers)

            file.write_text("{ this is no JSON")
            config.write_text(config.read_text().replace("[servers.own]", "[servers.mine]"))
            kept = until(client, lambda servers: "mine" in servers)
            assert kept["notes"]["tools"]["live"] == 1

            changed = {"notes": tiny("get_note", "wipe_all")}
            file.write_text(json.dumps({"mcpServers": changed}))
            until(client, lambda servers: not servers["notes"]["approved"])


def until(
    client: httpx2.Client, true: Callable[[dict[str, Any]], object], patience: float = 60
) -> dict[str, Any]:
    deadline = time.monotonic() + patience
    while True:
        answer = client.get("/servers")
        assert answer.status_code == 200, answer.text
        servers = {each["name"]: each for each in answer.json()}
        if servers and true(servers):
            return servers
        assert time.monotonic() < deadline, servers
        time.sleep(0.1)


def test_this_process_has_no_key_of_its_own() -> None:
    """Else the servers of these tests would start without being given one."""
    assert "TINY_KEY" not in os.environ
