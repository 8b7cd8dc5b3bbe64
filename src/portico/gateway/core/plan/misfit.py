"""Why a value is not what its field asks for, by as much of JSON Schema as the fields use."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from portico.gateway.core.plan.references import ID
from portico.kernel.json import JsonObject, JsonValue


def misfit(value: JsonValue, schema: JsonObject) -> str | None:
    """After "It"; None if it is."""
    kind = schema.get("type")
    if isinstance(kind, str) and not _is(value, kind):
        return f"must be {_NAMES[kind]}."
    match value:
        case str():
            return _text_misfit(value, schema)
        case bool() | None | Mapping():
            return None
        case int() | float():
            return _number_misfit(value, schema)
        case _:
            return _list_misfit(value, schema)


_NAMES: Final = {
    "string": "a text",
    "array": "a list",
    "object": "an object",
    "number": "a number",
    "integer": "a whole number",
}


def _is(value: JsonValue, kind: str) -> bool:
    match kind:
        case "string":
            return isinstance(value, str)
        case "array":
            return isinstance(value, Sequence) and not isinstance(value, str)
        case "object":
            return isinstance(value, Mapping)
        case "integer":
            return isinstance(value, int) and not isinstance(value, bool)
        case _:
            return isinstance(value, int | float) and not isinstance(value, bool)


def _text_misfit(value: str, schema: JsonObject) -> str | None:
    pattern, longest = schema.get("pattern"), schema.get("maxLength")
    if isinstance(longest, int) and len(value) > longest:
        return f"must have at most {longest:,} characters."
    if isinstance(schema.get("minLength"), int) and not value:
        return "must not be empty."
    if isinstance(pattern, str) and re.fullmatch(pattern[1:-1], value) is None:
        server, found, tool = value.partition("__")
        meant = f" Did you mean {f'{server}.{tool}'!r}?" if found and pattern == _TOOL else ""
        return _PATTERNS[pattern] + meant
    return None


_TOOL: Final = r"^[^.]+\..+$"
_PATTERNS: Final[Mapping[JsonValue, str]] = {
    f"^{ID}$": "must begin with a letter or _, go on with letters, digits, _ and -, and have at "
    "most 64 characters.",
    _TOOL: "must be of the form server.tool.",
}


def _number_misfit(value: float, schema: JsonObject) -> str | None:
    least, most = schema.get("minimum"), schema.get("maximum")
    if isinstance(least, int | float) and value < least:
        return f"must be at least {least}."
    if isinstance(most, int) and value > most:
        return f"must be at most {most:,}."
    return None


def _list_misfit(value: Sequence[JsonValue], schema: JsonObject) -> str | None:
    least, most = schema.get("minItems"), schema.get("maxItems")
    if isinstance(least, int) and len(value) < least:
        return f"must have at least {least}."
    if isinstance(most, int) and len(value) > most:
        return f"must have at most {most:,}, and has {len(value):,}."
    return None
