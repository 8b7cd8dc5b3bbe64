"""Randomness as something handed in, so that a test can know it."""

from typing import Protocol


class Entropy(Protocol):
    def __call__(self, size: int, /) -> bytes:
        """`size` bytes that nobody can guess."""
        ...
