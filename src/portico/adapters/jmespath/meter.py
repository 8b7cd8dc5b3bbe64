"""How much an expression has taken so far, and how large what it made is."""

import math
from typing import Final

MOST_WORK: Final = 1_000_000
"""A step of the interpreter counts ten, a value measured two, an item copied or compared and a
letter written one. No expression of the hostile ones in our tests took half a second."""
MOST_BUILT: Final = 1_000_000
"""Characters that something made by an expression may have, written as JSON. What it only finds in
its document may be as large as it is."""
_MEASURE: Final = 2
_LONGEST_NUMBER: Final = 10_000
"""Bits. Python writes no number of more than 4,300 digits."""


class TooMuch(Exception):
    """Says of what."""


class Meter:
    def __init__(self) -> None:
        self._left = MOST_WORK
        self._sizes: dict[int, tuple[object, int]] = {}
        """By identity, with the value itself, so that no other can come to have it."""

    @property
    def taken(self) -> int:
        return MOST_WORK - self._left

    def spend(self, work: int) -> None:
        self._left -= work
        if self._left < 0:
            raise TooMuch("takes too long.")

    def size(self, value: object) -> int:
        """Of its JSON, or a little more, without writing it: what holds the same thing a thousand
        times is small in memory and large everywhere else. Raises `TooMuch`, and `TypeError` for
        what is not JSON."""
        known = self._sizes.get(id(value))
        if known is not None:
            return known[1]
        self.spend(_MEASURE)
        size = self._measured(value)
        if size > MOST_BUILT:
            raise TooMuch(f"makes more than {MOST_BUILT:,} characters.")
        if isinstance(value, list | dict):
            self._sizes[id(value)] = (value, size)
        return size

    def _measured(self, value: object) -> int:
        match value:
            case str():
                return len(value) + 2
            case list():
                return 2 + sum(self.size(item) + 1 for item in value)
            case dict():
                return 2 + sum(len(key) + 4 + self.size(item) for key, item in value.items())
            case bool() | None:
                return 5
            case int() if value.bit_length() <= _LONGEST_NUMBER:
                return 1 + value.bit_length() // 3
            case float() if math.isfinite(value):
                return 24
        raise TypeError(type(value).__name__)
