"""Somebody who has never had Portico: an account without rights, a home, uv, Node, full caches, and
fifteen real servers in the files of eight clients."""

import json
import os
import pwd
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psutil
import tomlkit

from portico.bench.processes import scratch_home
from portico.kernel.json import JsonObject

_SYSTEM: Final = "/usr/local/bin:/usr/bin:/bin"
"""Where programs are that any account can start; root's own PATH may lead into root's home."""
_FETCHING: Final = ("PIP_", "UV_INDEX", "UV_DEFAULT_INDEX", "UV_NATIVE_TLS", "UV_SYSTEM_CERTS")
_PASSED_ON: Final = ("LANG", "SSL_CERT_FILE", "HTTPS_PROXY", "NODE_EXTRA_CA_CERTS")
_PATIENCE: Final = 900


class Unprepared(Exception):
    """What could not be had, so that nothing is measured."""


@dataclass(frozen=True, slots=True)
class Newcomer:
    home: Path
    account: str | None
    """None: whoever runs this."""
    caches: Path
    """Of packages; theirs."""

    @property
    def uv_cache(self) -> Path:
        return self.caches / "uv"

    @property
    def npm_cache(self) -> Path:
        return self.caches / "npm"

    @property
    def python(self) -> str:
        """One that the account can come to; ours may be in a home that is closed to it."""
        return sys.executable if self.account is None else "/usr/bin/python3"

    def environment(self, **changes: str) -> dict[str, str]:
        kept = {
            name: value
            for name, value in os.environ.items()
            if name in _PASSED_ON or name.startswith(_FETCHING)
        }
        usual = os.environ["PATH"] if self.account is None else _SYSTEM
        who = self.account or pwd.getpwuid(os.getuid()).pw_name
        return {
            **kept,
            "PATH": f"{self.home / 'tools' / 'bin'}:{usual}",
            "HOME": str(self.home),
            "USER": who,
            "LOGNAME": who,
            "UV_CACHE_DIR": str(self.uv_cache),
            "UV_PYTHON": self.python,
            "npm_config_cache": str(self.npm_cache),
            "npm_config_update_notifier": "false",
            **changes,
        }

    def run(self, *command: str | Path, **changes: str) -> str:
        """What it says on standard output. Raises `Unprepared` with what it says otherwise."""
        account = None if self.account is None else pwd.getpwnam(self.account)
        done = subprocess.run(
            list(map(str, command)),
            cwd=self.home,
            env=self.environment(**changes),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_PATIENCE,
            check=False,
            user=account and account.pw_uid,
            group=account and account.pw_gid,
            extra_groups=None if account is None else [],
        )
        if done.returncode != 0:
            said = (done.stderr or done.stdout)[-1500:].strip()
            raise Unprepared(f"{Path(command[0]).name} ended with {done.returncode}: {said}")
        return done.stdout

    def write(self, place: str, text: str) -> None:
        """Below the home, as one's own."""
        path = self.home / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        for each in (path, *path.parents):
            if not each.is_relative_to(self.home):
                break
            self.take(each)

    def needs(self, programs: Sequence[str]) -> None:
        """Raises `Unprepared`."""
        path = self.environment()["PATH"]
        if missing := [each for each in programs if shutil.which(each, path=path) is None]:
            raise Unprepared(f"no {', '.join(missing)} on the PATH of this user")

    def leave(self) -> None:
        """Ends what was left running, known by the home that is only this user's: the server,
        what keeps it up, and the database."""
        theirs = [each for each in psutil.process_iter(["environ"]) if self._has_home(each)]
        for process in theirs:
            with suppress(psutil.NoSuchProcess):
                process.terminate()
        _, alive = psutil.wait_procs(theirs, timeout=60)
        for process in alive:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs(alive, timeout=10)

    def _has_home(self, process: psutil.Process) -> bool:
        about: Mapping[str, str] = process.info["environ"] or {}
        return about.get("HOME") == str(self.home)

    def take(self, path: Path) -> None:
        """It is theirs from now on."""
        if self.account is not None:
            account = pwd.getpwnam(self.account)
            os.chown(path, account.pw_uid, account.pw_gid)


@contextmanager
def newcomer(account: str | None, caches: Path | None) -> Iterator[Newcomer]:
    """In a home that is gone afterwards, with whatever was started from it, and with the caches
    unless those were named."""
    with scratch_home() as folder:
        folder.chmod(0o711)
        home = folder / "home"
        home.mkdir(mode=0o700)
        made = Newcomer(home, account, (caches or home / "caches").absolute())
        made.caches.mkdir(parents=True, exist_ok=True)
        made.take(home)
        made.take(made.caches)
        try:
            yield made
        finally:
            made.leave()


