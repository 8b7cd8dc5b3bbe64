"""Any value as JSON can tell it, for what is written down about it."""

from collections.abc import Mapping
from typing import Final

from portico.kernel.json import JsonValue

_DEEPEST: Final = 20


def plain(value: object, depth: int = 0) -> JsonValue:
    """What is not JSON is told by its own name for itself."""
    if depth > _DEEPEST:
        return "…"
    match value:
        case None | bool() | int() | float() | str():
            return value
        case Mapping():
            return {str(name): plain(item, depth + 1) for name, item in value.items()}
        case list() | tuple() | set() | frozenset():
            return [plain(item, depth + 1) for item in value]
        case _:
            return repr(value)
