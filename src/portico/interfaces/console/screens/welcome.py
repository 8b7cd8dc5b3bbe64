"""Welcome: what is set up, what is left to do, how to connect a client."""

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import PurePath
from typing import Any, Final
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from portico.agents.core.model_requests import ProviderState
from portico.gateway.core.calls import Phase
from portico.gateway.core.catalog_snapshot import ToolStatus
from portico.gateway.core.errors import ServerExists
from portico.gateway.core.launch import shown
from portico.gateway.core.servers import ADDED, OURS, Launch, Plain, Server, Stdio
from portico.gateway.servers import ServerDetails, ServerRegistration
from portico.gateway.surface import ContextWeight, WeighContext
from portico.guard.core.principals import Scope
from portico.interfaces.console.forms import InvalidForm, form_of
from portico.interfaces.console.page import PageContext, done, page, page_context, part
from portico.interfaces.http.use_cases import GatewayUseCases
from portico.kernel.principal import PrincipalKind


@dataclass(frozen=True, slots=True)
class Sample:
    name: str
    does: str
    launch: Launch

    @property
    def command(self) -> str:
        return shown(self.launch)


SAMPLES: Final = (
    Sample("time", "The time, anywhere.", Stdio("uvx", (Plain("mcp-server-time"),))),
    Sample("fetch", "Reads pages of the web.", Stdio("uvx", (Plain("mcp-server-fetch"),))),
    Sample(
        "memory",
        "A small graph of facts to remember.",
        Stdio("npx", (Plain("-y"), Plain("@modelcontextprotocol/server-memory"))),
    ),
)


def offered(known: Collection[str]) -> Sequence[Sample]:
    """Without those of a name that is there already."""
    return [each for each in SAMPLES if each.name not in known]


KEY: Final = "ptc_…"
"""Stands for the key, which nobody is shown twice."""
_STDIO: Final = {"command": "portico", "args": ["stdio", "--start"]}


@dataclass(frozen=True, slots=True)
class Client:
    name: str
    file: str
    snippet: str

    @property
    def needs_key(self) -> bool:
        return any(sign in self.snippet for sign in (KEY, "bearer_token_env_var"))


def clients(base_url: str) -> Sequence[Client]:
    """As their makers document it."""
    url, bearer = f"{base_url}/mcp", {"Authorization": f"Bearer {KEY}"}
    http = {"type": "http", "url": url, "headers": bearer}
    return [
        Client(
            "Claude Code",
            "in a terminal",
            f'claude mcp add --transport http portico {url} --header "Authorization: Bearer {KEY}"',
        ),
        Client("Claude Desktop", "claude_desktop_config.json", _json("mcpServers", _STDIO)),
        Client(
            "Cursor",
            "~/.cursor/mcp.json",
            _json("mcpServers", {"url": url, "headers": bearer}),
        ),
        Client("VS Code", ".vscode/mcp.json", _json("servers", http)),
        Client(
            "Windsurf",
            "~/.codeium/windsurf/mcp_config.json",
            _json("mcpServers", {"serverUrl": url, "headers": bearer}),
        ),
        Client("Zed", "settings.json", _json("context_servers", _STDIO)),
        Client(
            "Codex",
            "~/.codex/config.toml",
            f'[mcp_servers.portico]\nurl = "{url}"\nbearer_token_env_var = "PORTICO_KEY"',
        ),
        Client(
            "Gemini CLI",
            "~/.gemini/settings.json",
            _json("mcpServers", {"httpUrl": url, "headers": bearer}),
        ),
        Client("Any other, over HTTP", "its list of servers", _json("mcpServers", http)),
        Client("Any other, over stdio", "its list of servers", _json("mcpServers", _STDIO)),
    ]


def _json(listed: str, entry: object) -> str:
    return json.dumps({listed: {"portico": entry}}, indent=2, ensure_ascii=False)


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


def progress(looks: Sequence[ServerDetails]) -> Progress:
    """What waits for somebody first."""
    steps = sorted(map(_step, looks), key=lambda each: (each.done == 3, each.name))
    return Progress(steps=steps, origins=_origins(looks))


def _step(look: ServerDetails) -> ServerStep:
    server = look.server
    done, state, tone = _state(look)
    waiting = (ToolStatus.PENDING, ToolStatus.NEW, ToolStatus.CHANGED)
    there = (ToolStatus.LIVE, *waiting)
    asked = server.may_start and server.listed_at is None and server.failure is None
    return ServerStep(
        name=server.name,
        path=f"/servers/{quote(server.name, safe='')}",
        origin=origin_words(server.origin),
        command=shown(server.launch),
        state=state,
        tone=tone,
        done=done,
        busy=asked or look.health.phase is Phase.STARTING,
        tools=sum(look.tools.get(each, 0) for each in there),
        waiting=sum(look.tools.get(each, 0) for each in waiting),
        tokens=look.tokens,
        failure=server.failure if server.may_start else None,
    )


def _state(look: ServerDetails) -> tuple[int, str, str]:
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
    new = look.tools.get(ToolStatus.NEW, 0) + look.tools.get(ToolStatus.CHANGED, 0)
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


def _origins(looks: Sequence[ServerDetails]) -> Sequence[Origin]:
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


