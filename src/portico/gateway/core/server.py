"""A server of tools: how it is started or reached, where we know it from, what was approved."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Final, Literal

from portico.gateway.core.confinement import Unboxed
from portico.gateway.core.errors import ServerDisabled, ServerGone, ServerNotApproved
from portico.gateway.core.tool import Standing, Tool
from portico.kernel.ids import Id
from portico.kernel.json import JsonObject
from portico.kernel.label import PUBLIC, Label, Level
from portico.sandbox.core.profile import Profile

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


class Era(StrEnum):
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
    era: Era | None = None
    listed_at: datetime | None = None
    failure: str | None = None
    """Why it could not be listed the last time, if it could not."""
    timeout: float | None = None
    """Seconds for one call; None for the setting."""
    profile: Profile | None = None
    """What it may reach, if somebody has said so; None for what follows from its launch."""
    unboxed: Unboxed | None = None
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


def standing(server: Server, tool: Tool) -> Standing:
    if tool.gone:
        return Standing.GONE
    if tool.refused is not None:
        return Standing.REFUSED
    if not server.approved:
        return Standing.PENDING
    if tool.accepted_pin is None:
        return Standing.NEW
    return Standing.LIVE if tool.accepted_pin == tool.pin else Standing.CHANGED
