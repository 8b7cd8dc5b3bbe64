"""A call of a tool, and what became of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from portico.gateway.core.tool import ToolRef
from portico.guard.core.approvals import Waiter
from portico.kernel.effect import Effect
from portico.kernel.ids import ContextId, Id, PrincipalId, RunId, SpaceId
from portico.kernel.json import JsonObject, JsonValue
from portico.kernel.label import PUBLIC, Label


class CallId(Id):
    __slots__ = ()
    prefix = "cal"


class ResultId(Id):
    __slots__ = ()
    prefix = "res"


@dataclass(frozen=True, slots=True)
class Answer:
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
    answer: Answer
    call: CallId
    kept: ResultId | None = None
    """Where the whole of it is, if what is answered is only its beginning."""


class Verb(StrEnum):
    """The three doors through which a tool can be called; a client asks its user about each."""

    READ = "call_read"
    WRITE = "call_write"
    DESTRUCTIVE = "call_destructive"


def verb_for(effect: Effect) -> Verb:
    if effect.reads_only:
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
class KeptResult:
    """What is kept of an answer, and what whoever reads on in it takes in."""

    content: JsonValue
    label: Label = PUBLIC
    untrusted: bool = True


def sealed_with(space: SpaceId, principal: PrincipalId, result: ResultId) -> bytes:
    """What a kept result is sealed together with: moved to another place, it does not open."""
    return f"result {space} {principal} {result}".encode()


@dataclass(frozen=True, slots=True)
class Figures:
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
