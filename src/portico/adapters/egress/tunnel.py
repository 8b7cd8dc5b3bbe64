"""Two connections made one: what comes from either goes to the other, until both have said all."""

import asyncio
from asyncio import StreamReader, StreamWriter
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Final, Self

PIECE: Final = 64 * 1024
_PARTING: Final = 5.0
_LAST_WORDS: Final = 1.0


@dataclass(frozen=True, slots=True)
class End:
    """One connection, as whoever is at its other side hears and is heard."""

    reader: StreamReader
    writer: StreamWriter

    async def say(self, content: bytes) -> None:
        """As fast as it is taken. Raises `OSError`."""
        self.writer.write(content)
        await self.writer.drain()

    async def say_last(self, content: bytes) -> None:
        """And let it finish: what is closed while the other still speaks takes the last words with
        it. Raises `OSError`."""
        await self.say(content)
        self.writer.write_eof()
        with suppress(TimeoutError):
            async with asyncio.timeout(_LAST_WORDS):
                while await self.reader.read(PIECE):
                    pass

    async def part(self) -> None:
        """What was said last may still be on its way; not for ever."""
        try:
            with suppress(OSError):
                async with asyncio.timeout(_PARTING):
                    self.writer.close()
                    await self.writer.wait_closed()
        finally:
            self.writer.transport.abort()


class Pulse:
    """Something moves, or it is over: leaving it raises `TimeoutError` then."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._timer = asyncio.timeout(seconds)

    async def __aenter__(self) -> Self:
        await self._timer.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._timer.__aexit__(kind, error, trace)

    def beat(self, seconds: float | None = None) -> None:
        """`seconds` for how long it may stand still from now on."""
        self._seconds = self._seconds if seconds is None else seconds
        until = asyncio.get_running_loop().time() + self._seconds
        # Not at every piece: setting a timer costs more than carrying one.
        if not self._timer.expired() and abs(until - (self._timer.when() or 0)) > self._seconds / 8:
            self._timer.reschedule(until)


async def tunnel(near: End, far: End, *, idle: float, lingering: float) -> None:
    """`lingering` seconds are what one side has once the other has said all. Raises `OSError`, or a
    group of them."""

    async def carried(start: End, end: End) -> None:
        while piece := await start.reader.read(PIECE):
            pulse.beat()
            await end.say(piece)
        pulse.beat(lingering)
        end.writer.write_eof()

    async with Pulse(idle) as pulse, asyncio.TaskGroup() as group:
        group.create_task(carried(near, far))
        group.create_task(carried(far, near))
