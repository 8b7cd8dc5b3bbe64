"""A turn: the interpreter went on from what its calls gave, to its end or to where it waits.

What the journal has of it is how it ended, how much it used, and which calls of which tools it
waits for; the program itself and whatever it said are kept sealed, by the handle.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from portico.gateway.core.call import ResultId
from portico.kernel.json import JsonObject, JsonValue
from portico.sandbox.core.requests import CodeEnd

_PREFIX: Final = "turn-"
_CALL: Final = "call-"


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    number: int
    end: CodeEnd
    kept: str = ""
    """The handle of what it left."""
    given: Sequence[int] = ()
    """Which calls' results it was given."""
    calls: Mapping[int, str] = field(default_factory=dict)
    """The calls that it waits for and no turn before did, with the names of their tools."""
    printed: int = 0
    """Characters."""
    whole: float = 0.0
    """Seconds that are counted so far, all turns together."""
    size: int = 0
    """Bytes that were kept so far."""

    @property
    def handle(self) -> ResultId:
        return ResultId.parse(self.kept)

    @property
    def over(self) -> bool:
        return self.end is not CodeEnd.WAITING

    def as_json(self) -> JsonObject:
        return {
            "number": self.number,
            "end": str(self.end),
            "kept": self.kept,
            "given": list(self.given),
            "calls": [[number, tool] for number, tool in self.calls.items()],
            "printed": self.printed,
            "whole": round(self.whole, 3),
            "size": self.size,
        }


def turn_name(number: int) -> str:
    return f"{_PREFIX}{number}"


def call_name(number: int) -> str:
    """Of the step; from one, where the interpreter counts from nought."""
    return f"{_CALL}{number + 1}"


def is_turn(step: str) -> bool:
    return step.startswith(_PREFIX)


def turn_from(noted: JsonValue) -> Turn:
    """As `as_json` wrote it."""
    match noted:
        case {
            "number": int(number),
            "end": str(end),
            "kept": str(kept),
            "given": [*given],
            "calls": [*calls],
            "printed": int(printed),
            "whole": int() | float() as whole,
            "size": int(size),
        }:
            return Turn(
                number=number,
                end=CodeEnd(end),
                kept=kept,
                given=[int(str(each)) for each in given],
                calls=dict(map(_call, calls)),  # ty: ignore[invalid-argument-type] # JSON
                printed=printed,
                whole=whole,
                size=size,
            )
        case _:
            raise AssertionError(noted)


def _call(noted: JsonValue) -> tuple[int, str]:
    match noted:
        case [int(number), str(tool)]:
            return number, tool
        case _:
            raise AssertionError(noted)
