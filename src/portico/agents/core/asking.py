"""One question to a model, and what comes back piece by piece."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from portico.agents.core.message import Message, ToolCall
from portico.agents.core.model import ModelRef
from portico.kernel.json import JsonObject, JsonValue


@dataclass(frozen=True, slots=True)
class ToolShown:
    """A tool in a model's own list."""

    name: str
    """Of letters, digits, `_` and `-`, at most 64: what every vendor takes."""
    description: str
    schema: JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAsk:
    model: ModelRef
    instructions: str
    messages: Sequence[Message]
    tools: Sequence[ToolShown] = ()
    schema: JsonObject | None = None
    """Holds the answer to this form; there are no tools beside it."""
    most_output: int
    """Tokens."""
    window: int | None = None
    """Tokens of prompt and answer that the server is to make room for, where one can say so."""
    prompt_tokens: int
    """Of all that is sent, counted by us: held against what the server says it has read."""
    temperature: float | None = None
    timeout: timedelta
    """For the whole answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens, as the server says."""

    input: int = 0
    output: int = 0
    cached: int = 0
    """Of the input."""
    reported: bool = True
    """Some servers say nothing; the rest is then what we counted ourselves."""


class Finish(StrEnum):
    STOP = "stop"
    LENGTH = "length"
    """It had more to say than it had room for."""
    CALLS = "calls"
    FILTERED = "filtered"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class TextPiece:
    text: str


@dataclass(frozen=True, slots=True)
class ThoughtPiece:
    """What a model thinks aloud; shown to whoever watches, and no part of its answer."""

    text: str


@dataclass(frozen=True, slots=True)
class ArgumentsPiece:
    """What has come in of a call that is not whole yet: it is paid for, and shown to nobody."""

    call: str
    """Its id."""
    text: str


@dataclass(frozen=True, slots=True)
class CallPiece:
    """A call whose arguments have come in whole, while the answer may still go on."""

    call: ToolCall


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """All of it, at the end, once."""

    text: str
    calls: tuple[ToolCall, ...] = ()
    thought: str = ""
    usage: Usage
    finish: Finish
    model: str
    """As the server names what has answered."""
    first_piece: timedelta | None = None
    took: timedelta
    kept: JsonValue = None
    """See `ModelSaid.kept`."""
    notes: tuple[str, ...] = ()
    """What whoever reads the answer should know of how it came about, in sentences."""


Piece = TextPiece | ThoughtPiece | ArgumentsPiece | CallPiece | Reply
