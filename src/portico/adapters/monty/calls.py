"""Calls of our functions by a program, under way at the same time."""

import asyncio
from collections.abc import Awaitable, Collection, Mapping
from typing import Final, Self

from pydantic_monty import (
    ExcType,
    ExternalExceptionData,
    ExternalReturnValue,
    ExternalSettledResult,
)

from portico.kernel.errors import PorticoError
from portico.kernel.json import JsonValue, NotCanonical, kept

_LONGEST_WORDS: Final = 2000
_KNOWN: Final[Mapping[str, ExcType]] = {
    "RuntimeError": "RuntimeError",
    "ValueError": "ValueError",
    "TypeError": "TypeError",
    "KeyError": "KeyError",
    "NameError": "NameError",
    "LookupError": "LookupError",
    "TimeoutError": "TimeoutError",
    "PermissionError": "PermissionError",
    "FileNotFoundError": "FileNotFoundError",
}
"""Errors that a program may want to tell apart."""


class Calls:
    """By their numbers. When it is left, none is under way any more."""

    def __init__(self) -> None:
        self._under_way: dict[int, asyncio.Future[JsonValue]] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        for call in self._under_way.values():
            call.cancel()
        if self._under_way:
            await asyncio.wait(self._under_way.values())
        for call in self._under_way.values():
            if not call.cancelled():
                call.exception()  # looked at, so that nobody complains of its being overlooked

    def start(self, number: int, call: Awaitable[JsonValue]) -> None:
        self._under_way[number] = asyncio.ensure_future(call)

    def among(self, numbers: Collection[int]) -> Collection[int]:
        return [number for number in numbers if number in self._under_way]

    async def some(self, numbers: Collection[int]) -> Mapping[int, ExternalSettledResult]:
        """What came of the first of them, and of all others that are over by then."""
        waited = {self._under_way[number]: number for number in numbers}
        over, _ = await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
        return {waited[call]: _settled(self._under_way.pop(waited[call])) for call in over}


def raised(words: str, kind: str = "RuntimeError") -> ExternalExceptionData:
    known = kind in _KNOWN
    text = words if known or not words else f"{kind}: {words}"
    return {
        "exc_type": _KNOWN[kind] if known else "RuntimeError",
        "message": text[:_LONGEST_WORDS].encode(errors="replace").decode(),
    }


def given(value: JsonValue) -> ExternalSettledResult:
    try:
        returned: ExternalReturnValue = {"return_value": kept(value)}
    except NotCanonical as error:
        return raised(str(error), "TypeError")
    return returned


def _settled(call: asyncio.Future[JsonValue]) -> ExternalSettledResult:
    if call.cancelled():
        return raised("it was given up")
    match call.exception():
        case None:
            return given(call.result())
        case PorticoError() as error:
            return raised(str(error))
        case error:
            return raised(str(error), type(error).__name__)
