"""Calls of tools: target, record, outcome, audit entry."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from portico.gateway.core.catalog_snapshot import Tool, ToolRef, ToolStatus
from portico.gateway.core.errors import (
    InputRefused,
    InputUnsupported,
    UpstreamDown,
    UpstreamRefused,
    UpstreamTimedOut,
)
from portico.gateway.core.servers import (
    Http,
    Identity,
    Inside,
    Launch,
    ProtocolRevision,
    Server,
    ServerId,
    Unsandboxed,
    standing,
)
from portico.guard.core.access_request import ActionTarget
from portico.guard.core.approvals import Waiter
from portico.guard.core.audit import AuditEntry
from portico.kernel.effect import Effect
from portico.kernel.errors import PorticoError
from portico.kernel.ids import ContextId, Id, PrincipalId, RunId, SpaceId
from portico.kernel.json import JsonObject, JsonValue
from portico.kernel.label import PUBLIC, Label
from portico.kernel.principal import Principal
from portico.sandbox.core.profile import Network, Profile


def aim_at(server: Server, ref: ToolRef, effect: Effect, pin: str) -> ActionTarget:
    """`effect` and `pin` as an operator has accepted them together."""
    return ActionTarget(
        tool=str(ref),
        server=server.name,
        effect=effect,
        pin=pin,
        launch=server.launch_pin,
        live=server.approved,
        label=server.label,
        clearance=server.clearance,
        trusted=server.trusted,
        outside=_outside(server),
        here=not isinstance(server.launch, Http),
    )


def aim_beside(server: Server, kind: str) -> ActionTarget:
    """At a resource, a prompt or a completion of it. Nobody accepts effects of these, and any of
    them can carry something out: it is a read from outside, and nothing less."""
    return aim_at(server, ToolRef(server.name, kind), Effect.EXTERNAL_READ, server.launch_pin)


def _outside(server: Server) -> bool:
    """Over the network, or where nothing keeps it from there: that it only reads here is its own
    word then."""
    profile = server.profile
    online = profile is not None and (profile.network is not Network.NONE or bool(profile.reach))
    return isinstance(server.launch, Http) or server.unsandboxed is not None or online


class CallId(Id):
    __slots__ = ()
    prefix = "cal"


class ResultId(Id):
    __slots__ = ()
    prefix = "res"


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool gave back, in the protocol's own form; its own failure is an answer too."""

    content: Sequence[JsonObject]
    structured: JsonValue = None
    failed: bool = False
    meta: JsonObject | None = None

    @property
    def size(self) -> int:
        """Of its texts and attachments, in characters."""
        fields = ("text", "data", "blob")
        blocks = [*self.content, *(_inside(block) for block in self.content)]
        texts = (block.get(field) for block in blocks for field in fields)
        return sum(len(text) for text in texts if isinstance(text, str))


def _inside(block: JsonObject) -> JsonObject:
    resource = block.get("resource")
    return resource if isinstance(resource, Mapping) else {}


@dataclass(frozen=True, slots=True)
class Called:
    answer: ToolResult
    call: CallId
    stored: ResultId | None = None
    """Where the whole of it is, if what is answered is only its beginning."""


class Verb(StrEnum):
    """The three doors through which a tool can be called; a client asks its user about each."""

    READ = "call_read"
    WRITE = "call_write"
    DESTRUCTIVE = "call_destructive"


def verb_for(effect: Effect) -> Verb:
    if effect.is_read_only:
        return Verb.READ
    return Verb.DESTRUCTIVE if effect.destroys else Verb.WRITE


class CallOutcome(StrEnum):
    DONE = "done"
    FAILED = "failed"
    """The tool ran and said that it failed."""
    BROKEN = "broken"
    """The server was not there, or did not answer."""
    TIMED_OUT = "timed_out"
    CANCELLED = "cancelled"
    UNCERTAIN = "uncertain"
    """It may have been done: we went away before we knew."""

    @property
    def known_failure(self) -> bool:
        """Whether it is known that it came to nothing, so that it may be made again."""
        return self in {CallOutcome.FAILED, CallOutcome.BROKEN}

    @property
    def wrong(self) -> bool:
        """Whether it counts as an error; that a caller had enough of waiting does not."""
        return self not in {CallOutcome.DONE, CallOutcome.CANCELLED}


@dataclass(frozen=True, slots=True)
class CallClaim:
    """A call that a run makes once. Whoever finds it begun already knows that somebody died in the
    middle of it."""

    id: CallId
    earlier: tuple[CallId, ...] = ()
    """The same call, as it was made before somebody took the run up again: those that are known to
    have failed do not count."""
    run: RunId | None = None
    leg: int = 1
    """Of the run. Somebody may not know yet that the run is over, or that a later leg is on: then
    it is not theirs any more to make a call."""

    @property
    def first(self) -> CallId:
        """The same for every leg."""
        return self.earlier[0] if self.earlier else self.id

    @property
    def result(self) -> ResultId:
        """Where what it gave is kept, so that it is found by whoever did not see it answer."""
        return ResultId(self.id.value)


