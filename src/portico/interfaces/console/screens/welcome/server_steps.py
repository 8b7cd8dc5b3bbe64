"""How far each server has come: allowed to be started, asked what it offers, let in."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Final
from urllib.parse import quote

from portico.gateway.core.calls import Phase
from portico.gateway.core.catalog_snapshot import Standing
from portico.gateway.core.launch import shown
from portico.gateway.core.servers import ADDED, OURS, Server
from portico.gateway.servers import ServerLook

OURS_WORDS: Final = "part of Portico"
_SHOWN: Final = 25
_CLIENTS: Final = (
    ("claude_desktop_config.json", "Claude Desktop"),
    (".claude.json", "Claude Code"),
    (".cursor", "Cursor"),
    (".vscode", "VS Code"),
    ("windsurf", "Windsurf"),
    ("zed", "Zed"),
    (".codex", "Codex"),
    (".gemini", "Gemini CLI"),
    (".mcp.json", "a project's .mcp.json"),
    ("portico.toml", "portico.toml"),
)
"""A part of the path of a file, and whose file that is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerStep:
    name: str
    path: str
    origin: str
    command: str
    state: str
    tone: str
    done: int
    """Of three: allowed, asked, let in."""
    busy: bool
    """It is being started, or asked what it offers."""
    tools: int
    waiting: int
    """Tools that somebody has to let in."""
    tokens: int
    failure: str | None


@dataclass(frozen=True, slots=True)
class Origin:
    """A file of some client, or wherever else servers come from."""

    name: str
    file: str | None
    servers: int
    ready: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    steps: Sequence[ServerStep]
    origins: Sequence[Origin]

    @property
    def shown(self) -> Sequence[ServerStep]:
        """The first of them; all are under Servers."""
        return self.steps[:_SHOWN]

    @property
    def busy(self) -> bool:
        return any(each.busy for each in self.steps)

    @property
    def only_ours(self) -> bool:
        """Whether all that there is came with Portico."""
        return all(each.file is None and each.name == OURS_WORDS for each in self.origins)

    @property
    def ready(self) -> int:
        return sum(each.done == 3 for each in self.steps)

    @property
    def asked(self) -> int:
        """That have said what they offer."""
        return sum(each.done >= 2 for each in self.steps)


def progress(looks: Sequence[ServerLook]) -> Progress:
    """What waits for somebody first."""
    steps = sorted(map(_step, looks), key=lambda each: (each.done == 3, each.name))
    return Progress(steps=steps, origins=_origins(looks))


def _step(look: ServerLook) -> ServerStep:
    server = look.server
    done, state, tone = _state(look)
    waiting = (Standing.PENDING, Standing.NEW, Standing.CHANGED)
    there = (Standing.LIVE, *waiting)
    asked = server.may_start and server.listed_at is None and server.failure is None
    return ServerStep(
        name=server.name,
        path=f"/servers/{quote(server.name, safe='')}",
        origin=origin_words(server.origin),
        command=shown(server.launch),
        state=state,
        tone=tone,
        done=done,
        busy=asked or look.vitals.phase is Phase.STARTING,
        tools=sum(look.tools.get(each, 0) for each in there),
        waiting=sum(look.tools.get(each, 0) for each in waiting),
        tokens=look.tokens,
        failure=server.failure if server.may_start else None,
    )


def _state(look: ServerLook) -> tuple[int, str, str]:
    """How many of the three are done, what that is in words, and the tone."""
    server = look.server
    if not server.may_start:
        return 0, _unstarted(server), "warn" if _waits(server) else ""
    if server.listed_at is None:
        if server.failure is not None:
            return 1, "could not be asked", "bad"
        return 1, "being asked what it offers", "run"
    if not server.approved:
        return 2, "its tools wait to be let in", "warn"
    if server.failure is not None:
        return 2, "could not be asked the last time", "bad"
    new = look.tools.get(Standing.NEW, 0) + look.tools.get(Standing.CHANGED, 0)
    return 3, "in use" if not new else f"in use, {new} new or changed", "ok" if not new else "warn"


def _waits(server: Server) -> bool:
    return server.enabled and server.gone_at is None


def _unstarted(server: Server) -> str:
    if server.gone_at is not None:
        return "gone from its file"
    return "waits for approval" if server.enabled else "switched off"


def origin_words(origin: str) -> str:
    if origin == ADDED:
        return "added by hand"
    if origin == OURS:
        return OURS_WORDS
    return next((name for sign, name in _CLIENTS if sign in origin), PurePath(origin).name)


def _origins(looks: Sequence[ServerLook]) -> Sequence[Origin]:
    found: dict[str, list[Server]] = {}
    for look in looks:
        found.setdefault(look.server.origin, []).append(look.server)
    return [
        Origin(
            origin_words(origin),
            None if origin in {ADDED, OURS} else origin,
            len(servers),
            sum(each.approved for each in servers),
        )
        for origin, servers in found.items()
    ]