@dataclass(frozen=True, slots=True)
class Server:
    """As published, started by the program that most of their pages say: npx, or uvx."""

    name: str
    package: str
    arguments: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    older: bool = False
    """Written for the first version of the protocol's library."""

    @property
    def node(self) -> bool:
        return "==" not in self.package

    @property
    def command(self) -> list[str]:
        if self.node:
            return ["npx", "-y", self.package, *self.arguments]
        beside = ["--with", "mcp<2"] if self.older else []
        return ["uvx", *beside, self.package, *self.arguments]


_OFFICIAL: Final = "@modelcontextprotocol/server-"
SERVERS: Final = (
    Server("everything", f"{_OFFICIAL}everything@2026.8.31"),
    Server("filesystem", f"{_OFFICIAL}filesystem@2026.8.31", ("{home}/papers",)),
    Server("memory", f"{_OFFICIAL}memory@2026.8.31"),
    Server("sequential-thinking", f"{_OFFICIAL}sequential-thinking@2026.8.31"),
    Server("github", f"{_OFFICIAL}github@2025.4.8", (), (("GITHUB_PERSONAL_ACCESS_TOKEN", "x"),)),
    Server(
        "slack",
        f"{_OFFICIAL}slack@2025.4.25",
        environment=(("SLACK_BOT_TOKEN", "x"), ("SLACK_TEAM_ID", "T0")),
    ),
    Server("brave-search", f"{_OFFICIAL}brave-search@0.6.2", (), (("BRAVE_API_KEY", "x"),)),
    Server("google-maps", f"{_OFFICIAL}google-maps@0.6.2", (), (("GOOGLE_MAPS_API_KEY", "x"),)),
    Server("time", "mcp-server-time==2026.10.19", ("--local-timezone", "UTC")),
    Server("git", "mcp-server-git==2026.10.19"),
    Server("fetch", "mcp-server-fetch==2026.10.24"),
    Server("nixos", "mcp-nixos==3.1.0"),
    Server("aws-docs", "awslabs.aws-documentation-mcp-server==1.2.3"),
    Server(
        "sqlite",
        "mcp-server-sqlite==2025.4.25",
        ("--db-path", "{home}/papers/herons.sqlite"),
        older=True,
    ),
    Server("tree-sitter", "mcp-server-tree-sitter==0.7.0", older=True),
)
FIRST: Final = "time.get_current_time"
"""The tool that is called first, of one of them."""


def _under(key: str, more: Mapping[str, str] | None = None) -> Callable[[JsonObject], str]:
    def written(entries: JsonObject) -> str:
        told = {name: {**(more or {}), **_object(each)} for name, each in entries.items()}
        return json.dumps({key: told}, indent=2)

    return written


def _toml(entries: JsonObject) -> str:
    return tomlkit.dumps({"mcp_servers": entries})


_CLIENTS: Final[Mapping[str, tuple[str, Callable[[JsonObject], str]]]] = {
    "claude-code": (".claude.json", _under("mcpServers")),
    "claude-desktop": (".config/Claude/claude_desktop_config.json", _under("mcpServers")),
    "cursor": (".cursor/mcp.json", _under("mcpServers")),
    "vscode": (".config/Code/User/mcp.json", _under("servers", {"type": "stdio"})),
    "windsurf": (".codeium/windsurf/mcp_config.json", _under("mcpServers")),
    "zed": (".config/zed/settings.json", _under("context_servers", {"source": "custom"})),
    "codex": (".codex/config.toml", _toml),
    "gemini": (".gemini/settings.json", _under("mcpServers")),
}
CLIENTS: Final = tuple(_CLIENTS)


def entries(user: Newcomer, servers: Sequence[Server], *, offline: bool) -> JsonObject:
    """By name, as clients write them. Each says where the caches are: in its box a server has
    a home of its own, and would fetch everything once more."""
    return {each.name: _entry(user, each, offline=offline) for each in servers}


def prepare_home(user: Newcomer, servers: Sequence[Server]) -> None:
    """Dealt out to the clients one after another; there are more servers than clients, or not
    every client has a file."""
    user.write("papers/note.txt", "The heron stands in the reeds.\n")
    for number, (place, written) in enumerate(_CLIENTS.values()):
        if mine := servers[number :: len(_CLIENTS)]:
            user.write(place, written(entries(user, mine, offline=True)))


def _entry(user: Newcomer, server: Server, *, offline: bool) -> JsonObject:
    command, *arguments = (word.replace("{home}", str(user.home)) for word in server.command)
    npm = {"npm_config_cache": str(user.npm_cache), "npm_config_offline": "true"}
    uv = {"UV_CACHE_DIR": str(user.uv_cache), "UV_PYTHON": user.python, "UV_OFFLINE": "1"}
    fetching = {
        name: value
        for name, value in (npm if server.node else uv).items()
        if offline or not name.lower().endswith("offline")
    }
    return {
        "command": command,
        "args": arguments,
        "env": {**dict(server.environment), **fetching},
    }


def _object(value: object) -> JsonObject:
    return dict(value) if isinstance(value, Mapping) else {}
