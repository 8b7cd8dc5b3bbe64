"""Debaters that are programs: available, run in a process group of their own, heard."""

import asyncio
import json
import shutil
import signal
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from portico.adapters.cli_debaters.programs import CLEARANCE, Program, ProgramOutput, table
from portico.adapters.mcp import processes
from portico.adapters.system.removing import remove_tree
from portico.debate.core.debaters import (
    Debater,
    DebaterKind,
    DebaterReply,
    DebaterRequest,
    DebaterStatus,
)
from portico.debate.core.errors import (
    DebaterInterrupted,
    DebaterNotCleared,
    DebaterNotFound,
    DebaterUnavailable,
)
from portico.kernel.budget import Cost, Tokenizer, Tokens
from portico.kernel.json import JsonObject
from portico.kernel.label import Label
from portico.kernel.principal import Principal
from portico.kernel.redaction import blacked_out

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


class OutputTooLarge(Exception):
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
        """Raises `OutputTooLarge`."""
        while (line := await self._lines.get()) is not None:
            yield line
        if self._too_much:
            raise OutputTooLarge

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
    others = await asyncio.to_thread(processes.descendants, pid)
    try:
        processes.send(pid, others, signal.SIGTERM)
        with suppress(TimeoutError):
            async with asyncio.timeout(_GRACE):
                await running.exited.wait()
                await processes.gone(pid, others)
    finally:
        processes.send(pid, others, signal.SIGKILL)
        with suppress(TimeoutError):
            async with asyncio.timeout(_BURIED):
                await running.exited.wait()


_PATIENCE: Final = 15.0
"""Seconds for one of its answers: some are slow to start."""
_GOOD_FOR: Final = 300.0
_AWAY_FOR: Final = 10.0


@dataclass(frozen=True, slots=True)
class _Known:
    at: float
    why: str | None


@dataclass(frozen=True, slots=True)
class Availability:
    environment: Mapping[str, str]
    _known: dict[str, _Known] = field(default_factory=dict)
    _asking: dict[str, asyncio.Lock] = field(default_factory=dict)

    async def why_away(self, program: Program, *, fresh: bool = False) -> str | None:
        """What is missing, and what to do about it; None if nothing is."""
        async with self._asking.setdefault(program.name, asyncio.Lock()):
            now, known = asyncio.get_running_loop().time(), self._known.get(program.name)
            if known is not None and not fresh:
                good_for = _GOOD_FOR if known.why is None else _AWAY_FOR
                if now - known.at < good_for:
                    return known.why
            why = await self._why(program)
            self._known[program.name] = _Known(now, why)
            return why

    async def _why(self, program: Program) -> str | None:
        name, its = program.command[0], program.environment(self.environment)
        if await asyncio.to_thread(shutil.which, name, path=its.get("PATH")) is None:
            return (
                f"There is no program {name!r} on this machine. Install it with "
                f"`{program.dialect.install}`, or set debate.programs.{program.name}."
            )
        if await self._asked(program, ("--version",)) != 0:
            return f"`{name} --version` does not answer. Install it anew: {program.dialect.install}"
        if await asyncio.to_thread(program.dialect.needs_no_login, its):
            return None
        question = program.dialect.asks_whether_logged_in
        if question and await self._asked(program, question) == 0:
            return None
        return (
            f"Nobody is logged in to it. Log in, as whoever runs Portico: {program.dialect.log_in}"
        )

    async def _asked(self, program: Program, arguments: Sequence[str]) -> int | None:
        """How it ended; None if it did not."""
        its = program.environment(self.environment)
        try:
            async with (
                asyncio.timeout(_PATIENCE),
                started(
                    [*program.command, *arguments],
                    environment=its,
                    folder=Path(tempfile.gettempdir()),
                    given="",
                ) as running,
                aclosing(running.lines()) as lines,
            ):
                async for _line in lines:
                    pass
                return await running.ended()
        except (TimeoutError, OSError, OutputTooLarge):
            return None


# Voices of a debate that are programs: asked by their standard input, heard line by line, ended
# with all that they have started. Nothing holds them to a maximum: what they spend is shown.

