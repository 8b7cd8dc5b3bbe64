"""Time and randomness as something handed in, so that a test can control them."""

from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    def now(self) -> datetime:
        """The present, in UTC, with its time zone."""
        ...


class Entropy(Protocol):
    def __call__(self, size: int, /) -> bytes:
        """`size` bytes that nobody can guess."""
        ...
