"""Requests to models: messages, parameters, the model's test."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from typing import Final, Self

from portico.agents.core.errors import InvalidModelRef
from portico.kernel.json import JsonObject, JsonValue
from portico.kernel.label import Label

_MILLION: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class ModelRef:
    """`ollama:llama3.2:3b`: the provider as it is called here, and the model as that calls it."""

    provider: str
    name: str

    @classmethod
    def parse(cls, text: str) -> Self:
        """Raises `InvalidModelRef`."""
        provider, _, name = text.partition(":")
        if not provider or not name:
            raise InvalidModelRef(text)
        return cls(provider, name)

    def __str__(self) -> str:
        return f"{self.provider}:{self.name}"


class Support(StrEnum):
    """Whether a model can do something. What nobody says is not taken for a yes or a no."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


class ModelInfoSource(StrEnum):
    """Where what is known of a model comes from."""

    SERVER = "server"
    SETTINGS = "settings"
    LIST = "list"
    """A list that is shipped with a library: right when it was made."""
    NOBODY = "nobody"


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """In US dollars, of a million tokens."""

    input: Decimal
    output: Decimal

    def of(self, *, input_tokens: int, output_tokens: int) -> Decimal:
        return (self.input * input_tokens + self.output * output_tokens) / _MILLION


FREE: Final = Price(input=Decimal(0), output=Decimal(0))


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelInfo:
    ref: ModelRef
    window: int | None = None
    """Tokens of prompt and answer together, as it is served: not what it could have elsewhere."""
    max_output_tokens: int | None = None
    tools: Support = Support.UNKNOWN
    vision: Support = Support.UNKNOWN
    structured: Support = Support.UNKNOWN
    """Whether its answer can be held to a JSON schema."""
    price: Price | None = None
    """None if nobody knows; what runs on this machine is free."""
    local: bool = False
    """On this machine."""
    clearance: Label
    """How secret what is sent to it may be."""
    told_by: ModelInfoSource = ModelInfoSource.NOBODY


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderState:
    """How it was when it was last asked."""

    name: str
    kind: str
    url: str
    local: bool
    clearance: Label
    reachable: bool
    why: str | None = None
    """What is wrong, and what to do about it, where something is."""
    models: int = 0
    took: timedelta | None = None
    asked_at: datetime


UNREADABLE: Final = "~unreadable"
"""The only argument of a call whose arguments are no JSON object: what the model wrote."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    id: str
    """The model's own; no two calls of a run have the same."""
    name: str
    """As the model was shown the tool."""
    arguments: JsonObject


@dataclass(frozen=True, slots=True)
class UserMessage:
    text: str


@dataclass(frozen=True, slots=True)
class AssistantMessage:
    text: str
    calls: tuple[ToolCall, ...] = ()
    provider_data: JsonValue = None
    """What the model's own server wants back with it, word for word; opaque to everybody else."""

    @classmethod
    def nothing(cls) -> Self:
        return cls("")


@dataclass(frozen=True, slots=True)
class ToolMessage:
    call: str
    """The id of the call that this answers."""
    name: str
    text: str
    failed: bool = False


Message = UserMessage | AssistantMessage | ToolMessage


def message_as_json(message: Message) -> JsonObject:
    text = message.text
    if isinstance(message, AssistantMessage):
        calls = calls_as_json(message.calls)
        return {"by": "model", "text": text, "calls": calls, "kept": message.provider_data}
    if isinstance(message, ToolMessage):
        call, name, failed = message.call, message.name, message.failed
        return {"by": "tool", "call": call, "name": name, "text": text, "failed": failed}
    return {"by": "user", "text": text}


def message_of(value: JsonValue) -> Message:
    """Of what `message_as_json` gave."""
    said = object_of(value)
    text = str(said["text"])
    match said["by"]:
        case "user":
            return UserMessage(text)
        case "model":
            return AssistantMessage(text, calls_of(said.get("calls")), said.get("kept"))
        case _:
            return ToolMessage(
                str(said["call"]), str(said["name"]), text, said.get("failed") is True
            )


def calls_as_json(calls: Iterable[ToolCall]) -> Sequence[JsonObject]:
    return [{"id": call.id, "name": call.name, "arguments": call.arguments} for call in calls]


def calls_of(value: JsonValue) -> tuple[ToolCall, ...]:
    if isinstance(value, str) or not isinstance(value, Sequence):
        return ()
    return tuple(_call(each) for each in value)


def _call(value: JsonValue) -> ToolCall:
    said = object_of(value)
    return ToolCall(str(said["id"]), str(said["name"]), object_of(said["arguments"]))


def object_of(value: JsonValue) -> JsonObject:
    if not isinstance(value, Mapping):
        raise ValueError("This is no JSON object.")  # noqa: TRY004 # what it holds is wrong
    return value


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
    max_output_tokens: int
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
class TextChunk:
    text: str


@dataclass(frozen=True, slots=True)
class ReasoningChunk:
    """What a model thinks aloud; shown to whoever watches, and no part of its answer."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolArgumentsChunk:
    """What has come in of a call that is not whole yet: it is paid for, and shown to nobody."""

    call: str
    """Its id."""
    text: str


@dataclass(frozen=True, slots=True)
class ToolCallChunk:
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
    stored: JsonValue = None
    """See `AssistantMessage.provider_data`."""
    notes: tuple[str, ...] = ()
    """What whoever reads the answer should know of how it came about, in sentences."""


ResponseChunk = TextChunk | ReasoningChunk | ToolArgumentsChunk | ToolCallChunk | Reply

# What a model was found to do when it was tried, whatever anybody says that it can.

QUESTION: Final = "Count from one to ten in words."
WEATHER: Final = ToolShown(
    "get_weather",
    "The weather in a city, now.",
    {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
        "additionalProperties": False,
    },
)
ASKS_FOR_TOOL: Final = "What is the weather in Paris now? Use the tool."
FORM: Final[JsonObject] = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}
ASKS_FOR_FORM: Final = "Which city is the capital of France? Answer as JSON."


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelTest:
    info: ModelInfo
    answers: bool
    streams: bool = False
    """In more than one piece."""
    calls_tools: Support = Support.UNKNOWN
    """It was asked for a call, and made it: a model that can may still not have."""
    holds_to_form: Support = Support.UNKNOWN
    usage_reported: bool = False
    first_piece: timedelta | None = None
    tokens_a_second: float | None = None
    took: timedelta = timedelta(0)
    notes: tuple[str, ...] = ()
    problem: str | None = None
    """Why it does not answer."""
    fix: str | None = None
