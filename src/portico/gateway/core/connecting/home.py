"""Where Portico's entry goes in each client's files, and what it looks like there."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from portico.gateway.core.client_files.claude_code import CLAUDE_CODE
from portico.gateway.core.client_files.claude_desktop import CLAUDE_DESKTOP
from portico.gateway.core.client_files.client import Client
from portico.gateway.core.client_files.clients import expanded
from portico.gateway.core.client_files.codex import CODEX
from portico.gateway.core.client_files.cursor import CURSOR
from portico.gateway.core.client_files.gemini import GEMINI
from portico.gateway.core.client_files.mcp_json import MCP_JSON
from portico.gateway.core.client_files.vscode import VSCODE
from portico.gateway.core.client_files.windsurf import WINDSURF
from portico.gateway.core.client_files.zed import ZED
from portico.gateway.core.connecting.errors import ClientCannot, UnknownClient
from portico.kernel.json import JsonObject

NAME: Final = "portico"
Scope = Literal["user", "project"]
_OF_A_MAC: Final = "/Library/Application Support/"
_TO_START: Final = 60
"""Seconds that a client may wait: the first start brings up a database."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Home:
    """A client that Portico can be connected to."""

    client: Client
    listed: str
    """What its list of servers is called."""
    programs: Sequence[str]
    """What is on the `PATH` if it is there."""
    project: Client | None = None
    """Whose form its file in a project has; None if it has none."""
    url: str | None = "url"
    """What it calls an address; None if its file knows none."""
    headers: str = "headers"
    stdio: JsonObject = field(default_factory=dict)
    """What else an entry has that is started."""
    http: JsonObject = field(default_factory=dict)
    """What else an entry has that is reached."""

    @property
    def name(self) -> str:
        return self.client.name

    @property
    def title(self) -> str:
        return self.client.title

    @property
    def names(self) -> tuple[str, str]:
        return self.listed, NAME

    def started(self, program: Sequence[str], environment: Mapping[str, str]) -> JsonObject:
        """The entry by which it starts `portico stdio`."""
        kind = {name: each for name, each in self.stdio.items() if name == "type"}
        more = {name: each for name, each in self.stdio.items() if name != "type"}
        given: JsonObject = {"env": dict(environment)} if environment else {}
        arguments = [*program[1:], "stdio", "--start"]
        return {**kind, "command": program[0], "args": arguments, **given, **more}

    def reached(self, server: str, key: str) -> JsonObject:
        """The entry by which it comes over HTTP. Raises `ClientCannot`."""
        if self.url is None:
            raise ClientCannot(
                f"The file of {self.title} knows no addresses.", fix="Leave --http away."
            )
        given = {self.headers: {"Authorization": f"Bearer {key}"}}
        return {**self.http, self.url: f"{server}/mcp", **given}

    def files(self, environment: Mapping[str, str], home: str, *, mac: bool) -> Sequence[str]:
        """Where it may keep what is for all of a user's work on such a machine, likeliest first."""
        of_a_mac = [each for each in self.client.user if _OF_A_MAC in each]
        others = [each for each in self.client.user if _OF_A_MAC not in each]
        places = of_a_mac if mac and of_a_mac else others
        return list(dict.fromkeys(expanded(each, environment, home) for each in places))

    def project_file(self, folder: str) -> str:
        """Raises `ClientCannot`."""
        if self.project is None:
            raise ClientCannot(
                f"{self.title} keeps no servers in a project.", fix="Leave --scope project away."
            )
        return f"{folder}/{self.project.project[0]}"


_LISTED: Final = "mcpServers"
_TYPED: Final[JsonObject] = {"type": "stdio"}
_OVER_HTTP: Final[JsonObject] = {"type": "http"}

HOMES: Final[Sequence[Home]] = (
    Home(
        client=CLAUDE_CODE,
        listed=_LISTED,
        programs=("claude",),
        project=MCP_JSON,
        stdio=_TYPED,
        http=_OVER_HTTP,
    ),
    Home(client=CLAUDE_DESKTOP, listed=_LISTED, programs=("claude-desktop",), url=None),
    Home(client=CURSOR, listed=_LISTED, programs=("cursor",), project=CURSOR),
    Home(
        client=VSCODE,
        listed="servers",
        programs=("code", "code-insiders", "codium"),
        project=VSCODE,
        stdio=_TYPED,
        http=_OVER_HTTP,
    ),
    Home(client=WINDSURF, listed=_LISTED, programs=("windsurf",), url="serverUrl"),
    Home(client=ZED, listed="context_servers", programs=("zed", "zeditor"), project=ZED),
    Home(
        client=CODEX,
        listed="mcp_servers",
        programs=("codex",),
        project=CODEX,
        headers="http_headers",
        stdio={"startup_timeout_sec": _TO_START},
    ),
    Home(client=GEMINI, listed=_LISTED, programs=("gemini",), project=GEMINI, url="httpUrl"),
)


def home_of(name: str) -> Home:
    """Raises `UnknownClient`."""
    for each in HOMES:
        if each.name == name:
            return each
    raise UnknownClient(name, _names())


def _names() -> Iterator[str]:
    return (each.name for each in HOMES)
