"""Answers with an end: of their time, and of their size after they were unpacked.

Unpacking is done here, piece by piece, and stops where the answer becomes too long: a few bytes can
hold more than there is room for. What was not asked for is not unpacked at all.
"""

import asyncio
import zlib
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Final

import httpx2

ACCEPTED: Final = "gzip"
BOUNDS: Final = "portico.bounds"
"""Where a request carries its own, among its extensions."""
_PIECE: Final = 64 * 1024
_GZIP: Final = zlib.MAX_WBITS | 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    seconds: float | None = 30.0
    """For all of it, redirects and the last byte included."""
    largest: int = 5_000_000
    """Bytes of an answer, after it was unpacked."""
    redirects: int = 3
    """At most; if it is none, an answer that leads on is an answer like others."""


class TooLong(httpx2.DecodingError):
    """The answer has more bytes than it may."""

    def __init__(self, largest: int) -> None:
        super().__init__(f"it is longer than {largest:,} bytes")
        self.largest = largest


class BoundedBody(httpx2.AsyncByteStream):
    """The body of an answer, as it is after it was unpacked."""

    def __init__(
        self, packed: httpx2.AsyncByteStream, encoding: str, largest: int, until: float | None
    ) -> None:
        self._packed = packed
        self._unpack = _unpacker(encoding)
        self._left = self._packed_left = self._largest = largest
        self._until = until

    async def __aiter__(self) -> AsyncIterator[bytes]:
        packed = aiter(self._packed)
        while (piece := await self._next(packed)) is not None:
            self._packed_left -= len(piece)  # much can be packed that unpacks to nothing
            for part in self._unpack.parts(piece):
                self._left -= len(part)
                if min(self._left, self._packed_left) < 0:
                    break
                yield part
            if min(self._left, self._packed_left) < 0:
                raise TooLong(self._largest)
        self._unpack.check_end()

    async def _next(self, packed: AsyncIterator[bytes]) -> bytes | None:
        if self._until is None:
            return await anext(packed, None)
        try:
            async with asyncio.timeout_at(self._until):
                return await anext(packed, None)
        except TimeoutError as error:
            raise httpx2.ReadTimeout("it took too long") from error

    async def aclose(self) -> None:
        await self._packed.aclose()


class _Plain:
    def parts(self, piece: bytes) -> Iterator[bytes]:
        yield piece

    def check_end(self) -> None:
        """It ends where the connection says."""


class _Zipped:
    def __init__(self) -> None:
        self._state = zlib.decompressobj(_GZIP)
        self._begun = False

    def parts(self, piece: bytes) -> Iterator[bytes]:
        """Never more than a piece at once. Raises `httpx2.DecodingError`."""
        try:
            while piece:
                if self._state.eof:  # one packed text after another is one text
                    self._state = zlib.decompressobj(_GZIP)
                if part := self._state.decompress(piece, _PIECE):
                    yield part
                piece = self._state.unconsumed_tail or self._state.unused_data
                self._begun = True
        except zlib.error as error:
            raise httpx2.DecodingError("it cannot be unpacked") from error

    def check_end(self) -> None:
        if self._begun and not self._state.eof:
            raise httpx2.DecodingError("it ends in the middle")


def _unpacker(encoding: str) -> _Plain | _Zipped:
    """Raises `httpx2.DecodingError`."""
    name = encoding.strip().lower()
    if name in {"", "identity"}:
        return _Plain()
    if name != ACCEPTED:
        raise httpx2.DecodingError("it is packed in a way that was not asked for")
    return _Zipped()
