"""One program on its way: what it asks for is answered until it ends, or waits for others."""

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Final, Literal, TypeVar

from pydantic_monty import (
    ExternalResult,
    ExternalSettledResult,
    FunctionSnapshot,
    FutureSnapshot,
    MontyComplete,
    MontyError,
    NameLookupSnapshot,
    SyncSnapshot,
)

from portico.adapters.monty.answering import Answering
from portico.adapters.monty.calls import Calls, raised
from portico.adapters.monty.endings import Ended, told
from portico.adapters.monty.kept_program import KeptProgram
from portico.adapters.monty.worker import Worker
from portico.sandbox.core.errors import NotPlain
from portico.sandbox.core.profile import plain
from portico.sandbox.core.requests import CodeEnd, CodeLimits, Pending

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
        self, worker: Worker, limits: CodeLimits, answering: Answering, before: KeptProgram
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
