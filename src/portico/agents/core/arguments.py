"""What a model wrote as the arguments of a call, read."""

import json
from collections.abc import Mapping
from typing import Final

from portico.kernel.json import JsonObject, JsonValue, NotCanonical, canonical

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
