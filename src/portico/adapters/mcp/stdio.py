"""Servers started on this machine and spoken to over stdio, in a sandbox or not."""

import asyncio
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Final, Protocol

from portico.adapters.mcp import orphan_reaper
from portico.adapters.mcp import processes as family
from portico.adapters.mcp import transport as wire
from portico.adapters.mcp.http import Spawn
from portico.adapters.mcp.processes import Allowance, StderrTail
from portico.adapters.mcp.secrets import Command
from portico.adapters.mcp.transport import Duplex, Endless, Lines, Message, TooLong, TransportFailed
from portico.gateway.core.calls import UpstreamTarget
from portico.sandbox.core.errors import InvalidProfile, SandboxUnavailable
from portico.sandbox.requests import SandboxProcess


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    processes: int = 32
    """At once, of all servers together."""
    idle: timedelta = timedelta(minutes=10)
    """After which a server that nobody calls is ended."""
    start: timedelta = timedelta(seconds=60)
    """In which a server has to greet."""
    look: timedelta = timedelta(seconds=60)
    """In which it has to list all that it offers."""
    wait: timedelta = timedelta(seconds=10)
    """For a place, while all processes are busy."""
    grace: timedelta = timedelta(seconds=2)
    """Between asking a process to end and making it."""
    settle: timedelta = timedelta(seconds=1)
    """From the first word of a change until it is looked at; there are mostly several."""
    largest: int = 16_000_000
    """Bytes of one message."""
    inherited: Sequence[str] = ()
    """Names of variables that every server is given of our own environment, beside the harmless."""


_SCRIPT: Final = str(Path(orphan_reaper.__file__))


class Watch:
    """Begun with the first server. Should the warden itself be ended, there is another one with
    the next server, and it is told of all."""

    def __init__(self) -> None:
        self._groups: set[int] = set()
        self._process: asyncio.subprocess.Process | None = None
        self._beginning = asyncio.Lock()

    async def start(self) -> None:
        async with self._beginning:
            if self._listens:
                return
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-I", "-S", _SCRIPT),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.DEVNULL,
                env={},
                start_new_session=True,  # what is typed at our terminal is not meant for it
            )
            self._process = process
            for group in self._groups:
                self._say(f"+{group}\n")

    @property
    def _listens(self) -> bool:
        pipe = None if self._process is None else self._process.stdin
        return pipe is not None and not pipe.is_closing()

    def over(self, group: int) -> None:
        self._groups.discard(group)
        self._say(f"-{group}\n")

    def on(self, group: int) -> None:
        self._groups.add(group)
        self._say(f"+{group}\n")

    async def end(self) -> None:
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()
            with suppress(TimeoutError):
                async with asyncio.timeout(5):
                    await self._process.wait()

    def _say(self, line: str) -> None:
        if self._process is not None and self._process.stdin is not None and self._listens:
            self._process.stdin.write(line.encode())


Room = AbstractAsyncContextManager[SandboxProcess]


class Confine(Protocol):
    async def cell(
        self, target: UpstreamTarget, command: Command, environment: Mapping[str, str]
    ) -> Room | None:
        """For one start of a process, with exactly this environment beside what the box adds; None
        if it is to run without. To enter it raises `SandboxUnavailable`, `InvalidProfile`, and
        `OSError` if there is nothing to start."""
        ...


