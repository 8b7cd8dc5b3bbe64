"""MCP servers: how one is reached, run and confined, and how it is doing."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Final, Literal

from portico.gateway.core.catalog_snapshot import Tool, ToolStatus
from portico.gateway.core.errors import ServerDisabled, ServerGone, ServerNotApproved
from portico.kernel.budget import NO_TOKENS, Tokens
from portico.kernel.ids import Id
from portico.kernel.json import JsonObject
from portico.kernel.label import PUBLIC, Label, Level
from portico.sandbox.core.profile import Network, NetworkEndpoint, Profile


@dataclass(frozen=True, slots=True, kw_only=True)
class Unsandboxed:
    """Somebody has agreed that a server runs with all rights of Portico itself, where there is no
    box: exactly this launch of it."""

    by: str
    at: datetime
    launch_pin: str


class ConfinementMode(StrEnum):
    """How a server is held."""

    BOXED = "boxed"
    UNBOXED = "unboxed"
    """By the configuration, or with consent: it has all rights of Portico itself."""
    REFUSED = "refused"
    """There is no box for it here, and nobody has agreed to do without: it does not start."""
    ELSEWHERE = "elsewhere"
    """It is not started by us."""
    OURS = "ours"
    """It is a part of Portico, and nobody else's code."""


_PIN: Final = 12