def claim_of(run: RunId, step: str, leg: int) -> CallClaim:
    names = (f"call of {run} {number} {step}" for number in range(1, leg + 1))
    ids = [CallId.of_digest(name.encode()) for name in names]
    return CallClaim(ids[-1], tuple(ids[:-1]), run, leg)


def begun_before(outcome: CallOutcome | None, *, own: bool) -> bool:
    """Whether a call that is in the record keeps its claim from being used."""
    return own or outcome is None or not outcome.known_failure


@dataclass(frozen=True, slots=True, kw_only=True)
class ForRun:
    """How a run makes a call: once, and without waiting in place for anybody."""

    claim: CallClaim
    waiter: Waiter | None = None
    """Whom an answer lets go on; without one it is asked as for any other call."""
    timeout: timedelta | None = None
    """In place of its server's, where it is shorter."""
    label: Label = PUBLIC
    """Of the run: that it made this call is as secret as the run is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """For the record: who, what, with what, how long, and what came of it."""

    id: CallId
    principal: PrincipalId
    ref: ToolRef
    effect: Effect
    pin: str
    arguments: JsonValue
    """Without secrets, and cut where they are long."""
    started_at: datetime
    due_at: datetime | None = None
    """By when it is given up. Without an outcome long after that, nobody knows."""
    took: timedelta | None = None
    outcome: CallOutcome | None = None
    """None while it is under way."""
    error: str | None = None
    bytes_out: int = 0
    label: Label = PUBLIC
    """How secret this is: at least as its server's results, and as what its task had read."""
    context: ContextId | None = None
    """The task that it was made in."""


UNBOUNDED: Final = timedelta(hours=1)
"""How long a call is waited for that does not say by when it is given up."""
MARGIN: Final = timedelta(minutes=1)
"""How much later than that its outcome may be written down."""


def lost(call: Call, now: datetime) -> bool:
    """Whether somebody else's call must have been given up by now without a word."""
    due = call.started_at + UNBOUNDED if call.due_at is None else call.due_at
    return call.outcome is None and now > due + MARGIN


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredResult:
    """What is kept of an answer, and what whoever reads on in it takes in."""

    content: JsonValue
    label: Label = PUBLIC
    untrusted: bool = True


def sealed_with(space: SpaceId, principal: PrincipalId, result: ResultId) -> bytes:
    """What a kept result is sealed together with: moved to another place, it does not open."""
    return f"result {space} {principal} {result}".encode()


@dataclass(frozen=True, slots=True)
class CallStats:
    """How a server or a tool has been doing."""

    name: str
    calls: int
    failures: int
    p50: timedelta
    p95: timedelta
    p99: timedelta
    last_at: datetime | None

    @property
    def error_rate(self) -> float:
        return self.failures / self.calls if self.calls else 0.0


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
class UpstreamTarget:
    """One conversation: a server, of a space, with one set of credentials."""

    space: SpaceId
    server: str
    launch: Launch
    launch_pin: str
    protocol_revision: ProtocolRevision | None = None
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
    unsandboxed: Unsandboxed | None = None

    @classmethod
    def of(
        cls,
        space: SpaceId,
        server: Server,
        caller: PrincipalId | None = None,
        *,
        links: bool = True,
        acting: OnBehalf | None = None,
    ) -> "UpstreamTarget":
        return cls(
            space=space,
            server=server.name,
            launch=server.launch,
            launch_pin=server.launch_pin,
            protocol_revision=server.protocol_revision,
            caller=caller if isinstance(server.launch, Inside) else None,
            acting=acting if isinstance(server.launch, Inside) else None,
            login=caller if _takes_logins(server.launch) else None,
            links=links,
            id=server.id,
            profile=server.profile,
            unsandboxed=server.unsandboxed,
        )

    @property
    def personal(self) -> bool:
        """Whether it is one person's conversation, with that person's login."""
        return self.credentials != SHARED

    def of_its_caller(self) -> "UpstreamTarget":
        """The same, as a conversation that nobody else has a part in."""
        return replace(self, credentials=str(self.login))

    def same_as(self, other: "UpstreamTarget") -> bool:
        """Whether whoever talks to the one can talk to the other: it is started in the same way,
        and held in the same way."""
        mine = (self.launch_pin, self.profile, self.unsandboxed)
        return mine == (other.launch_pin, other.profile, other.unsandboxed)


def _takes_logins(launch: Launch) -> bool:
    """Credentials that stand in its launch are everybody's, and need no login."""
    if not isinstance(launch, Http) or launch.secret_url is not None:
        return False
    return all(name.lower() != "authorization" for name in launch.headers)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerListing:
    """What a server offered when it was asked; nothing in it has been checked."""

    identity: Identity
    protocol_revision: ProtocolRevision
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
class ServerHealth:
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