class Lodging:
    """A cell from its beginning to its end. Whoever starts a server is not the one who ends it,
    and a room must be left by whoever has entered it: a task of its own does both."""

    def __init__(self, room: Room, spawn: Spawn) -> None:
        self._room = room
        self._entered: asyncio.Future[SandboxProcess] = asyncio.get_running_loop().create_future()
        self._over = asyncio.Event()
        self._cell: SandboxProcess | None = None
        self._stay = spawn(self._live())
        self._stay.add_done_callback(self._not_entered)

    async def enter(self) -> SandboxProcess:
        """Raises what entering raises."""
        try:
            return await asyncio.shield(self._entered)
        except asyncio.CancelledError:
            self._over.set()
            raise

    @property
    def refused(self) -> Sequence[str]:
        """Of its cell."""
        return () if self._cell is None else self._cell.refused

    async def leave(self) -> None:
        self._over.set()
        await asyncio.wait([self._stay])

    async def _live(self) -> None:
        try:
            async with self._room as cell:
                self._cell = cell
                self._entered.set_result(cell)
                await self._over.wait()
        except Exception as error:
            if self._entered.done():
                raise
            self._entered.set_exception(error)

    def _not_entered(self, _stay: "asyncio.Task[None]") -> None:
        """It was cancelled before there was anything to enter."""
        self._entered.cancel()


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
        self, words: StderrTail, *, longest: int, grace: float, buried: Callable[[int], None]
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
        self.receive: Callable[[Message], bool] = lambda _: False
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
            self._words.receive(data)
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
            line.start.decode(errors="replace"), line.end.decode(errors="replace")
        )
        self._words.receive(b"(a message that is too long) " + line.start + b"\n")
        if number is not None:
            self.spoil(number, "its answer is too long")

    def _message(self, line: bytes) -> bool:
        try:
            message = wire.read(line)
        except wire.TooDeep as error:
            return self.spoil(error.number, str(error))
        except ValueError:
            if line.strip():
                self._words.receive(b"(not a message) " + line + b"\n")
            return False
        return self.receive(message)

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


@dataclass(frozen=True, slots=True)
class Starting:
    command: Command
    environment: Mapping[str, str]
    lodging: Lodging | None
    """None if it runs without a box."""
    watch: Watch


async def start(starting: Starting, words: StderrTail, terms: Terms) -> Duplex:
    """Raises `TransportFailed`."""
    child = Child(
        words,
        longest=terms.largest,
        grace=terms.grace.total_seconds(),
        buried=starting.watch.over,
    )
    duplex = Duplex(child)
    child.receive, child.spoil, child.ended = duplex.received, duplex.spoil, duplex.end
    child.lodging = lodging = starting.lodging
    try:
        if lodging is None:
            await _run(child, starting)
        else:
            await _housed(child, starting, lodging)
    except (SandboxUnavailable, InvalidProfile) as error:
        raise TransportFailed(_reason(error), reached=False, fix=error.fix) from error
    except (OSError, ValueError) as error:
        raise _not_started(error, starting.command) from error
    return duplex


async def _run(child: Child, starting: Starting) -> None:
    command = starting.command
    await asyncio.get_running_loop().subprocess_exec(
        lambda: child,
        *(command.program, *command.arguments),
        env=dict(starting.environment),
        cwd=command.folder,
        start_new_session=True,
    )
    starting.watch.on(child.pid)


async def _housed(child: Child, starting: Starting, lodging: Lodging) -> None:
    try:
        cell = await lodging.enter()
        await _run_in(cell, child)
    except BaseException:
        await lodging.leave()
        raise
    starting.watch.on(child.pid)
    try:
        await cell.started(child.pid)
    except BaseException:
        await child.close()
        raise


async def _run_in(cell: SandboxProcess, child: Child) -> None:
    """Cancelled half-way, it would leave a process that nobody knows: it is waited for."""
    making = asyncio.ensure_future(
        asyncio.get_running_loop().subprocess_exec(
            lambda: child,
            *cell.command,
            env=dict(cell.environment),
            pass_fds=tuple(cell.descriptors),
            start_new_session=True,
        )
    )
    try:
        await asyncio.shield(making)
    except asyncio.CancelledError:
        transport, _ = await making
        transport.kill()
        transport.close()
        raise


def _reason(error: SandboxUnavailable | InvalidProfile) -> str:
    if isinstance(error, InvalidProfile):
        return f"it cannot be confined as its profile says: {error.reason}"
    return f"there is no box for it: {error.reason}"


def _not_started(error: OSError | ValueError, command: Command) -> TransportFailed:
    program = command.program[:200]
    match error:
        case FileNotFoundError() | NotADirectoryError() if (
            command.folder is not None and not Path(command.folder).is_dir()
        ):
            reason, fix = f"there is no folder {command.folder}", "Check the server's folder."
        case FileNotFoundError() | NotADirectoryError():
            reason = f"there is no program {program!r}"
            fix = f"Install {program}, or give the whole path of it."
        case PermissionError():
            reason, fix = f"{program!r} may not be run", f"Make {program} executable."
        case OSError():
            reason, fix = f"{program!r} cannot be run: {error.strerror}", "Check its command."
        case _:
            reason, fix = f"{program!r} cannot be run as it is written", "Check its command."
    return TransportFailed(reason, reached=False, fix=fix)
