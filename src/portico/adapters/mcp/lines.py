"""Messages out of a stream of bytes: one a line."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

_ENDS: Final = 200
_TOO_MUCH: Final = 8
"""So many times too long, a line is taken to have no end."""


class Endless(Exception):
    """A line without an end."""


@dataclass(frozen=True, slots=True)
class TooLong:
    """What is known of a line that was not kept: how it began, and how it ended."""

    begin: bytes
    end: bytes


class Lines:
    def __init__(self, longest: int) -> None:
        self._longest = longest
        self._pieces: list[bytes] = []
        self._size = 0

    def feed(self, data: bytes) -> Iterator[bytes | TooLong]:
        """The lines that end in it, without their ends. Raises `Endless`."""
        first, *others = data.split(b"\n")
        self._keep(first)
        for piece in others:
            line = self._line()
            self._keep(piece)
            yield line

    def _line(self) -> bytes | TooLong:
        pieces, size = self._pieces, self._size
        self._pieces, self._size = [], 0
        if size > self._longest:
            return TooLong(pieces[0], pieces[-1])
        return b"".join(pieces)

    def _keep(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._size > _TOO_MUCH * self._longest:
            raise Endless
        if self._size > self._longest:
            whole = b"".join([*self._pieces, piece])
            self._pieces = [whole[:_ENDS], whole[-_ENDS:]]
        else:
            self._pieces.append(piece)
