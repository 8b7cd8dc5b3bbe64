"""Whether a schema says what is in a result, or only that there is something."""

from collections.abc import Mapping, Sequence
from typing import Final

from portico.kernel.json import JsonValue

_DEEPEST: Final = 6


def vague(schema: JsonValue, depth: int = 0) -> bool:
    """As servers write it that only know that a list of objects comes: no single value in it is
    described. What is put together of others says enough."""
    if not isinstance(schema, Mapping) or depth > _DEEPEST:
        return True
    match schema:
        case {"type": "array"}:
            return vague(schema.get("items"), depth + 1)
        case {"type": "object"}:
            return all(vague(each, depth + 1) for each in _inside(schema))
        case {"type": _} | {"$ref": _} | {"enum": _} | {"const": _}:
            return False
        case {"anyOf": [*each]} | {"oneOf": [*each]} | {"allOf": [*each]}:
            return all(vague(one, depth + 1) for one in each)  # ty: ignore[invalid-argument-type] # JSON
        case _:
            return True


def _inside(schema: Mapping[str, JsonValue]) -> Sequence[JsonValue]:
    properties = schema.get("properties")
    named = [*properties.values()] if isinstance(properties, Mapping) else []
    others = schema.get("additionalProperties")
    return [*named, *([others] if isinstance(others, Mapping) else [])]
