"""Calls of tools by a form: for models that cannot call them otherwise, but whose answers can be
held to a JSON schema. An answer is one thing: something said, or one call."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from portico.agents.core.arguments import read_arguments
from portico.agents.core.asking import ToolShown
from portico.agents.core.message import Message, ModelSaid, ToolCall, ToolGave, UserSaid
from portico.kernel.json import JsonObject

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
    if isinstance(message, ToolGave):
        what = "failed" if message.failed else "gave"
        return UserSaid(f"[The tool {message.name} {what}:]\n{message.text}")
    if isinstance(message, ModelSaid):
        calls = [_written(call.name, call.arguments) for call in message.calls]
        return ModelSaid("\n".join(calls) or json.dumps({"say": message.text}, ensure_ascii=False))
    return message


def from_form(text: str, call: str) -> ModelSaid | NotTheForm:
    """`call` is the id that a call in it gets."""
    match read_arguments(text):
        case {"say": str(said)}:
            return ModelSaid(said)
        case {"tool": str(tool), "arguments": Mapping() as arguments}:
            return ModelSaid("", (ToolCall(call, tool, arguments),))
        case {"tool": str(tool), **rest} if "arguments" not in rest:
            return ModelSaid("", (ToolCall(call, tool, {}),))
        case None:
            return NotTheForm("It is no JSON object.")
        case _:
            return NotTheForm('It has neither a text as "say" nor a name as "tool".')


def correction(flaw: NotTheForm) -> UserSaid:
    return UserSaid(
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
