"""What is said in a run, as JSON and back."""

from collections.abc import Iterable, Mapping, Sequence

from portico.agents.core.message import Message, ModelSaid, ToolCall, ToolGave, UserSaid
from portico.kernel.json import JsonObject, JsonValue


def message_as_json(message: Message) -> JsonObject:
    text = message.text
    if isinstance(message, ModelSaid):
        calls = calls_as_json(message.calls)
        return {"by": "model", "text": text, "calls": calls, "kept": message.kept}
    if isinstance(message, ToolGave):
        call, name, failed = message.call, message.name, message.failed
        return {"by": "tool", "call": call, "name": name, "text": text, "failed": failed}
    return {"by": "user", "text": text}


def message_of(value: JsonValue) -> Message:
    """Of what `message_as_json` gave."""
    said = object_of(value)
    text = str(said["text"])
    match said["by"]:
        case "user":
            return UserSaid(text)
        case "model":
            return ModelSaid(text, calls_of(said.get("calls")), said.get("kept"))
        case _:
            return ToolGave(str(said["call"]), str(said["name"]), text, said.get("failed") is True)


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
