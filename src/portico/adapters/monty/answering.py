"""Who answers the calls of a program: functions at once, or somebody at another time."""

from collections.abc import Awaitable, Collection, Mapping
from typing import Protocol

from portico.kernel.json import JsonValue
from portico.sandbox.core.requests import Pending
from portico.sandbox.requests import HostFunction


class Answering(Protocol):
    @property
    def names(self) -> Collection[str]:
        """Of the functions that there are."""
        ...

    def __call__(self, pending: Pending, /) -> Awaitable[JsonValue] | None:
        """None if it is answered at another time."""
        ...


class Functions:
    """Answers with the functions of whoever runs the program."""

    def __init__(self, functions: Mapping[str, HostFunction]) -> None:
        self._functions = functions
        self.names = functions.keys()

    def __call__(self, pending: Pending) -> Awaitable[JsonValue]:
        return self._answer(pending)

    async def _answer(self, pending: Pending) -> JsonValue:
        return await self._functions[pending.function](*pending.arguments, **pending.named)


class Names:
    """Answers nothing: the program waits, for as long as it takes."""

    def __init__(self, names: Collection[str]) -> None:
        self.names = names

    def __call__(self, _: Pending) -> None:
        return None
