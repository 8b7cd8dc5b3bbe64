"""A server as a process of ours: its three pipes, and its end."""

import asyncio
import signal
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from portico.adapters.mcp import family, wire
from portico.adapters.mcp.allowance import Allowance
from portico.adapters.mcp.housing import Lodging
from portico.adapters.mcp.last_words import LastWords
from portico.adapters.mcp.lines import Endless, Lines, TooLong
from portico.adapters.mcp.wire import Message

_STDIN: Final = 0
_STDOUT: Final = 1
_STDERR: Final = 2
_WITHOUT_A_WORD: Final = 0.5
"""Seconds in which a server may go by itself once its input is closed."""
_TO_BE_BURIED: Final = 2.0
_STALE: Final = 8_000_000
"""Bytes that wait to be read by one that does not read: replies and cancellations are not added."""


class Child(asyncio.SubprocessProtocol):
    """Heard in the loop's own callbacks: an answer is with whoever waits for it at once."""

    def __init__(
        self, words: LastWords, *, longest: int, grace: float, buried: Callable[[int], None]
    ) -> None:
        """`buried` is told when nothing of it is left."""
        self._words = words
        self._grace = grace
        self._buried = buried
        self._lines = Lines(longest)
        self._allowances = {_STDOUT: Allowance(), _STDERR: Allowance()}
        self._loop = asyncio.get_running_loop()
        self._exited = asyncio.Event()
        self._writable = asyncio.Event()
        self._writable.set()
        self.hear: Callable[[Message], bool] = lambda _: False
        self.spoil: Callable[[object, str], bool] = lambda _number, _reason: False
        self.ended: Callable[[str], None] = lambda _: None
        self.lodging: Lodging | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if not isinstance(transport, asyncio.SubprocessTransport):
            raise TypeError
        self._transport = transport
        self.pid = transport.get_pid()
        input_pipe = transport.get_pipe_transport(_STDIN)
        if isinstance(input_pipe, asyncio.WriteTransport):
            self._input = input_pipe

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        unasked = self._read(data) if fd == _STDOUT else len(data)
        if fd == _STDERR:
            self._words.hear(data)
        if unasked:
            pause = self._allowances[fd].use(unasked, self._loop.time())
            if pause:
                self._hold(fd, pause)

    def _read(self, data: bytes) -> int:
        """How much of it nobody had asked for."""
        unasked = 0
        try:
            for line in self._lines.feed(data):
                if isinstance(line, TooLong):
                    self._too_long(line)
                elif not self._message(line):
                    unasked += len(line) + 1
        except Endless:
            self.ended("it sent a message that is too long")
            self._transport.kill()
        return unasked

    def _too_long(self, line: TooLong) -> None:
        number = wire.number_in(
            line.begin.decode(errors="replace"), line.end.decode(errors="replace")
        )
        self._words.hear(b"(a message that is too long) " + line.begin + b"\n")
        if number is not None:
            self.spoil(number, "its answer is too long")

    def _message(self, line: bytes) -> bool:
        try:
            message = wire.read(line)
        except wire.TooDeep as error:
            return self.spoil(error.number, str(error))
        except ValueError:
            if line.strip():
                self._words.hear(b"(not a message) " + line + b"\n")
            return False
        return self.hear(message)

    def _hold(self, fd: int, pause: float) -> None:
        pipe = self._transport.get_pipe_transport(fd)
        if isinstance(pipe, asyncio.ReadTransport) and not pipe.is_closing():
            pipe.pause_reading()
            self._loop.call_later(pause, _resume, pipe)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:  # noqa: ARG002 # a pipe is at its end either way
        self._writable.set()
        if fd != _STDERR and not self._exited.is_set():
            closed = "output" if fd == _STDOUT else "input"
            self._loop.call_later(_WITHOUT_A_WORD, self.ended, f"it closed its {closed}")

    def process_exited(self) -> None:
        self._exited.set()
        self._writable.set()
        # What it wrote last may still be in the pipes, and says why.
        self._loop.call_later(0.05, self.ended, _how(self._transport.get_returncode()))

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    @property
    def process(self) -> int | None:
        return self.pid

    @property
    def ready(self) -> bool:
        return self._writable.is_set()

    async def wait(self) -> None:
        await self._writable.wait()

    def send(self, data: bytes) -> None:
        if not self._input.is_closing():
            self._input.write(data + b"\n")

    def tell(self, data: bytes) -> None:
        if self._input.get_write_buffer_size() < _STALE:
            self.send(data)

    async def close(self) -> None:
        """First its input, as the protocol says; then it is asked; then it is made to. Whoever
        does not wait for that ends all of it at once: nobody else knows of it afterwards."""
        others: family.Others = ()
        gone = False
        try:
            others = await asyncio.to_thread(family.descendants, self.pid)
            self._input.close()
            for number, patience in (
                (None, _WITHOUT_A_WORD),
                (signal.SIGTERM, self._grace),
                (signal.SIGKILL, _TO_BE_BURIED),
            ):
                if number is signal.SIGKILL and self.lodging is not None:
                    break  # whoever keeps the box ends all that is in it, and must not be killed
                if number is not None:
                    await asyncio.to_thread(family.send, self.pid, others, number)
                if gone := await self._gone(others, patience):
                    break
        finally:
            if self.lodging is not None:
                await self.lodging.leave()
            elif not gone:
                family.send(self.pid, others or family.descendants(self.pid), signal.SIGKILL)
            self._transport.close()
            self._buried(self.pid)

    async def _gone(self, others: family.Others, within: float) -> bool:
        with suppress(TimeoutError):
            async with asyncio.timeout(within):
                await self._exited.wait()
                await family.gone(self.pid, others)
                return True
        return False


def _resume(pipe: asyncio.ReadTransport) -> None:
    if not pipe.is_closing():
        pipe.resume_reading()


def _how(code: int | None) -> str:
    if code is not None and code < 0:
        return f"it was ended by {_signal(-code)}"
    return f"it ended with exit code {code}"


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
