"""A server as something to talk to: where, what it offers, how it is doing, what it may ask."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Final

from portico.gateway.core.confinement import Unboxed
from portico.gateway.core.server import Era, Http, Identity, Inside, Launch, Server, ServerId
from portico.kernel.ids import PrincipalId, SpaceId
from portico.kernel.json import JsonObject
from portico.kernel.principal import Principal
from portico.sandbox.core.profile import Profile

SHARED: Final = "shared"
"""The credentials that a server's own launch names, the same for everybody in the space."""


@dataclass(frozen=True, slots=True)
class OnBehalf:
    """Whom a part of Portico calls other tools for."""

    caller: Principal
    in_run: bool = False
    """Whether it is a run that calls, and goes on with what it is given."""
    call: str | None = None
    """The id of the call: the same however often a run comes to make it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One conversation: a server, of a space, with one set of credentials."""

    space: SpaceId
    server: str
    launch: Launch
    launch_pin: str
    era: Era | None = None
    credentials: str = SHARED
    caller: PrincipalId | None = None
    """Who is calling, for a part of Portico alone: no other server is told."""
    acting: OnBehalf | None = None
    """The same with all that they may: for a part of Portico that calls other tools for them."""
    login: PrincipalId | None = None
    """Whose login it is reached with, if it wants one; for a server that is given no credentials
    by its launch."""
    links: bool = True
    """Whether who is calling may be given a link to log in: who may only read may not say as whom
    its principal is known elsewhere."""
    id: ServerId | None = None
    """Whose home it has."""
    profile: Profile | None = None
    unboxed: Unboxed | None = None

    @classmethod
    def of(
        cls,
        space: SpaceId,
        server: Server,
        caller: PrincipalId | None = None,
        *,
        links: bool = True,
        acting: OnBehalf | None = None,
    ) -> "Target":
        return cls(
            space=space,
            server=server.name,
            launch=server.launch,
            launch_pin=server.launch_pin,
            era=server.era,
            caller=caller if isinstance(server.launch, Inside) else None,
            acting=acting if isinstance(server.launch, Inside) else None,
            login=caller if _takes_logins(server.launch) else None,
            links=links,
            id=server.id,
            profile=server.profile,
            unboxed=server.unboxed,
        )

    @property
    def personal(self) -> bool:
        """Whether it is one person's conversation, with that person's login."""
        return self.credentials != SHARED

    def of_its_caller(self) -> "Target":
        """The same, as a conversation that nobody else has a part in."""
        return replace(self, credentials=str(self.login))

    def same_as(self, other: "Target") -> bool:
        """Whether whoever talks to the one can talk to the other: it is started in the same way,
        and held in the same way."""
        mine = (self.launch_pin, self.profile, self.unboxed)
        return mine == (other.launch_pin, other.profile, other.unboxed)


def _takes_logins(launch: Launch) -> bool:
    """Credentials that stand in its launch are everybody's, and need no login."""
    if not isinstance(launch, Http) or launch.secret_url is not None:
        return False
    return all(name.lower() != "authorization" for name in launch.headers)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What a server offered when it was asked; nothing in it has been checked."""

    identity: Identity
    era: Era
    instructions: str | None
    tools: Sequence[JsonObject]
    resources: Sequence[JsonObject] = ()
    resource_templates: Sequence[JsonObject] = ()
    prompts: Sequence[JsonObject] = ()


class Phase(StrEnum):
    IDLE = "idle"
    """Not started, or put to sleep again: it starts with the next call."""
    STARTING = "starting"
    RUNNING = "running"
    RESTING = "resting"
    """It broke, and is left alone for a while."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Vitals:
    phase: Phase
    process: int | None = None
    since: datetime | None = None
    until: datetime | None = None
    """When it will be tried again."""
    starts: int = 0
    calls_now: int = 0
    last_words: Sequence[str] = field(default_factory=tuple)
    """The last lines that it wrote for people, oldest first, without secrets."""
    lacking: str | None = None
    """What it cannot offer on this machine, and why, if it says so."""


class Wanted(StrEnum):
    """What a server may ask of whoever calls it, while it is being called."""

    ELICITATION = "elicitation/create"
    SAMPLING = "sampling/createMessage"
    ROOTS = "roots/list"


@dataclass(frozen=True, slots=True)
class Question:
    wanted: Wanted
    params: JsonObject
    key: str | None = None
    """Under which name the server asks, if it gives one."""
