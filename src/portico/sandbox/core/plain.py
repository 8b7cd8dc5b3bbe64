"""A stranger's value as JSON, or the reason why it is not told.

Such a value may hold itself, or one list a billion times in few bytes: it is copied part by part,
counting, and left as soon as it is too much.
"""

from collections.abc import Iterable
from math import isfinite
from typing import Final

from portico.kernel.json import JsonValue
from portico.sandbox.core.errors import NotPlain

DEEPEST: Final = 100
_LONGEST_NUMBER: Final = 4300
"""Digits; Python writes no integer of more."""


def plain(value: object, *, most: int) -> JsonValue:
    """A copy of at most `most` bytes of JSON, not counting what its escapes are longer by. Raises
    `NotPlain`."""
    return _Counter(most).copy(value, 0)


class _Counter:
    def __init__(self, most: int) -> None:
        self._most = most
        self._left = most

    def copy(self, value: object, depth: int) -> JsonValue:
        match value:
            case None | bool():
                self._count(5)
                return value
            case int() | float():
                return self._number(value)
            case str():
                return self._text(value)
            case list() | tuple():
                return self._list(value, depth)
            case dict():
                return self._object(value, depth)
            case _:
                raise NotPlain(f"JSON has no {type(value).__name__}")

    def _list(self, value: Iterable[object], depth: int) -> JsonValue:
        self._enter(depth)
        return [self.copy(each, depth + 1) for each in value]

    def _object(self, value: dict[object, object], depth: int) -> JsonValue:
        self._enter(depth)
        return {self._key(key): self.copy(each, depth + 1) for key, each in value.items()}

    def _key(self, key: object) -> str:
        if not isinstance(key, str):
            raise NotPlain(f"a key of an object is text, and not {type(key).__name__}")
        return self._text(key)

    def _text(self, value: str) -> str:
        self._count(len(value) + 3)  # before it is copied
        try:
            self._count(len(value.encode()) - len(value))
        except UnicodeEncodeError:
            raise NotPlain("a text holds half of a surrogate pair") from None
        return value

    def _number(self, value: float) -> JsonValue:
        if isinstance(value, int):
            digits = value.bit_length() * 30103 // 100000 + 1
            if digits > _LONGEST_NUMBER:
                raise NotPlain(f"a number has more than {_LONGEST_NUMBER} digits")
            self._count(digits + 1)
        elif not isfinite(value):
            raise NotPlain(f"JSON has no number {value!r}")
        else:
            self._count(len(repr(value)) + 1)
        return value

    def _enter(self, depth: int) -> None:
        if depth >= DEEPEST:
            raise NotPlain(f"it is nested more than {DEEPEST} deep")
        self._count(2)

    def _count(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            raise NotPlain(f"it is longer than {self._most} bytes")
