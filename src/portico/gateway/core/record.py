"""Arguments as they are kept for the record: short enough to be kept by the million."""

from collections.abc import Mapping, Sequence
from typing import Final

from portico.kernel.json import JsonValue

_TEXT: Final = 500
_ITEMS: Final = 20
_DEEP: Final = 6
_CUT: Final = "…"


def for_the_record(value: JsonValue, depth: int = 0) -> JsonValue:
    """Long texts, long lists and what lies deep are cut, and the cut is marked."""
    match value:
        case str():
            return value if len(value) <= _TEXT else f"{value[:_TEXT]}{_CUT}"
        case Mapping() | Sequence() if depth >= _DEEP:
            return _CUT
        case Mapping():
            few = list(value.items())[:_ITEMS]
            kept: dict[str, JsonValue] = {
                key[:_TEXT]: for_the_record(item, depth + 1) for key, item in few
            }
            return kept if len(value) <= _ITEMS else kept | {_CUT: len(value) - _ITEMS}
        case Sequence():
            items = [for_the_record(item, depth + 1) for item in value[:_ITEMS]]
            return items if len(value) <= _ITEMS else [*items, _CUT]
        case _:
            return value
