"""The interpreter of the box: a bounded number of processes, each for one program.

A process that has run a program is ended, not used again: whatever a program may have done to it
ends with it, and starting another takes two or three milliseconds. It holds its place while the
program waits for functions; those who find no place free wait in line.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final, Self

from pydantic_monty import (
    FutureSnapshot,
    Monty,
    MontyComplete,
    MontyError,
    MontySession,
    SyncSnapshot,
)
from pydantic_monty._binary import find_monty_binary

from portico.adapters.monty.answering import Answering, Functions, Names
from portico.adapters.monty.calls import given, raised
from portico.adapters.monty.confined import confine_this_thread
from portico.adapters.monty.endings import Ended, refuse_unreadable
from portico.adapters.monty.kept_program import NEW, KeptProgram
from portico.adapters.monty.story import Story
from portico.adapters.monty.worker import Worker, starting
from portico.kernel.json import JsonValue, NotCanonical, kept
from portico.sandbox.core.errors import BoxUnavailable, CodeBusy, CodeRefused, NotPlain
from portico.sandbox.core.profile import plain
from portico.sandbox.core.requests import CodeEnd, CodeLimits, CodeOutcome, Raised
from portico.sandbox.requests import HostFunction

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

    async def begin(
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
        before = KeptProgram.read(snapshot)
        settled = {number: given(value) for number, value in results.items()}
        for number, error in (errors or {}).items():
            settled[number] = raised(error.words, error.kind)
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
        before: KeptProgram = NEW,
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
                raise BoxUnavailable("the interpreter was closed")
            if self._pool is None:
                loop = asyncio.get_running_loop()
                work = partial(_open_pool, self._processes)
                self._pool = await loop.run_in_executor(self._starter, work)
            return self._pool


def _open_pool(processes: int) -> Monty:
    """Raises `BoxUnavailable`."""
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
    kept_program = KeptProgram(
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
