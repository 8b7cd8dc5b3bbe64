"""Small programs in the Monty interpreter: their calls, their waits and their ends."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, Literal, Protocol, Self, TypeVar

from pydantic_monty import (
    ExcType,
    ExternalExceptionData,
    ExternalResult,
    ExternalReturnValue,
    ExternalSettledResult,
    FunctionSnapshot,
    FutureSnapshot,
    Monty,
    MontyComplete,
    MontyConversionError,
    MontyCrashedError,
    MontyError,
    MontyRuntimeError,
    MontySession,
    MontySyntaxError,
    NameLookupSnapshot,
    SyncSnapshot,
)
from pydantic_monty._binary import find_monty_binary

from portico.adapters.monty.worker import Worker, confine_this_thread, starting
from portico.kernel.errors import PorticoError
from portico.kernel.json import JsonValue, NotCanonical, kept
from portico.sandbox.core.errors import CodeBusy, CodeRefused, NotPlain, SandboxUnavailable
from portico.sandbox.core.profile import plain
from portico.sandbox.core.requests import CodeEnd, CodeLimits, CodeOutcome, Pending, Raised
from portico.sandbox.requests import HostFunction


class Answering(Protocol):
    @property
    def names(self) -> Collection[str]:
        """Of the functions that there are."""
        ...

    def __call__(self, pending: Pending, /) -> Awaitable[JsonValue] | None:
        """None if it is answered at another time."""
        ...


class Functions:
    """Answers with the functions of whoever runs the program."""

    def __init__(self, functions: Mapping[str, HostFunction]) -> None:
        self._functions = functions
        self.names = functions.keys()

    def __call__(self, pending: Pending) -> Awaitable[JsonValue]:
        return self._answer(pending)

    async def _answer(self, pending: Pending) -> JsonValue:
        return await self._functions[pending.function](*pending.arguments, **pending.named)


class Names:
    """Answers nothing: the program waits, for as long as it takes."""

    def __init__(self, names: Collection[str]) -> None:
        self.names = names

    def __call__(self, _: Pending) -> None:
        return None


_MARK: Final = b"portico-code-1\n"
_DIGEST: Final = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredProgram:
    interpreter: bytes
    functions: frozenset[str]
    calls: int
    printed: int
    """Bytes."""
    pending: Mapping[int, Pending] = field(default_factory=dict)

    def write(self) -> bytes:
        head = {
            "functions": sorted(self.functions),
            "calls": self.calls,
            "printed": self.printed,
            "pending": [
                [each.number, each.function, each.arguments, each.named]
                for each in self.pending.values()
            ],
        }
        body = json.dumps(head).encode() + b"\n" + self.interpreter
        return _MARK + sha256(body).digest() + body

    @classmethod
    def read(cls, snapshot: bytes) -> "StoredProgram":
        """Raises `CodeRefused` for what `write` has not written, or what was damaged since."""
        digest = snapshot[len(_MARK) : len(_MARK) + _DIGEST]
        body = snapshot[len(_MARK) + _DIGEST :]
        if not snapshot.startswith(_MARK) or sha256(body).digest() != digest:
            raise CodeRefused("that is no snapshot of a program, or a damaged one")
        text, _, interpreter = body.partition(b"\n")
        head: dict[str, Any] = json.loads(text)
        pending = (
            Pending(number=number, function=function, arguments=arguments, named=named)
            for number, function, arguments, named in head["pending"]
        )
        return cls(
            interpreter=interpreter,
            functions=frozenset(head["functions"]),
            calls=head["calls"],
            printed=head["printed"],
            pending={each.number: each for each in pending},
        )


NEW: Final = StoredProgram(interpreter=b"", functions=frozenset(), calls=0, printed=0)

_LONGEST: Final = 4000
_UNKNOWN_SYNTAX: Final = "NotImplementedError: The monty syntax parser"


class Ended(Exception):
    """The program goes on no further, for a reason of ours."""

    def __init__(self, end: CodeEnd, reason: str) -> None:
        super().__init__(reason)
        self.end = end


def refuse_unreadable(error: MontyError) -> None:
    """Raises `CodeRefused` for what the interpreter could not even begin with."""
    words = shortened(str(error)).rstrip(".")
    if isinstance(error, MontySyntaxError):
        raise CodeRefused(words) from error
    if isinstance(error, MontyConversionError):
        raise CodeRefused(f"a value cannot be given to it: {words}") from error
    if words.startswith(_UNKNOWN_SYNTAX):
        raise CodeRefused(words.replace(_UNKNOWN_SYNTAX, "it")) from error


def told(error: MontyError) -> Ended:
    match error:
        case MontyCrashedError():
            return _crashed(error)
        case MontyRuntimeError():
            return _raised(error)
        case _:
            return Ended(CodeEnd.BROKEN, shortened(str(error)))


def shortened(text: str) -> str:
    """Its beginning and its end: a trace says what happened in its last line."""
    half = _LONGEST // 2
    return text if len(text) <= _LONGEST else f"{text[:half]} … {text[-half:]}"


def _crashed(error: MontyCrashedError) -> Ended:
    if error.timed_out:
        return Ended(CodeEnd.TOO_LONG, "it computed for longer than it may")
    return Ended(CodeEnd.BROKEN, f"the interpreter ended: {shortened(str(error))}")


def _raised(error: MontyRuntimeError) -> Ended:
    """By its first words: a program's message may be as large as its memory, and `exception()`
    would make yet another copy of it."""
    words = shortened(str(error))
    kind, _, rest = words.partition(": ")
    if kind == "TimeoutError" and "time limit exceeded" in rest:
        return Ended(CodeEnd.TOO_LONG, words)
    if kind == "MemoryError":
        return Ended(CodeEnd.TOO_LARGE, words)
    if kind == "RuntimeError" and rest.startswith("suspension limit"):
        return Ended(CodeEnd.TOO_MANY_CALLS, words)
    return Ended(CodeEnd.RAISED, shortened(error.display()))


_LONGEST_WORDS: Final = 2000
_KNOWN: Final[Mapping[str, ExcType]] = {
    "RuntimeError": "RuntimeError",
    "ValueError": "ValueError",
    "TypeError": "TypeError",
    "KeyError": "KeyError",
    "NameError": "NameError",
    "LookupError": "LookupError",
    "TimeoutError": "TimeoutError",
    "PermissionError": "PermissionError",
    "FileNotFoundError": "FileNotFoundError",
}
"""Errors that a program may want to tell apart."""


class Calls:
    """By their numbers. When it is left, none is under way any more."""

    def __init__(self) -> None:
        self._under_way: dict[int, asyncio.Future[JsonValue]] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        for call in self._under_way.values():
            call.cancel()
        if self._under_way:
            await asyncio.wait(self._under_way.values())
        for call in self._under_way.values():
            if not call.cancelled():
                call.exception()  # looked at, so that nobody complains of its being overlooked

    def start(self, number: int, call: Awaitable[JsonValue]) -> None:
        self._under_way[number] = asyncio.ensure_future(call)

    def among(self, numbers: Collection[int]) -> Collection[int]:
        return [number for number in numbers if number in self._under_way]

    async def some(self, numbers: Collection[int]) -> Mapping[int, ExternalSettledResult]:
        """What came of the first of them, and of all others that are over by then."""
        waited = {self._under_way[number]: number for number in numbers}
        over, _ = await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
        return {waited[call]: _settled(self._under_way.pop(waited[call])) for call in over}


def raised(words: str, kind: str = "RuntimeError") -> ExternalExceptionData:
    known = kind in _KNOWN
    text = words if known or not words else f"{kind}: {words}"
    return {
        "exc_type": _KNOWN[kind] if known else "RuntimeError",
        "message": text[:_LONGEST_WORDS].encode(errors="replace").decode(),
    }


def given(value: JsonValue) -> ExternalSettledResult:
    try:
        returned: ExternalReturnValue = {"return_value": kept(value)}
    except NotCanonical as error:
        return raised(str(error), "TypeError")
    return returned


def _settled(call: asyncio.Future[JsonValue]) -> ExternalSettledResult:
    if call.cancelled():
        return raised("it was given up")
    match call.exception():
        case None:
            return given(call.result())
        case PorticoError() as error:
            return raised(str(error))
        case error:
            return raised(str(error), type(error).__name__)


_T = TypeVar("_T")
_LATER: Final[ExternalResult] = {"future": ...}
_LONGEST_PAUSE: Final = 86_400.0
_SLEEPS: Final = {"time.sleep", "asyncio.sleep"}


class Printed:
    """What a program prints, up to what it may; one that goes on is ended."""

    def __init__(self, before: int, most: int, too_much: Callable[[], None]) -> None:
        self.bytes = before
        self._most = most
        self._too_much = too_much
        self._pieces: list[str] = []

    def __call__(self, _: Literal["stdout", "stderr"], text: str) -> None:
        written = text.encode()
        room = max(0, self._most - self.bytes)
        self.bytes += len(written)
        self._pieces.append(written[:room].decode(errors="ignore"))
        if self.overflowed:
            self._too_much()

    @property
    def overflowed(self) -> bool:
        return self.bytes > self._most

    @property
    def text(self) -> str:
        return "".join(self._pieces)


class Story:
    def __init__(
        self, worker: Worker, limits: CodeLimits, answering: Answering, before: StoredProgram
    ) -> None:
        self.limits = limits
        self.pending = dict(before.pending)
        self._given = {number: _size(call) for number, call in before.pending.items()}
        self.calls = before.calls
        self.printed = Printed(before.printed, limits.output, worker.kill)
        self._worker = worker
        self._answering = answering
        self._under_way = Calls()

    async def tell(self, snapshot: SyncSnapshot) -> MontyComplete | FutureSnapshot:
        """On to its end, or to where only others can help it on. Raises `Ended`."""
        self.must_not_be_loud()
        async with self._under_way:
            while not isinstance(snapshot, MontyComplete):
                step = await self._step(snapshot)
                if step is None:
                    assert isinstance(snapshot, FutureSnapshot)  # noqa: S101 # only those wait
                    return snapshot
                snapshot = await self.turn(step)
            return snapshot

    async def turn(self, step: Callable[[], _T]) -> _T:
        """Raises `Ended`."""
        try:
            done = await self._worker.turn(step)
        except MontyError as error:
            raise self.ended(error) from error
        self.must_not_be_loud()
        return done

    def ended(self, error: MontyError) -> Ended:
        self.must_not_be_loud()
        return told(error)

    def must_not_be_loud(self) -> None:
        """Raises `Ended`."""
        if self.printed.overflowed:
            reason = f"it printed more than {self.limits.output} bytes altogether"
            raise Ended(CodeEnd.TOO_LOUD, reason)

    async def _step(
        self, snapshot: FunctionSnapshot | NameLookupSnapshot | FutureSnapshot
    ) -> Callable[[], SyncSnapshot] | None:
        match snapshot:
            case NameLookupSnapshot():
                return self._name(snapshot)
            case FutureSnapshot():
                return await self._wait(snapshot)
            case FunctionSnapshot() if snapshot.is_os_function:
                return await self._machine(snapshot)
            case FunctionSnapshot():
                return self._call(snapshot)

    def _name(self, snapshot: NameLookupSnapshot) -> Callable[[], SyncSnapshot]:
        if snapshot.object_id is None and snapshot.variable_name in self._answering.names:
            named = _by_name(snapshot.variable_name)
            return lambda: snapshot.resume(value=named)
        return snapshot.resume

    async def _wait(self, snapshot: FutureSnapshot) -> Callable[[], SyncSnapshot] | None:
        results: dict[int, ExternalSettledResult]
        ours = self._under_way.among(snapshot.pending_call_ids)
        if ours:
            results = dict(await self._under_way.some(ours))
        else:
            # A pause that was begun before it was kept is over by now
            pauses = [each for each in snapshot.pending_call_ids if each not in self.pending]
            results = {number: {"return_value": None} for number in pauses}
        for number in results:
            self.pending.pop(number, None)
            self._given.pop(number, None)
        return (lambda: snapshot.resume(results)) if results else None

    async def _machine(self, snapshot: FunctionSnapshot) -> Callable[[], SyncSnapshot]:
        """Of all that a program can ask of a machine it gets one thing: to wait a while."""
        if snapshot.function_name not in _SLEEPS:
            return snapshot.resume_not_handled
        seconds = _seconds(snapshot.args)
        if snapshot.function_name == "time.sleep":
            await asyncio.sleep(seconds)
            return lambda: snapshot.resume({"return_value": None})
        self._under_way.start(snapshot.call_id, asyncio.sleep(seconds))
        return lambda: snapshot.resume(_LATER)

    def _call(self, snapshot: FunctionSnapshot) -> Callable[[], SyncSnapshot]:
        name = snapshot.function_name
        if snapshot.object_id is not None or name not in self._answering.names:
            unknown = raised(f"name {name!r} is not defined", "NameError")
            return lambda: snapshot.resume(unknown)
        self.calls += 1
        if self.calls > self.limits.calls:
            raise Ended(
                CodeEnd.TOO_MANY_CALLS, f"it called functions more than {self.limits.calls} times"
            )
        try:
            pending = _pending(snapshot, self.limits.output)
        except NotPlain as error:
            refused = raised(f"an argument of {name}: {error.reason}", "TypeError")
            return lambda: snapshot.resume(refused)
        self.pending[pending.number] = pending
        self._given[pending.number] = _size(pending)
        if sum(self._given.values()) > self.limits.memory:
            reason = "what it gives to functions that it waits for is more than its memory"
            raise Ended(CodeEnd.TOO_LARGE, reason)
        if (call := self._answering(pending)) is not None:
            self._under_way.start(pending.number, call)
        return lambda: snapshot.resume(_LATER)


def _pending(snapshot: FunctionSnapshot, most: int) -> Pending:
    together = plain([list(snapshot.args), dict(snapshot.kwargs)], most=most)
    assert isinstance(together, Sequence)  # noqa: S101 # a copy of what was given
    arguments, named = together
    assert isinstance(arguments, Sequence)  # noqa: S101 # the same
    assert isinstance(named, Mapping)  # noqa: S101 # the same
    return Pending(
        number=snapshot.call_id, function=snapshot.function_name, arguments=arguments, named=named
    )


def _size(pending: Pending) -> int:
    """In characters: each call has a copy of its own, whatever they share inside."""
    return len(json.dumps([pending.arguments, pending.named]))


def _by_name(name: str) -> Callable[..., None]:
    """All that the interpreter takes of a function is what it is called."""

    def function() -> None:
        raise AssertionError("The interpreter calls no function by itself.")

    function.__name__ = name
    return function


def _seconds(arguments: Sequence[object]) -> float:
    match arguments:
        case [int() | float() as seconds, *_] if seconds > 0:
            return min(seconds, _LONGEST_PAUSE)
        case _:
            return 0.0


# The interpreter of the box: a bounded number of processes, each for one program.
#
# A process that has run a program is ended, not used again: whatever a program may have done to it
# ends with it, and starting another takes two or three milliseconds. It holds its place while the
# program waits for functions; those who find no place free wait in line.

_PATIENCE: Final = 20.0
"""Seconds for a process to start."""


class MontyInterpreter:
    def __init__(self, *, processes: int = 16, waiting: int = 200) -> None:
        self._processes = processes
        self._most_waiting = waiting
        self._waiting = 0
        self._places = asyncio.Semaphore(processes)
        self._opening = asyncio.Lock()
        self._pool: Monty | None = None
        self._workers: set[Worker] = set()
        self._starter = ThreadPoolExecutor(1, thread_name_prefix="monty-starter")
        self._threads = ThreadPoolExecutor(processes, thread_name_prefix="monty")
        self._closed = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Ends every process that there is, whatever it runs."""
        self._closed = True
        for worker in self._workers:
            worker.kill()
        pool, self._pool = self._pool, None
        if pool is not None:
            await asyncio.to_thread(pool.__exit__, None, None, None)

    async def run(
        self,
        program: str,
        limits: CodeLimits,
        *,
        inputs: Mapping[str, JsonValue] | None = None,
        functions: Mapping[str, HostFunction] | None = None,
    ) -> CodeOutcome:
        begin = _beginning(program, inputs or {})
        return await self._take_up(begin, limits, Functions(functions or {}))

    async def start(
        self,
        program: str,
        limits: CodeLimits,
        *,
        inputs: Mapping[str, JsonValue] | None = None,
        functions: Sequence[str] = (),
    ) -> CodeOutcome:
        begin = _beginning(program, inputs or {})
        return await self._take_up(begin, limits, Names(frozenset(functions)))

    async def resume(
        self,
        snapshot: bytes,
        limits: CodeLimits,
        results: Mapping[int, JsonValue],
        *,
        errors: Mapping[int, Raised] | None = None,
    ) -> CodeOutcome:
        before = StoredProgram.read(snapshot)
        settled = {number: given(value) for number, value in results.items()}
        for number, error in (errors or {}).items():
            settled[number] = raised(error.text, error.kind)
        if strangers := settled.keys() - before.pending.keys():
            raise CodeRefused(f"it does not wait for call {min(strangers)}")

        def go_on(session: MontySession, story: Story) -> SyncSnapshot:
            try:
                back = session.load_snapshot(before.interpreter, print_callback=story.printed)
            except (MontyError, RuntimeError, ValueError) as error:
                raise CodeRefused("another interpreter has written that snapshot") from error
            return back.resume(settled) if settled and isinstance(back, FutureSnapshot) else back

        rest = {number: call for number, call in before.pending.items() if number not in settled}
        names = Names(before.functions)
        return await self._take_up(go_on, limits, names, replace(before, pending=rest))

    async def _take_up(
        self,
        begin: Callable[[MontySession, Story], SyncSnapshot],
        limits: CodeLimits,
        answering: Answering,
        before: StoredProgram = NEW,
    ) -> CodeOutcome:
        async with self._place(limits) as pool:
            worker = Worker(pool, self._starter, self._threads, limits)
            story = Story(worker, limits, answering, before)
            try:
                async with asyncio.timeout(limits.whole_seconds), self._known(worker):
                    stop = await story.tell(await self._first(worker, story, begin))
                    return await _outcome(worker, story, stop, answering)
            except TimeoutError:
                end = CodeEnd.TOO_LONG
                words = f"it was not over after {limits.whole_seconds:g} seconds altogether"
            except Ended as ended:
                # Not the error itself: it holds this frame, and all that the program has said
                end, words = ended.end, str(ended)
            return CodeOutcome(end=end, printed=story.printed.text, error=words)

    async def _first(
        self, worker: Worker, story: Story, begin: Callable[[MontySession, Story], SyncSnapshot]
    ) -> SyncSnapshot:
        try:
            return await worker.turn(lambda: begin(worker.session, story))
        except MontyError as error:
            refuse_unreadable(error)
            raise story.ended(error) from error

    @asynccontextmanager
    async def _place(self, limits: CodeLimits) -> AsyncIterator[Monty]:
        if self._places.locked() and self._waiting >= self._most_waiting:
            raise CodeBusy(f"{self._waiting} others wait already")
        self._waiting += 1
        try:
            async with asyncio.timeout(limits.whole_seconds):
                await self._places.acquire()
        except TimeoutError:
            raise CodeBusy(f"no place was free for {limits.whole_seconds:g} seconds") from None
        finally:
            self._waiting -= 1
        try:
            yield await self._opened()
        finally:
            self._places.release()

    @asynccontextmanager
    async def _known(self, worker: Worker) -> AsyncIterator[None]:
        self._workers.add(worker)
        try:
            async with worker:
                yield
        finally:
            self._workers.discard(worker)

    async def _opened(self) -> Monty:
        async with self._opening:
            if self._closed:
                raise SandboxUnavailable("the interpreter was closed")
            if self._pool is None:
                loop = asyncio.get_running_loop()
                work = partial(_open_pool, self._processes)
                self._pool = await loop.run_in_executor(self._starter, work)
            return self._pool


