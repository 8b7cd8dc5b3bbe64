"""Traces: what happened in a run, and statistics."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from typing import Final, Self

from portico.agents.core.agents import AgentId
from portico.agents.core.model_requests import Finish, Message, ToolCall, Usage
from portico.engine.core.errors import InvalidCursor
from portico.kernel.ids import ApprovalId, ContextId, InvalidId, PrincipalId, RunId
from portico.kernel.json import JsonObject, JsonValue
from portico.kernel.label import Label

# What is written down of a run: the run, its turns, and each use of a tool in them.
#
# It is only ever added to. A run that goes on elsewhere reads here what was said so far, so that a
# turn that is written down is never paid for twice.

_OPENING: Final = 80


class AgentRunStatus(StrEnum):
    RUNNING = "running"
    WAITING = "waiting"
    """For people."""
    COMPLETED = "completed"
    STOPPED = "stopped"
    """Somebody said so; what it had said by then is its answer."""
    EXHAUSTED = "exhausted"
    """A limit would have been passed."""
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def over(self) -> bool:
        return self not in {AgentRunStatus.RUNNING, AgentRunStatus.WAITING}


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTrace:
    run: RunId
    agent: AgentId
    agent_name: str
    agent_version: int
    started_by: PrincipalId
    acts_as: PrincipalId
    context: ContextId
    """The task of this run alone: what was read in it."""
    continues: RunId | None = None
    history: tuple[Message, ...] = ()
    """What was said before, by the account of whoever started it: some clients keep it
    themselves."""
    status: AgentRunStatus = AgentRunStatus.RUNNING
    label: Label
    """Of all that was read so far."""
    started_at: datetime
    ended_at: datetime | None = None
    model: str
    """The one that was asked for; turns say who answered."""
    asked: str = ""
    """How what it was started with begins; only where runs are listed."""
    turns: int = 0
    tool_uses: int = 0
    usage: Usage = field(default_factory=Usage)
    money: Decimal = Decimal(0)
    answer: str = ""
    error_code: str | None = None
    error: str | None = None
    trace_id: str
    """OpenTelemetry's, 32 hexadecimal digits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnTrace:
    run: RunId
    number: int
    """From 1."""
    model: str
    """The one that answered, as `provider:model`."""
    attempts: int
    """How often a model was asked for this turn, fallbacks included."""
    inputs_seen: int
    """How many of the run's messages of people were there when it was asked."""
    text: str
    thought: str = ""
    calls: tuple[ToolCall, ...] = ()
    stored: JsonValue = None
    """See `AssistantMessage.provider_data`."""
    usage: Usage
    counted: int
    """Tokens of prompt and answer that the budget was charged: what the server said or what we
    counted, whichever is more."""
    money: Decimal
    finish: Finish
    started_at: datetime
    took: timedelta
    first_piece: timedelta | None = None
    notes: tuple[str, ...] = ()
    label: Label
    span_id: str
    """16 hexadecimal digits."""

    @property
    def tokens_a_second(self) -> float | None:
        """Of the answer, from its first piece on."""
        streamed = self.took - (self.first_piece or timedelta(0))
        seconds = streamed.total_seconds()
        return self.usage.output / seconds if seconds > 0 and self.usage.output else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolUse:
    run: RunId
    turn: int
    position: int
    """Among the calls of its turn, from 0."""
    call: str
    """The model's own id of it."""
    tool: str
    """`server.tool`, or one that the runner itself has."""
    arguments: JsonObject
    text: str
    """What the model was given."""
    failed: bool
    code: str | None = None
    """Of why it failed, where that is ours to say."""
    approval: ApprovalId | None = None
    early: bool = False
    """Begun while the model was still speaking."""
    started_at: datetime
    took: timedelta
    label: Label
    span_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UserInput:
    """What somebody said to a run while it was on, or to begin with."""

    run: RunId
    number: int
    """From 1: the first is what the run was started with."""
    text: str
    by: PrincipalId
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceUpdates:
    """What has come in since somebody last looked."""

    said: tuple[UserInput, ...] = ()
    stop: bool = False
    """Whether it is to stop."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeTrace:
    run: RunTrace
    said: tuple[UserInput, ...]
    turns: tuple[TurnTrace, ...]
    uses: tuple[ToolUse, ...]


def opening(text: str) -> str:
    """How it begins, in one short line."""
    return " ".join(text.split())[:_OPENING]


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceFilter:
    """What is None does not matter."""

    agent: str | None = None
    """The name that it had then."""
    statuses: frozenset[AgentRunStatus] = frozenset()
    """Any of these; none is all."""
    since: datetime | None = None
    until: datetime | None = None
    """Both of when it was started; not at this moment itself."""
    tool: str | None = None
    """`server.tool`, that was used in it."""
    error: str | None = None
    """A code: of what ended it, or of a use of a tool in it."""
    text: str | None = None
    """Words, or how they begin, that were said together in it: by people, by the model or by a
    tool. Capitals do not matter."""
    mine: bool = False
    """Only what the caller has started."""


@dataclass(frozen=True, slots=True)
class TracePlace:
    """A run's place in a list, newest first. Ids do not sort by time: some are made of a claim."""

    started_at: datetime
    run: RunId

    @classmethod
    def of(cls, trace: RunTrace) -> Self:
        return cls(trace.started_at, trace.run)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Raises `InvalidCursor`."""
        moment, _, run = text.partition(" ")
        try:
            started_at = datetime.fromisoformat(moment)
            place = cls(started_at, RunId.parse(run))
        except (ValueError, InvalidId) as error:
            raise InvalidCursor from error
        if started_at.tzinfo is None:
            raise InvalidCursor
        return place

    def __str__(self) -> str:
        return f"{self.started_at.astimezone(UTC).isoformat()} {self.run}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolStats:
    tool: str
    uses: int
    failures: int
    codes: Mapping[str, int]
    """Of failures, by why; those that say nothing of that are not among them."""
    early: int
    """Begun while the model was still speaking."""
    p50: timedelta
    p95: timedelta
    last_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelStats:
    model: str
    turns: int
    retried: int
    """Turns for which a model had to be asked more than once."""
    input: int
    output: int
    cached: int
    money: Decimal
    p50: timedelta
    """Of a whole answer."""
    p95: timedelta
    first_piece: timedelta | None
    """The median, of those that streamed."""
    tokens_a_second: float | None
    """The median, from the first piece on."""
    last_at: datetime
