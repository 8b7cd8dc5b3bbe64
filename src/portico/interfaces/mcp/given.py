"""What a model sends, read leniently, by the kind that a tool of the door asks for."""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress

from portico.gateway.core.errors import BadArguments
from portico.kernel.errors import Flaw
from portico.kernel.json import JsonObject, JsonValue


def see_that_it_takes(tool: str, given: JsonObject, takes: Sequence[str]) -> None:
    """What nobody reads would be lost without a word: whoever says `query` would be told that
    nothing is there. Raises `BadArguments`."""
    strange = [name for name in given if name not in takes and not name.startswith("_")]
    if strange:
        why = f"is not something that it takes, which is {', '.join(takes)}"
        raise BadArguments(tool, [Flaw(name, why) for name in strange])


def text(tool: str, given: JsonObject, field: str) -> str:
    value = given.get(field)
    if not isinstance(value, str):
        raise BadArguments(tool, [Flaw(field, "must be a text")])
    return value


def text_or_none(tool: str, given: JsonObject, field: str) -> str | None:
    return None if given.get(field) is None else text(tool, given, field)


def texts(tool: str, given: JsonObject, field: str) -> Sequence[str]:
    """Also one text alone, as some models send it."""
    value = given.get(field, ())
    if isinstance(value, str):
        return [value]
    found = [each for each in value if isinstance(each, str)] if isinstance(value, Sequence) else []
    if not isinstance(value, Sequence) or len(found) != len(value):
        raise BadArguments(tool, [Flaw(field, "must be a list of texts")])
    return found


def number(tool: str, given: JsonObject, field: str) -> int | None:
    value = given.get(field)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    raise BadArguments(tool, [Flaw(field, "must be a whole number")])


def object_or_none(tool: str, given: JsonObject, field: str) -> JsonObject | None:
    """Also written out as a text, as some models send it."""
    value: JsonValue = given.get(field)
    if isinstance(value, str):
        with suppress(ValueError):
            value = json.loads(value or "{}")
    if value is not None and not isinstance(value, Mapping):
        raise BadArguments(tool, [Flaw(field, "must be an object")])
    return value