def _open_pool(processes: int) -> Monty:
    """Raises `SandboxUnavailable`."""
    with starting():
        binary = Path(find_monty_binary())
        pool = Monty(
            binary_path=binary,
            min_processes=1,
            # one more: that which is being ended may still be there when the next begins
            max_processes=processes + 1,
            max_checkouts_per_worker=1,
            checkout_timeout=_PATIENCE,
        )
    confine_this_thread(binary)
    with starting():
        return pool.__enter__()


def _beginning(
    program: str, inputs: Mapping[str, JsonValue]
) -> Callable[[MontySession, Story], SyncSnapshot]:
    """Raises `CodeRefused`."""
    if any(not name.isidentifier() for name in inputs):
        raise CodeRefused("an input has no name that a variable could have")
    try:
        program.encode()
        variables = {name: kept(value) for name, value in inputs.items()}
    except (NotCanonical, UnicodeEncodeError) as error:
        raise CodeRefused(f"it is not text, or an input is not JSON: {error}") from error
    return lambda session, story: session.feed_start(
        program, inputs=variables, print_callback=story.printed
    )


async def _outcome(
    worker: Worker, story: Story, stop: MontyComplete | FutureSnapshot, answering: Answering
) -> CodeOutcome:
    printed = story.printed.text
    if isinstance(stop, MontyComplete):
        try:
            result = await worker.turn(lambda: plain(stop.output, most=story.limits.output))
        except NotPlain as error:
            return CodeOutcome(end=CodeEnd.NOT_JSON, printed=printed, error=str(error))
        unheard = tuple(story.pending.values())
        return CodeOutcome(result=result, printed=printed, pending=unheard)
    kept_program = StoredProgram(
        interpreter=await story.turn(stop.dump),
        functions=frozenset(answering.names),
        calls=story.calls,
        printed=story.printed.bytes,
        pending=story.pending,
    )
    return CodeOutcome(
        end=CodeEnd.WAITING,
        printed=printed,
        snapshot=kept_program.write(),
        pending=tuple(story.pending.values()),
    )