WINDOW: Final = 200_000
"""Tokens that many models can hold."""
_SCALE: Final = 10_000
"""Tokens that the bars are at least as long as, so that next to nothing looks like it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstStep:
    name: str
    done: bool
    told: str
    path: str
    action: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Weight:
    """Two bars, to scale."""

    servers: int
    tools: int
    before: int
    after: int
    before_share: float
    """Of a window."""
    after_share: float
    saved: float
    """Of what it was before; nothing where there is nothing yet."""
    after_width: float
    """From 0 to 100; so is the next."""
    before_width: float
    tokenizer: str


def weight(found: ContextWeight) -> Weight:
    most = max(found.before, found.after, _SCALE)
    saved = 1 - found.after / found.before if found.before else 0.0
    return Weight(
        servers=found.servers,
        tools=found.tools,
        before=found.before,
        after=found.after,
        before_share=found.before / WINDOW,
        after_share=found.after / WINDOW,
        saved=max(saved, 0.0),
        before_width=100 * found.before / most,
        after_width=100 * found.after / most,
        tokenizer=found.tokenizer,
    )


def first_steps(
    servers: Progress, providers: Sequence[ProviderState], client_seen: datetime | None
) -> Sequence[FirstStep]:
    answering = [each for each in providers if each.reachable]
    models = sum(each.models for each in answering)
    return [
        FirstStep(
            name="Servers of tools",
            done=servers.ready > 0,
            told=_servers(servers),
            path="#servers",
            action="See them",
        ),
        FirstStep(
            name="A model",
            done=models > 0,
            told=_models(models) if models else "none answers yet",
            path="#models",
            action="See them",
        ),
        FirstStep(
            name="A client",
            done=client_seen is not None,
            told="an agent has come in" if client_seen else "no agent has come in yet",
            path="#connect",
            action="Connect one",
        ),
    ]


def _models(number: int) -> str:
    return "one answers" if number == 1 else f"{number} to choose from"


def _servers(servers: Progress) -> str:
    if not servers.steps:
        return "none yet"
    return f"{servers.ready} of {len(servers.steps)} in use"


_LOOKED_THROUGH: Final = 200
_SAID: Final = {
    "samples": "Added, and not started. Look at each of them, and allow it.",
}


async def show(request: Request) -> Response:
    desk = page_context(request)
    servers, providers = await _server_progress(desk), await _providers(desk)
    values = {
        **await _of_servers(desk, servers),
        "providers": providers,
        "steps": first_steps(servers, providers, await _client_seen(desk)),
        "samples": offered([each.name for each in servers.steps]),
        "clients": clients(desk.services.use.base_url),
        "said": _SAID.get(request.query_params.get("done", "")),
    }
    return await page(request, "welcome/page.html", values, title="Welcome")


async def show_servers(request: Request) -> Response:
    """How far they have come, asked for every few seconds."""
    desk = page_context(request)
    values = await _of_servers(desk, await _server_progress(desk))
    return part(request, "welcome/_servers.html", values)


async def add_samples(request: Request) -> Response:
    """They are known then, and wait to be allowed as any other does. Raises `NotPermitted`."""
    desk, form = page_context(request), await form_of(request)
    wanted = [each for each in SAMPLES if each.name in form.many("sample")]
    if not wanted:
        raise InvalidForm("sample", "must be ticked")
    for each in wanted:
        wish = ServerRegistration(name=each.name, launch=each.launch)
        try:
            await desk.services.gateway.add_server(desk.caller, wish)
        except ServerExists:
            continue  # it is there, as was asked
    return done("/welcome", "samples")


async def _server_progress(desk: PageContext) -> Progress:
    if not desk.caller.may(Scope.SERVERS_READ):
        return progress([])
    return progress(await desk.services.gateway.list_servers(desk.caller))


async def _of_servers(desk: PageContext, servers: Progress) -> dict[str, Any]:
    return {"servers": servers, "weight": await _weight(desk)}


async def _weight(desk: PageContext) -> Weight | None:
    if not desk.caller.may(Scope.SERVERS_READ):
        return None
    return weight(await weighing(desk.services.gateway)(desk.caller))


def weighing(gateway: GatewayUseCases) -> WeighContext:
    """The same that `portico init` says at its end, of what the gateway has at hand."""
    return WeighContext(
        servers=gateway.list_servers.servers,
        tools=gateway.list_servers.tools,
        tokenizer=gateway.find_tools.tokenizer,
    )


async def _providers(desk: PageContext) -> list[ProviderState]:
    if not desk.caller.may(Scope.MODELS_READ):
        return []
    return [*await desk.services.models.list_providers(desk.caller)]


async def _client_seen(desk: PageContext) -> datetime | None:
    """When an agent's key was last used, as far as whoever looks may know."""
    use, caller = desk.services.use, desk.caller
    if not (caller.may(Scope.KEYS_READ) and caller.may(Scope.PRINCIPALS_READ)):
        return None
    people = await use.list_principals(caller, after=None, limit=_LOOKED_THROUGH)
    agents = {each.id for each in people if each.kind is PrincipalKind.AGENT}
    keys = await use.list_keys(caller, after=None, limit=_LOOKED_THROUGH)
    used = [key.last_used_at for key in keys if key.principal in agents and key.last_used_at]
    return max(used, default=None)


routes: Final = [
    Route("/welcome", show, methods=["GET"]),
    Route("/welcome/servers", show_servers, methods=["GET"]),
    Route("/welcome/samples", add_samples, methods=["POST"]),
]
