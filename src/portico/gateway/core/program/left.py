"""What a turn left: all that is needed to go on from it, and all that it said."""

from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from portico.gateway.core.program.functions import Wanted
from portico.gateway.core.tool import ToolRef
from portico.kernel.json import JsonObject, JsonValue


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A program as it was begun; its functions are what they were then."""

    code: str
    inputs: JsonObject
    functions: Mapping[str, ToolRef]
    by_name: bool = False
    """Whether it has `call` too."""

    def as_json(self) -> JsonObject:
        return {
            "code": self.code,
            "inputs": self.inputs,
            "functions": {name: str(ref) for name, ref in self.functions.items()},
            "by_name": self.by_name,
        }


def source_from(kept: JsonValue) -> Source:
    """As `as_json` wrote it."""
    match kept:
        case {
            "code": str(code),
            "inputs": Mapping() as inputs,
            "functions": Mapping() as functions,
            "by_name": bool(by_name),
        }:
            named = {name: ToolRef.parse(str(ref)) for name, ref in functions.items()}
            return Source(code=code, inputs=inputs, functions=named, by_name=by_name)
        case _:
            raise AssertionError("That is no program.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    snapshot: bytes | None = None
    """Where it goes on from, while it waits."""
    wanted: Sequence[Wanted] = ()
    """The calls that it waits for and no turn before did."""
    printed: str = ""
    """In this turn; of the last one, in all."""
    result: JsonValue = None
    error: str | None = None

    def as_json(self) -> JsonObject:
        snapshot = None if self.snapshot is None else b64encode(self.snapshot).decode()
        return {
            "snapshot": snapshot,
            "wanted": [[each.number, str(each.ref), each.arguments] for each in self.wanted],
            "printed": self.printed,
            "result": self.result,
            "error": self.error,
        }


def left_from(kept: JsonValue) -> Left:
    """As `as_json` wrote it."""
    match kept:
        case {
            "snapshot": str() | None as snapshot,
            "wanted": [*wanted],
            "printed": str(printed),
            "result": result,
            "error": str() | None as error,
        }:
            return Left(
                snapshot=None if snapshot is None else b64decode(snapshot),
                wanted=[_wanted(each) for each in wanted],  # ty: ignore[invalid-argument-type] # JSON
                printed=printed,
                result=result,  # ty: ignore[invalid-argument-type] # JSON
                error=error,
            )
        case _:
            raise AssertionError("That is nothing that a turn left.")


def _wanted(kept: JsonValue) -> Wanted:
    match kept:
        case [int(number), str(ref), Mapping() as arguments]:
            return Wanted(number, ToolRef.parse(ref), arguments)
        case _:
            raise AssertionError("That is no call.")
