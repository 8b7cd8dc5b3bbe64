"""What a model sends to a tool of ours: read leniently, and nothing of it is passed over."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from portico.kernel.errors import Flaw
from portico.kernel.json import JsonObject, JsonValue


class Tool(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def properties(self) -> Mapping[str, JsonObject]: ...

    @property
    def required(self) -> Sequence[str]: ...


def lenient(tool: Tool, given: JsonObject) -> dict[str, JsonValue]:
    """Without what is null: it was left out."""
    return {
        name: _lenient(value, tool.properties.get(name, {}))
        for name, value in given.items()
        if value is not None
    }


def _lenient(value: JsonValue, kind: JsonObject) -> JsonValue:
    """A whole number as some models write it, and one text where a list is wanted."""
    if kind.get("type") == "integer" and isinstance(value, float) and value.is_integer():
        return int(value)
    if kind.get("type") == "array" and isinstance(value, str):
        return [value]
    return value


def flaws_of(tool: Tool, fields: JsonObject) -> Iterator[Flaw]:
    for name in tool.required:
        if name not in fields:
            yield Flaw(name, "is needed")
    for name, value in fields.items():
        if name not in tool.properties:
            yield Flaw(name, f"is not known; {tool.name} takes {', '.join(tool.properties) or '-'}")
        elif (wanted := _wanted(value, tool.properties[name])) is not None:
            yield Flaw(name, f"must be {wanted}")


def _wanted(value: JsonValue, kind: JsonObject) -> str | None:
    """What it should have been; None if it is."""
    if isinstance(words := kind.get("enum"), list):
        return None if value in words else f"one of {', '.join(map(str, words))}"
    match kind.get("type"):
        case "string":
            return None if isinstance(value, str) else "a text"
        case "integer":
            whole = isinstance(value, int) and not isinstance(value, bool)
            return None if whole else "a whole number"
        case "number":
            number = isinstance(value, int | float) and not isinstance(value, bool)
            return None if number else "a number"
        case "boolean":
            return None if isinstance(value, bool) else "true or false"
        case "array":
            return None if _texts(value) else "a list of texts"
        case _:
            return None


def _texts(value: JsonValue) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)
