"""Events of a run, and their JSON."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Final, cast

from portico.agents.core.model_requests import Finish, Usage
from portico.agents.core.traces import AgentRunStatus
from portico.kernel.ids import ApprovalId, Id, RunId
from portico.kernel.json import JsonObject, JsonValue

# What happens in a run, as whoever follows it is told: one stream, for every face.


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnStarted:
    turn: int
    model: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TextDelta:
    turn: int
    attempt: int
    """Another one each time that a model was asked anew for this turn: what came before in it is
    void then."""
    offset: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasoningDelta:
    turn: int
    attempt: int
    offset: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallStarted:
    turn: int
    call: str
    tool: str
    arguments: JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallAwaitingApproval:
    """Somebody has to approve it; the run goes on when they have."""

    turn: int
    call: str
    tool: str
    approval: ApprovalId
    expires_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallFinished:
    turn: int
    call: str
    tool: str
    text: str
    failed: bool
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnFinished:
    turn: int
    model: str
    usage: Usage
    money: Decimal
    finish: Finish = Finish.STOP
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class InputReceived:
    """What somebody said in mid-run was taken in."""

    number: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunNotice:
    """Something that whoever watches should know: a fallback, a compaction, a retry."""

    code: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFinished:
    run: RunId
    status: AgentRunStatus
    answer: str
    error_code: str | None = None
    error: str | None = None
    fix: str | None = None
    usage: Usage
    money: Decimal


AgentEvent = (
    TurnStarted
    | TextDelta
    | ReasoningDelta
    | ToolCallStarted
    | ToolCallAwaitingApproval
    | ToolCallFinished
    | TurnFinished
    | InputReceived
    | RunNotice
    | RunFinished
)


@dataclass(frozen=True, slots=True)
class AgentStreamItem:
    event: AgentEvent
    cursor: str | None
    """Where to go on after this; none after what is only said live."""


TYPES: Final[Mapping[type[AgentEvent], str]] = {
    TurnStarted: "turn.began",
    TextDelta: "text.added",
    ReasoningDelta: "thought.added",
    ToolCallStarted: "tool.began",
    ToolCallAwaitingApproval: "tool.waits",
    ToolCallFinished: "tool.ended",
    TurnFinished: "turn.ended",
    InputReceived: "heard",
    RunNotice: "noted",
    RunFinished: "run.ended",
}


def happening_json(happening: AgentEvent) -> tuple[str, JsonObject]:
    facts = {each.name: getattr(happening, each.name) for each in fields(happening)}
    return TYPES[type(happening)], {name: _plain(value) for name, value in facts.items()}


def happening_of(type_: str, facts: JsonObject) -> AgentEvent | None:
    """None for what is no happening of a run, or of a later version."""
    read = _READ.get(type_)
    return None if read is None else read(facts)


def usage_json(usage: Usage) -> JsonObject:
    return {
        "input": usage.input,
        "output": usage.output,
        "cached": usage.cached,
        "reported": usage.reported,
    }


def _plain(value: object) -> JsonValue:
    match value:
        case Usage():
            return usage_json(value)
        case Decimal() | Id() | StrEnum():
            return str(value)
        case datetime():
            return value.isoformat()
        case tuple():
            return [str(each) for each in value]
        case _:
            return cast("JsonValue", value)  # the rest is JSON already


def _turn_began(facts: JsonObject) -> AgentEvent:
    return TurnStarted(turn=_number(facts["turn"]), model=str(facts["model"]))


def _text(facts: JsonObject) -> AgentEvent:
    turn, attempt, offset = (_number(facts[name]) for name in ("turn", "attempt", "offset"))
    return TextDelta(turn=turn, attempt=attempt, offset=offset, text=str(facts["text"]))


def _thought(facts: JsonObject) -> AgentEvent:
    turn, attempt, offset = (_number(facts[name]) for name in ("turn", "attempt", "offset"))
    return ReasoningDelta(turn=turn, attempt=attempt, offset=offset, text=str(facts["text"]))


def _tool_began(facts: JsonObject) -> AgentEvent:
    return ToolCallStarted(
        turn=_number(facts["turn"]),
        call=str(facts["call"]),
        tool=str(facts["tool"]),
        arguments=_object(facts["arguments"]),
    )


def _tool_waits(facts: JsonObject) -> AgentEvent:
    end = _said(facts["expires_at"])
    return ToolCallAwaitingApproval(
        turn=_number(facts["turn"]),
        call=str(facts["call"]),
        tool=str(facts["tool"]),
        approval=ApprovalId.parse(str(facts["approval"])),
        expires_at=None if end is None else datetime.fromisoformat(end),
    )


def _tool_ended(facts: JsonObject) -> AgentEvent:
    return ToolCallFinished(
        turn=_number(facts["turn"]),
        call=str(facts["call"]),
        tool=str(facts["tool"]),
        text=str(facts["text"]),
        failed=facts["failed"] is True,
        seconds=float(str(facts["seconds"])),
    )


def _turn_ended(facts: JsonObject) -> AgentEvent:
    return TurnFinished(
        turn=_number(facts["turn"]),
        model=str(facts["model"]),
        usage=_usage(facts["usage"]),
        money=Decimal(str(facts["money"])),
        finish=Finish(str(facts.get("finish", Finish.STOP))),
        notes=_texts(facts["notes"]),
    )


def _heard(facts: JsonObject) -> AgentEvent:
    return InputReceived(number=_number(facts["number"]), text=str(facts["text"]))


def _noted(facts: JsonObject) -> AgentEvent:
    return RunNotice(code=str(facts["code"]), message=str(facts["message"]))


def _run_ended(facts: JsonObject) -> AgentEvent:
    return RunFinished(
        run=RunId.parse(str(facts["run"])),
        status=AgentRunStatus(str(facts["status"])),
        answer=str(facts["answer"]),
        error_code=_said(facts["error_code"]),
        error=_said(facts["error"]),
        fix=_said(facts["fix"]),
        usage=_usage(facts["usage"]),
        money=Decimal(str(facts["money"])),
    )


_READ: Final[Mapping[str, Callable[[JsonObject], AgentEvent]]] = {
    "turn.began": _turn_began,
    "text.added": _text,
    "thought.added": _thought,
    "tool.began": _tool_began,
    "tool.waits": _tool_waits,
    "tool.ended": _tool_ended,
    "turn.ended": _turn_ended,
    "heard": _heard,
    "noted": _noted,
    "run.ended": _run_ended,
}


def _usage(value: JsonValue) -> Usage:
    said = _object(value)
    return Usage(
        input=_number(said["input"]),
        output=_number(said["output"]),
        cached=_number(said["cached"]),
        reported=said["reported"] is True,
    )


def _object(value: JsonValue) -> JsonObject:
    return value if isinstance(value, Mapping) else {}


def _texts(value: JsonValue) -> tuple[str, ...]:
    return tuple(str(each) for each in value) if isinstance(value, Sequence) else ()


def _number(value: JsonValue) -> int:
    return int(str(value))


def _said(value: JsonValue) -> str | None:
    return value if isinstance(value, str) else None
