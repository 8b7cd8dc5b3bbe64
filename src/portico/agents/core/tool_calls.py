"""Calls that a model asks for: arguments and results."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from portico.agents.core.agents import Agent, ToolMode
from portico.agents.core.errors import ModelLacksTools
from portico.agents.core.model_requests import (
    UNREADABLE,
    AssistantMessage,
    Message,
    ModelInfo,
    Support,
    ToolCall,
    ToolMessage,
    ToolShown,
    UserMessage,
)
from portico.kernel.durable import Durable
from portico.kernel.ids import ApprovalId
from portico.kernel.json import JsonObject, JsonValue, NotCanonical, canonical
from portico.kernel.label import Label
from portico.kernel.principal import Principal

_DEEPEST: Final = 64
_NUL: Final = "\0"


def read_arguments(text: str) -> JsonObject | None:
    """None for what is no JSON object, or one that cannot be kept: with numbers that are none, a
    character that no text can have, or deeper than anybody means."""
    try:
        read: JsonValue = json.loads(text)
        canonical(read)
    except (ValueError, RecursionError, NotCanonical):
        return None
    return read if isinstance(read, Mapping) and _keepable(read, _DEEPEST) else None


def _keepable(value: JsonValue, deeper: int) -> bool:
    if isinstance(value, str):
        return _NUL not in value
    if isinstance(value, Mapping):
        inner = [*value, *value.values()]
        return deeper > 0 and all(_keepable(each, deeper - 1) for each in inner)
    if isinstance(value, list):
        return deeper > 0 and all(_keepable(each, deeper - 1) for each in value)
    return True


SEARCH: Final = "search_tools"
CALL: Final = "call_tool"
"""What a model is shown where its tools are too many to be shown themselves: the second takes
`tool` and `arguments`."""


def inner_arguments(call: ToolCall) -> JsonObject:
    """What the tool is given that a call of `call_tool` names. Small models write it as a text."""
    match call.arguments.get("arguments", {}):
        case Mapping() as arguments:
            return arguments
        case str(text):
            return read_arguments(text) or {UNREADABLE: text}
        case other:
            return {UNREADABLE: json.dumps(other)}


@dataclass(frozen=True, slots=True, kw_only=True)
class RunIdentity:
    """In whose name one leg of a run calls tools: the agent, with what its starter may."""

    durable: Durable
    agent: Agent
    caller: Principal
    """The agent's principal, narrowed, in the task of this run."""
    label: Label
    """Of the run, as the engine knows it."""
    stopping: bool = False
    """What was begun comes to its end, and nothing more is begun."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestedToolCall:
    """A call that a model wants made."""

    turn: int
    position: int
    call: ToolCall
    tool: str
    """`server.tool`, or `search_tools`."""
    arguments: JsonObject

    @property
    def step(self) -> str:
        """The name of its durable step."""
        return f"call-{self.turn}-{self.position}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderedToolResult:
    """What a call came to, in words for a model."""

    text: str
    failed: bool = False
    code: str | None = None
    """Of why it failed, where that is ours to say."""
    approval: ApprovalId | None = None
    label: Label


@dataclass(frozen=True, slots=True)
class Early:
    """What a read gave that was begun while the model was still speaking."""

    given: RenderedToolResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """What a model is shown of the tools that it may use."""

    shown: Sequence[ToolShown] = ()
    names: Mapping[str, str]
    """`server.tool` by the name that the model is shown."""
    searched: bool = False
    """Whether there are more than are shown, behind a search."""

    def aimed_at(self, call: ToolCall) -> tuple[str, JsonObject] | None:
        """The tool that a call means, and what that is given: itself, or by way of `call_tool`.
        None for a name that was never shown, and for a call that names nothing."""
        if call.name in self.names:
            return self.names[call.name], call.arguments
        if not self.searched:
            return None
        if call.name == SEARCH:
            return SEARCH, call.arguments
        tool = call.arguments.get("tool") if call.name == CALL else None
        return (tool, inner_arguments(call)) if isinstance(tool, str) else None


# Calls of tools by a form: for models that cannot call them otherwise, but whose answers can be
# held to a JSON schema. An answer is one thing: something said, or one call.

_SAY: Final[JsonObject] = {
    "type": "object",
    "properties": {"say": {"type": "string"}},
    "required": ["say"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class NotTheForm:
    """What was wrong with an answer, in words for the model that gave it."""

    why: str


def form_schema(tools: Sequence[ToolShown]) -> JsonObject:
    return {"anyOf": [_SAY, *map(_call_schema, tools)]}


def form_instructions(instructions: str, tools: Sequence[ToolShown]) -> str:
    listed = "\n".join(
        f"- {tool.name}: {tool.description}\n  arguments: "
        f"{json.dumps(tool.schema, ensure_ascii=False)}"
        for tool in tools
    )
    return (
        f"{instructions}\n\nAnswer with one JSON object and nothing else. To say something to the "
        'person: {"say": "..."}. To use a tool first: {"tool": "NAME", "arguments": {...}}; you '
        f"are then told what it gave. The tools:\n{listed}"
    ).lstrip()


def as_form(message: Message) -> Message:
    """What was said, as it would have been said by the form."""
    if isinstance(message, ToolMessage):
        what = "failed" if message.failed else "gave"
        return UserMessage(f"[The tool {message.name} {what}:]\n{message.text}")
    if isinstance(message, AssistantMessage):
        calls = [_written(call.name, call.arguments) for call in message.calls]
        return AssistantMessage(
            "\n".join(calls) or json.dumps({"say": message.text}, ensure_ascii=False)
        )
    return message


def from_form(text: str, call: str) -> AssistantMessage | NotTheForm:
    """`call` is the id that a call in it gets."""
    match read_arguments(text):
        case {"say": str(said)}:
            return AssistantMessage(said)
        case {"tool": str(tool), "arguments": Mapping() as arguments}:
            return AssistantMessage("", (ToolCall(call, tool, arguments),))
        case {"tool": str(tool), **rest} if "arguments" not in rest:
            return AssistantMessage("", (ToolCall(call, tool, {}),))
        case None:
            return NotTheForm("It is no JSON object.")
        case _:
            return NotTheForm('It has neither a text as "say" nor a name as "tool".')


def correction(flaw: NotTheForm) -> UserMessage:
    return UserMessage(
        f"[Portico] Your last answer could not be read. {flaw.why} Answer again, with one JSON "
        'object: {"say": "..."} or {"tool": "NAME", "arguments": {...}}.'
    )


def _call_schema(tool: ToolShown) -> JsonObject:
    return {
        "type": "object",
        "properties": {"tool": {"const": tool.name}, "arguments": tool.schema},
        "required": ["tool", "arguments"],
        "additionalProperties": False,
    }


def _written(tool: str, arguments: JsonObject) -> str:
    return json.dumps({"tool": tool, "arguments": arguments}, ensure_ascii=False)


SMALL_WINDOW: Final = 16_384
FEW: Final = 6
"""That small models are shown: with more they choose badly."""
MANY: Final = 24
SHARE: Final = 5
"""The part of a window that the list of tools may take up at most: one in this many."""
_MOST_TOKENS: Final = 8_000
_FEW_TOKENS: Final = 2_000
"""Where nobody says how large the window is, and it is a model of this machine."""


@dataclass(frozen=True, slots=True)
class ToolExposure:
    limit: int
    tokens: int


def shelf_for(info: ModelInfo) -> ToolExposure:
    if info.window is None:
        return ToolExposure(FEW, _FEW_TOKENS) if info.local else ToolExposure(MANY, _MOST_TOKENS)
    most = FEW if info.window <= SMALL_WINDOW else MANY
    return ToolExposure(most, min(info.window // SHARE, _MOST_TOKENS))


def mode_for(info: ModelInfo, wished: ToolMode) -> ToolMode:
    """`NATIVE` or `FORM`. Raises `ModelLacksTools`."""
    native, held = info.tools is not Support.NO, info.structured is not Support.NO
    if native and wished is not ToolMode.FORM:
        return ToolMode.NATIVE
    if held and wished is not ToolMode.NATIVE:
        return ToolMode.FORM
    raise ModelLacksTools(str(info.ref))