class ClientCapability(StrEnum):
    """What a server may ask of whoever calls it, while it is being called."""

    ELICITATION = "elicitation/create"
    SAMPLING = "sampling/createMessage"
    ROOTS = "roots/list"


@dataclass(frozen=True, slots=True)
class Question:
    wanted: ClientCapability
    params: JsonObject
    key: str | None = None
    """Under which name the server asks, if it gives one."""


_TEXT: Final = 500
_ITEMS: Final = 20
_DEEP: Final = 6
_CUT: Final = "…"


def for_the_record(value: JsonValue, depth: int = 0) -> JsonValue:
    """Long texts, long lists and what lies deep are cut, and the cut is marked."""
    match value:
        case str():
            return value if len(value) <= _TEXT else f"{value[:_TEXT]}{_CUT}"
        case Mapping() | Sequence() if depth >= _DEEP:
            return _CUT
        case Mapping():
            few = list(value.items())[:_ITEMS]
            kept: dict[str, JsonValue] = {
                key[:_TEXT]: for_the_record(item, depth + 1) for key, item in few
            }
            return kept if len(value) <= _ITEMS else kept | {_CUT: len(value) - _ITEMS}
        case Sequence():
            items = [for_the_record(item, depth + 1) for item in value[:_ITEMS]]
            return items if len(value) <= _ITEMS else [*items, _CUT]
        case _:
            return value


# When a call that another process makes can have changed what was read since some moment.

SKEW: Final = timedelta(seconds=2)
"""By which the clocks of two machines may differ."""
REST: Final = timedelta(minutes=1)
"""For which what nobody knows the end of may still be going on."""
OLDEST: Final = UNBOUNDED + MARGIN
"""Ago, when what is still under way may have begun."""
KNOWN: Final = (CallOutcome.DONE, CallOutcome.FAILED)
"""It was answered, one way or the other."""

_KEPT_OUT: Final = {ToolStatus.NEW, ToolStatus.CHANGED, ToolStatus.REFUSED, ToolStatus.GONE}


def about_server(action: str, server: Server, **more: JsonValue) -> AuditEntry:
    facts = {"origin": server.origin, "launch_pin": server.launch_pin, **more}
    return AuditEntry(action=action, subject=server.name, details=facts)


def about_acceptance(
    server: Server, before: Sequence[Tool], after: Sequence[Tool]
) -> Iterator[AuditEntry]:
    yield about_server("server.tools_accepted", server, set_pin=server.accepted_set_pin)
    known = {tool.ref: tool for tool in before}
    for tool in after:
        was = known.get(tool.ref)
        if was is not None and _accepted(was) != _accepted(tool):
            effect, pin = _accepted(tool)
            facts: dict[str, JsonValue] = {"effect": effect, "pin": pin}
            was_effect, was_pin = _accepted(was)
            facts |= {"was_effect": was_effect, "was_pin": was_pin}
            yield AuditEntry(action="tool.accepted", subject=str(tool.ref), details=facts)


def about_listing(
    was: Server, now: Server, before: Sequence[Tool], after: Sequence[Tool]
) -> Iterator[AuditEntry]:
    """What became unusable by what the server says now, and what is as it was accepted again."""
    if was.said and not now.said:
        yield about_server("server.instructions_changed", now)
    if was.offers == was.accepted_offers != now.offers and now.approved:
        yield about_server("server.offers_changed", now)
    stood = {tool.ref: standing(was, tool) for tool in before}
    for tool in after:
        earlier, stands = stood.get(tool.ref), standing(now, tool)
        if stands in _KEPT_OUT and earlier is not stands and now.approved:
            yield _about_tool("tool.quarantined", tool, stands)
        elif stands is ToolStatus.LIVE and earlier in _KEPT_OUT:
            yield _about_tool("tool.restored", tool, stands)


def _about_tool(action: str, tool: Tool, stands: ToolStatus) -> AuditEntry:
    facts: dict[str, JsonValue] = {
        "standing": str(stands),
        "pin": tool.pin,
        "accepted_pin": tool.accepted_pin,
    }
    return AuditEntry(action=action, subject=str(tool.ref), details=facts)


def _accepted(tool: Tool) -> tuple[str, str | None]:
    return str(tool.effect), tool.accepted_pin


_GOT_THERE: Final = (UpstreamTimedOut, UpstreamRefused, InputUnsupported, InputRefused)
"""A server that refuses may have begun, and an error of its own is no proof that it has not."""


def may_have_executed(effect: Effect, error: PorticoError) -> bool:
    """Whatever only reads may be asked for again; of the rest, whatever got as far as a server."""
    if effect.is_read_only:
        return False
    if isinstance(error, UpstreamDown):
        return error.reached
    return isinstance(error, _GOT_THERE)
