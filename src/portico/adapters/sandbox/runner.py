"""Running something to its end, or to a limit, whichever is first."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import Final

from portico.adapters.sandbox.cell import OpenCell, to_its_end
from portico.sandbox.core.errors import BoxUnavailable
from portico.sandbox.core.profile import Limits
from portico.sandbox.core.requests import End, Outcome

_STDIN: Final = 0
_STDOUT: Final = 1
_STDERR: Final = 2
_TO_BE_BURIED: Final = 10.0
_TO_COMPLAIN: Final = 1.0


async def run_in(
    lodging: AbstractAsyncContextManager[OpenCell], limits: Limits, given: bytes
) -> Outcome:
    """Raises `BoxUnavailable`, `BadProfile`."""
    began = time.monotonic()
    async with lodging as cell, _started(cell, limits) as listener:
        stopped = await _to_an_end(listener, limits, given)
        code = cell.status()
        if await cell.ran_out():
            stopped = End.TOO_LARGE
    by_itself = End.KILLED if code is None or code < 0 else End.EXITED
    return Outcome(
        end=stopped or by_itself,
        code=code,
        output=bytes(listener.heard[_STDOUT]),
        errors=bytes(listener.heard[_STDERR]),
        seconds=time.monotonic() - began,
    )


async def _to_an_end(listener: "_Listener", limits: Limits, given: bytes) -> End | None:
    listener.give(given)
    try:
        async with asyncio.timeout(limits.seconds):
            await listener.over.wait()
    except TimeoutError:
        return End.TOO_LONG
    return End.TOO_LOUD if listener.too_loud else None


@asynccontextmanager
async def _started(cell: OpenCell, limits: Limits) -> "AsyncIterator[_Listener]":
    """However it is left, the process is ended and buried."""
    listener = _Listener(limits.output)
    # Cancelled in the middle of this, asyncio would kill what it cannot bury yet.
    making = asyncio.ensure_future(
        asyncio.get_running_loop().subprocess_exec(
            lambda: listener,
            *cell.command,
            env=dict(cell.environment),
            pass_fds=cell.descriptors,
            start_new_session=True,
        )
    )
    try:
        transport, _ = await asyncio.shield(making)
        try:
            await cell.started(transport.get_pid())
        except BoxUnavailable as error:
            last = await listener.last_words(_TO_COMPLAIN)
            raise BoxUnavailable(f"{error.reason}{last}", fix=error.fix) from error
        yield listener
    finally:
        cell.kill()
        await to_its_end(_ended(making, listener))


async def _ended(
    making: "asyncio.Future[tuple[asyncio.SubprocessTransport, _Listener]]", listener: "_Listener"
) -> None:
    transport, _ = await making
    try:
        await listener.buried(_TO_BE_BURIED)
    finally:
        transport.close()  # which kills what is still there


class _Listener(asyncio.SubprocessProtocol):
    """Hears both streams and counts them together."""

    def __init__(self, most: int | None) -> None:
        self._left = most
        self._open = {_STDOUT, _STDERR}
        self._exited = asyncio.Event()
        self.heard = {_STDOUT: bytearray(), _STDERR: bytearray()}
        self.too_loud = False
        self.over = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if not isinstance(transport, asyncio.SubprocessTransport):
            raise TypeError
        self._transport = transport

    def give(self, given: bytes) -> None:
        pipe = self._transport.get_pipe_transport(_STDIN)
        if isinstance(pipe, asyncio.WriteTransport):
            pipe.write(given)
            pipe.close()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        kept = data if self._left is None else data[: self._left]
        self.heard[fd] += kept
        if self._left is not None:
            self._left -= len(kept)
        if len(kept) < len(data):
            self.too_loud = True
            self.over.set()

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:  # noqa: ARG002 # a pipe is at its end either way
        self._open.discard(fd)
        self._look()

    def process_exited(self) -> None:
        self._exited.set()
        self._look()

    def _look(self) -> None:
        if self._exited.is_set() and not self._open:
            self.over.set()

    async def last_words(self, seconds: float) -> str:
        """What bubblewrap complained of, if it did: whatever else it is comes from inside."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.over.wait()
        lines = self.heard[_STDERR].decode(errors="replace").strip().splitlines()[-1:]
        return "".join(f": {line[:200]}" for line in lines if line.startswith("bwrap: "))

    async def buried(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._exited.wait()
