"""Fifteen real servers, and the files in which eight clients have them."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import tomlkit

from portico.bench.first_minute_user import Newcomer
from portico.kernel.json import JsonObject


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
