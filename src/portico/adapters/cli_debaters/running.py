"""A program that is given something and says something: in a process group of its own, which ends
as a whole, whatever it has started."""

import asyncio
import signal
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final

from portico.adapters.mcp import family

LONGEST_LINE: Final = 4_000_000
"""Bytes."""
MOST_SAID: Final = 32_000_000
"""Bytes of all that is read of one; what is more is not waited for."""
_LAST_WORDS: Final = 4_000
_STDIN: Final = 0
_STDOUT: Final = 1
_AFTERWARDS: Final = 0.2
"""Seconds in which what it said last may still come, once it has ended: somebody whom it left
behind may hold its pipe open for ever."""
_GRACE: Final = 1.0
"""Seconds between being asked to end and being made to."""
_BURIED: Final = 5.0


class SaidTooMuch(Exception):
    """More than anybody reads."""


class Running(asyncio.SubprocessProtocol):
    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._lines: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._rest = bytearray()
        self._said = 0
        self._too_much = False
        self._over = False
        self._complained = b""
        self.exited = asyncio.Event()

    @property
    def complaint(self) -> str:
        """The end of what it said to its standard error."""
        return self._complained.decode("utf-8", "replace")

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if not isinstance(transport, asyncio.SubprocessTransport):
            raise TypeError
        self.transport = transport

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd != _STDOUT:
            self._complained = (self._complained + data)[-_LAST_WORDS:]
        elif not self._over:
            self._heard(data)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:  # noqa: ARG002 # a pipe is at its end either way
        if fd == _STDOUT:
            self._end()

    def process_exited(self) -> None:
        self.exited.set()
        self._loop.call_later(_AFTERWARDS, self._end)

    def tell(self, given: str) -> None:
        pipe = self.transport.get_pipe_transport(_STDIN)
        if isinstance(pipe, asyncio.WriteTransport) and not pipe.is_closing():
            pipe.write(given.encode("utf-8", "replace"))
            pipe.close()  # once all of it is written

    async def lines(self) -> AsyncGenerator[bytes, None]:
        """Raises `SaidTooMuch`."""
        while (line := await self._lines.get()) is not None:
            yield line
        if self._too_much:
            raise SaidTooMuch

    async def ended(self) -> int:
        await self.exited.wait()
        return self.transport.get_returncode() or 0

    def _heard(self, data: bytes) -> None:
        self._said += len(data)
        *lines, rest = (bytes(self._rest) + data).split(b"\n")
        self._rest = bytearray(rest)
        for line in lines:
            self._lines.put_nowait(line)
        if self._said > MOST_SAID or len(self._rest) > LONGEST_LINE:
            self._too_much = True
            self._end()

    def _end(self) -> None:
        if not self._over:
            self._over = True
            if self._rest and not self._too_much:
                self._lines.put_nowait(bytes(self._rest))
            self._lines.put_nowait(None)


@asynccontextmanager
async def started(
    command: Sequence[str],
    *,
    environment: Mapping[str, str],
    folder: Path,
    given: str,
) -> AsyncIterator[Running]:
    """Raises `OSError`. Nothing of it is left afterwards, also of one that was cut off."""
    transport, running = await asyncio.get_running_loop().subprocess_exec(
        Running,
        *command,
        env=dict(environment),
        cwd=folder,
        start_new_session=True,
    )
    try:
        running.tell(given)
        yield running
    finally:
        try:
            await _end(transport.get_pid(), running)
        finally:
            transport.close()


async def _end(pid: int, running: Running) -> None:
    others = await asyncio.to_thread(family.descendants, pid)
    try:
        family.send(pid, others, signal.SIGTERM)
        with suppress(TimeoutError):
            async with asyncio.timeout(_GRACE):
                await running.exited.wait()
                await family.gone(pid, others)
    finally:
        family.send(pid, others, signal.SIGKILL)
        with suppress(TimeoutError):
            async with asyncio.timeout(_BURIED):
                await running.exited.wait()