_ELSE: Final = {
    ConfinementMode.UNBOXED: "NOT BOXED: all rights of Portico itself",
    ConfinementMode.REFUSED: "no box here: does not start",
    ConfinementMode.ELSEWHERE: "runs elsewhere",
    ConfinementMode.OURS: "part of Portico",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Confinement:
    mode: ConfinementMode
    profile: Profile | None
    """What it may reach beside its own program and a home of its own; None if nothing of it
    is started here."""
    stated: bool = False
    """Whether somebody has said so, or nobody has said otherwise."""


def hold_of(
    server: str,
    launch_pin: str,
    consent: Unsandboxed | None,
    *,
    offered: bool,
    lacking: bool,
    named: Collection[str],
) -> ConfinementMode:
    """Only the configuration lets anybody out of a box; `named` are those, as `let_out` has it.
    A consent counts where there is none at all, and not where one has just failed."""
    if let_out(server, launch_pin) in named:
        return ConfinementMode.UNBOXED
    if offered:
        return ConfinementMode.BOXED
    agreed = lacking and consent is not None and consent.launch_pin == launch_pin
    return ConfinementMode.UNBOXED if agreed else ConfinementMode.REFUSED


def let_out(server: str, launch_pin: str) -> str:
    """What the configuration has to say to let it out: its name, and the beginning of the pin of
    exactly this launch. Another one under the same name is not meant."""
    return f"{server}:{launch_pin[:_PIN]}"


def said(confinement: Confinement, home: str = "") -> str:
    """In one line: `network: public · writes ~/notes · own home`. `home` is written as ~."""
    parts = _parts(confinement.profile or Profile(), home)
    return _ELSE.get(confinement.mode) or " · ".join(parts)


def _parts(profile: Profile, home: str) -> Iterable[str]:
    reach = [str(place) for place in profile.reach]
    everywhere = [] if profile.network is Network.NONE and reach else [profile.network.value]
    yield "network: " + ", ".join([*everywhere, *reach])
    for verb, paths in (("writes", profile.write), ("reads", profile.read)):
        if paths:
            yield f"{verb} " + ", ".join(_short(path, home) for path in paths)
    yield "own home"


def _short(path: str, home: str) -> str:
    return f"~{path[len(home) :]}" if home and within(path, home) else path


def within(path: str, folder: str) -> bool:
    """Both whole paths, without dots in them."""
    return path == folder or path.startswith(folder if folder.endswith("/") else f"{folder}/")


def widens(before: Profile, after: Profile) -> bool:
    """Whether something can be reached with `after` that could not be with `before`."""
    readable = (*before.read, *before.write)
    return (
        any(not _covered(path, before.write) for path in after.write)
        or any(not _covered(path, readable) for path in after.read)
        or (after.network is Network.PUBLIC and before.network is Network.NONE)
        or any(not _reached(place, before) for place in after.reach)
    )


def _covered(path: str, folders: Iterable[str]) -> bool:
    return any(within(path, folder) for folder in folders)


def _reached(place: NetworkEndpoint, before: Profile) -> bool:
    """A place that is named may be this machine, whatever its name; the public network is not."""
    return place in before.reach


TEAM: Final = Label(Level.TEAM)

ADDED: Final = "added"
"""The origin of a server that somebody has told us of, and no file."""

OURS: Final = "portico"
"""The origin of a server that is a part of Portico itself: the one that holds its own tools."""

BUILTIN: Final = "builtin"
"""What that one is called, wherever nobody has given the name to another before."""

WORKFLOWS: Final = "workflows"
"""The same of the one whose tools are the plans that a space has saved."""

AGENTS: Final = "agents"
"""The same of the one whose tools are the agents that a space has exposed."""

RESERVED: Final = (BUILTIN, WORKFLOWS, AGENTS)
"""Names that nobody else's server is given."""


class ServerId(Id):
    __slots__ = ()
    prefix = "srv"


@dataclass(frozen=True, slots=True)
class Plain:
    """A value that is no secret, written where it is used."""

    value: str


@dataclass(frozen=True, slots=True)
class FromEnvironment:
    """A variable of the environment that Portico itself runs in."""

    variable: str
    default: str | None = None


Spelling = Literal["braces", "env", "shell"]
"""How a file writes variables: `${X}` and `${X:-default}`; `${env:X}`; as the first and `$X`."""


@dataclass(frozen=True, slots=True)
class FromFile:
    """A value inside a file of the user's, read anew each time a server is started: by
    `client_files.document.text_at`."""

    path: str
    pointer: str
    """RFC 6901, e.g. `/mcpServers/github/env/GITHUB_TOKEN`."""
    spelling: Spelling | None = None
    """Set where variables stand in the value, which `client_files.variables.filled` fills in."""


@dataclass(frozen=True, slots=True)
class FromSecret:
    """What was given to Portico by name, or lies in the keyring of the system; read anew each time
    a server is started."""

    ref: str
    """As `guard.core.secret` writes it: `secret:github`, `keyring:SERVICE/NAME`."""


@dataclass(frozen=True, slots=True)
class Template:
    """References inside a text that is itself no secret: `Authorization: Bearer ${TOKEN}`."""

    parts: tuple[str | FromEnvironment | FromSecret, ...]


Value = Plain | FromEnvironment | FromFile | FromSecret | Template
"""What a server is given. Only references are kept, except for what is no secret."""


@dataclass(frozen=True, slots=True)
class Stdio:
    """A process of ours, spoken to through its input and output."""

    command: str
    arguments: tuple[Value, ...] = ()
    environment: Mapping[str, Value] = field(default_factory=dict)
    folder: str | None = None


@dataclass(frozen=True, slots=True)
class Http:
    """Somebody's server, spoken to over HTTP; `transport` None: whatever it turns out to speak."""

    url: str
    headers: Mapping[str, Value] = field(default_factory=dict)
    transport: Literal["streamable", "sse"] | None = None
    secret_url: FromFile | None = None
    """The address itself, if a key or a variable stands in it; `url` is what can be shown of it."""


@dataclass(frozen=True, slots=True)
class Inside:
    """A part of Portico itself: no process, no address, and nobody else's code."""

    name: str
    version: str
    """Of what it offers: another one waits to be approved anew."""


Foreign = Stdio | Http
"""Somebody else's: this is what files describe."""

Launch = Foreign | Inside


class ProtocolRevision(StrEnum):
    """How a server wants to be greeted."""

    MODERN = "modern"
    """2026-07-28: no handshake, each request stands alone."""
    LEGACY = "legacy"
    """Up to 2025-11-25: a handshake, then a session."""


@dataclass(frozen=True, slots=True)
class Identity:
    """What a server says it is."""

    name: str
    version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    id: ServerId
    name: str
    origin: str
    """`added`; the file that names it, which then is the only place to change it; or `portico`."""
    launch: Launch
    launch_pin: str
    created_at: datetime
    entry: str | None = None
    """What its file calls it; `name` may differ, so that no two servers share one."""
    enabled: bool = True
    approved_launch_pin: str | None = None
    """The launch that somebody allowed to be started."""
    approved_launch: Launch | None = None
    """What that was, so that it can be told what has changed since."""
    approved_by: str | None = None
    approved_at: datetime | None = None
    tools_accepted: bool = False
    """Somebody has looked at what it offers, and let it into search."""
    set_pin: str | None = None
    accepted_set_pin: str | None = None
    instructions: str | None = None
    """As last seen; shown to nobody's model unless `accepted_instructions` is the same."""
    accepted_instructions: str | None = None
    offers: JsonObject = field(default_factory=dict)
    """Its `resources`, `resource_templates` and `prompts` as last seen, each a list."""
    accepted_offers: JsonObject = field(default_factory=dict)
    identity: Identity | None = None
    protocol_revision: ProtocolRevision | None = None
    listed_at: datetime | None = None
    failure: str | None = None
    """Why it could not be listed the last time, if it could not."""
    timeout: float | None = None
    """Seconds for one call; None for the setting."""
    profile: Profile | None = None
    """What it may reach, if somebody has said so; None for what follows from its launch."""
    unsandboxed: Unsandboxed | None = None
    """The consent to start it without a box, where there is none."""
    label: Label = PUBLIC
    """What its results carry; whoever is not cleared for it does not see the server at all."""
    clearance: Label = TEAM
    """The most that may be sent to it."""
    trusted: bool = False
    """Somebody has said that its results are no stranger's words."""
    gone_at: datetime | None = None
    """Since when its file does not ask for it any more; what was approved is kept for a while."""

    @property
    def may_start(self) -> bool:
        approved = self.approved_launch_pin == self.launch_pin
        return approved and self.enabled and self.gone_at is None

    @property
    def approved(self) -> bool:
        return self.may_start and self.tools_accepted

    @property
    def holds_workflows(self) -> bool:
        """Whether its tools are the workflows that the space has saved."""
        return isinstance(self.launch, Inside) and self.launch.name == WORKFLOWS

    @property
    def holds_agents(self) -> bool:
        """Whether its tools are the agents that the space has exposed."""
        return isinstance(self.launch, Inside) and self.launch.name == AGENTS

    @property
    def said(self) -> str:
        """What it says of itself, as far as somebody has approved it."""
        told = self.accepted_instructions
        return told if told is not None and told == self.instructions else ""


def check_may_start(server: Server) -> None:
    """Raises `ServerGone`, `ServerDisabled`, `ServerNotApproved`."""
    if server.gone_at is not None:
        raise ServerGone(server.name, server.origin)
    if not server.enabled:
        raise ServerDisabled(server.name)
    if not server.may_start:
        raise ServerNotApproved(server.name)


def as_approved(server: Server) -> Server:
    """Without what it said, as far as nobody has approved that."""
    agreed = server.approved
    return replace(
        server,
        instructions=server.said or None if agreed else None,
        offers=server.offers if agreed and server.offers == server.accepted_offers else {},
        identity=server.identity if agreed else None,
        failure=None if server.failure is None else "It could not be asked what it offers.",
    )


def standing(server: Server, tool: Tool) -> ToolStatus:
    if tool.gone:
        return ToolStatus.GONE
    if tool.refused is not None:
        return ToolStatus.REFUSED
    if not server.approved:
        return ToolStatus.PENDING
    if tool.accepted_pin is None:
        return ToolStatus.NEW
    return ToolStatus.LIVE if tool.accepted_pin == tool.pin else ToolStatus.CHANGED


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCounts:
    """Of the tools themselves; how each stands depends on its server as well."""

    agreed: int = 0
    new: int = 0
    changed: int = 0
    refused: int = 0
    gone: int = 0
    tokens: Tokens = NO_TOKENS
    """What those that are there would cost a client without a gateway."""

    @property
    def there(self) -> int:
        return self.agreed + self.new + self.changed + self.refused


def tally(tools: Iterable[Tool]) -> ToolCounts:
    counted = dict.fromkeys(("agreed", "new", "changed", "refused", "gone"), 0)
    tokens = 0
    for tool in tools:
        counted[_as(tool)] += 1
        tokens += 0 if tool.gone else tool.tokens
    return ToolCounts(tokens=Tokens(tokens), **counted)


def _as(tool: Tool) -> str:
    if tool.gone:
        return "gone"
    if tool.refused is not None:
        return "refused"
    if tool.accepted_pin is None:
        return "new"
    return "agreed" if tool.accepted_pin == tool.pin else "changed"


def standings(server: Server, counted: ToolCounts) -> Mapping[ToolStatus, int]:
    """How many of its tools stand how; what there is none of is left out."""
    if server.approved:
        living = {
            ToolStatus.LIVE: counted.agreed,
            ToolStatus.NEW: counted.new,
            ToolStatus.CHANGED: counted.changed,
        }
    else:
        living = {ToolStatus.PENDING: counted.agreed + counted.new + counted.changed}
    every = {**living, ToolStatus.REFUSED: counted.refused, ToolStatus.GONE: counted.gone}
    return {standing: number for standing, number in every.items() if number}
