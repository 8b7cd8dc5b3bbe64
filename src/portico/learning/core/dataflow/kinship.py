"""Whether a value of one type could be given where another is asked for."""

from enum import Enum, auto
from typing import Final

_SCALARS: Final = frozenset({"string", "number", "integer", "boolean", "null"})
_NUMBERS: Final = frozenset({"number", "integer"})


class Kinship(Enum):
    SAME = auto()
    UNKNOWN = auto()
    NEAR = auto()
    """It can be written in the other's way, or be one of many."""
    APART = auto()


def kinship(given: str | None, wanted: str | None) -> Kinship:
    if given is None or wanted is None:
        return Kinship.UNKNOWN
    if given == wanted or {given, wanted} == _NUMBERS:
        return Kinship.SAME
    if {given, wanted} <= _SCALARS or "array" in {given, wanted}:
        return Kinship.NEAR
    return Kinship.APART