PREFIX: Final = "program:"
USUAL_OUTPUT: Final = 4_096
"""Tokens that are reserved for an answer: it thinks, and may take more."""
AT_ONCE: Final = 4
"""Each is a whole program, of hundreds of megabytes."""
_WORDS: Final = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramDebaters:
    programs: Mapping[str, Program]
    environment: Mapping[str, str]
    """Ours; of which each is given only what it needs."""
    availability: Availability
    tokenizer: Tokenizer
    clearance: Label = CLEARANCE
    _turns: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE))

    async def all(self, caller: Principal, *, fresh: bool = False) -> Sequence[DebaterStatus]:  # noqa: ARG002 # they are the machine's, and the same for all
        async with asyncio.TaskGroup() as asked:
            tasks = {
                program.name: asked.create_task(self.availability.why_away(program, fresh=fresh))
                for program in self.programs.values()
            }
        return [
            DebaterStatus(
                debater=self._voice(self.programs[name]),
                available=task.result() is None,
                why=task.result(),
            )
            for name, task in tasks.items()
        ]

    async def named(self, caller: Principal, target: str) -> Debater:  # noqa: ARG002 # the same for all
        """Raises `DebaterNotFound`, `DebaterUnavailable`."""
        program = self.programs.get(target.removeprefix(PREFIX))
        if program is None:
            raise DebaterNotFound(target)
        why = await self.availability.why_away(program)
        if why is not None:
            raise DebaterUnavailable(target, why)
        return self._voice(program)

    async def ask(self, ask: DebaterRequest, hear: Callable[[str], None]) -> DebaterReply:
        name, program = ask.debater.name, self.programs.get(ask.debater.target)
        if program is None:
            gone = f"debate.programs has no {ask.debater.target!r} any more. Set it again."
            raise DebaterUnavailable(name, gone)
        if not self.clearance.covers(ask.label):
            raise DebaterNotCleared(name, ask.label)
        heard = ProgramOutput()
        try:
            async with asyncio.timeout(ask.timeout.total_seconds()), self._turns:
                why = await self._spoken(program, ask, heard, hear)
        except TimeoutError as error:
            late = f"it had not answered within {ask.timeout.total_seconds():.0f} seconds."
            raise DebaterInterrupted(name, late, self._known(ask, heard)) from error
        except OutputTooLarge as error:
            much = "it said more than anybody reads."
            raise DebaterInterrupted(name, much, self._known(ask, heard)) from error
        except OSError as error:
            gone = f"it cannot be started ({error.strerror}). See `portico debate voices --fresh`."
            raise DebaterUnavailable(name, gone) from error
        if why is not None or not heard.text.strip():
            raise DebaterInterrupted(name, why or "its answer is empty.", self._known(ask, heard))
        return self._replied(ask, heard)

    async def _spoken(
        self,
        program: Program,
        ask: DebaterRequest,
        heard: ProgramOutput,
        hear: Callable[[str], None],
    ) -> str | None:
        """Why it gave no answer, if it did not. Raises `OutputTooLarge`, `OSError`."""
        folder = await asyncio.to_thread(_private_folder)
        try:
            call = await asyncio.to_thread(program.dialect.call, ask, folder)
            room = folder / "room"
            await asyncio.to_thread(room.mkdir)
            async with started(
                [*program.command, *call.arguments],
                environment={**program.environment(self.environment), **call.environment},
                folder=room,
                given=call.given,
            ) as running:
                await self._heard(program, running, heard, hear)
                code = 0 if heard.ended else await running.ended()
                return _why(heard, code, running.complaint)
        finally:
            await asyncio.to_thread(remove_tree, folder)

    async def _heard(
        self, program: Program, running: Running, heard: ProgramOutput, hear: Callable[[str], None]
    ) -> None:
        async with aclosing(running.lines()) as lines:
            async for line in lines:
                event = _event(line)
                if event and (piece := program.dialect.receive(event, heard)):
                    hear(piece)
                if heard.ended:
                    return

    def _voice(self, program: Program) -> Debater:
        return Debater(
            name=f"{PREFIX}{program.name}",
            kind=DebaterKind.PROGRAM,
            target=program.name,
            family=program.dialect.family,
            bounded=False,
            max_output_tokens=USUAL_OUTPUT,
            clearance=self.clearance,
        )

    def _replied(self, ask: DebaterRequest, heard: ProgramOutput) -> DebaterReply:
        prompt, output = self._tokens(ask, heard)
        return DebaterReply(
            text=heard.text,
            prompt_tokens=prompt,
            output_tokens=output,
            cost=self._cost(ask, heard),
            overrun=max(prompt + output - ask.prompt_tokens - ask.max_output_tokens, 0),
            model=heard.model or ask.debater.target,
        )

    def _tokens(self, ask: DebaterRequest, heard: ProgramOutput) -> tuple[int, int]:
        """It reads more than it is told: instructions of its own, and what it said before."""
        written = self.tokenizer.count(heard.text)
        return max(heard.input, ask.prompt_tokens), max(heard.output, written)

    def _known(self, ask: DebaterRequest, heard: ProgramOutput) -> Cost | None:
        """None of one that did not come to say what it has used."""
        return self._cost(ask, heard) if heard.ended else None

    def _cost(self, ask: DebaterRequest, heard: ProgramOutput) -> Cost:
        prompt, output = self._tokens(ask, heard)
        return Cost(tokens=Tokens(prompt + output), money=heard.money, calls=1)


def _private_folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="portico-voice-"))


def _event(line: bytes) -> JsonObject:
    """Nothing of a line that is no JSON object: some say a word to people in between."""
    try:
        return table(json.loads(line))
    except (ValueError, RecursionError):
        return {}


def _why(heard: ProgramOutput, code: int, complained: str) -> str | None:
    if heard.problem is None and code == 0:
        return None
    last = next((line for line in reversed(complained.splitlines()) if line.strip()), "")
    said = blacked_out(" ".join((heard.problem or last or "it said nothing").split()))[:_WORDS]
    return said if heard.ended else f"it ended with {code}: {said}"
