"""One box around one process, from its first descriptor to the end of all that was in it."""

import asyncio
import os
import signal
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Final, TypeVar

from portico.adapters.egress.proxy import Egress
from portico.adapters.sandbox import memory
from portico.adapters.sandbox.cgroup import Group
from portico.adapters.sandbox.network import Opening
from portico.adapters.sandbox.rig import Rig
from portico.adapters.sandbox.talk import Hello, NotReady, readable
from portico.sandbox.core.errors import BoxUnavailable

_TO_BEGIN: Final = 60.0
"""Seconds until a launcher must have said something; a machine may be very busy."""
_TO_END: Final = 10.0
_LOOK: Final = 0.02
_LOOKS: Final = 200
_LOOKS_IN_PEACE: Final = 25
"""Before those that still hold our lines are ended with force."""

_T = TypeVar("_T")


@dataclass(slots=True, kw_only=True)
class OpenCell:
    """Implements `Cell`."""

    command: Sequence[str]
    environment: Mapping[str, str]
    rig: Rig
    openings: Sequence[Opening]
    """What the launcher's listeners are for, in their order."""
    egress: Egress | None
    here: socket.socket | None = None
    """Where the proxy listens, if that is out here."""
    group: Group | None
    namespaces: bool
    most_memory: int
    """Bytes, which are watched from here if the kernel does not."""
    clean_up: Callable[[], None] | None = None
    """What is to be done when all is over."""
    keeper: int | None = None
    """Its process number out here, once it was started."""
    too_large: bool = False
    """Whether it was ended for the memory that it had."""
    _outer: int | None = None
    _watching: asyncio.Task[None] | None = None
    _watched: dict[int, int] = field(default_factory=dict)
    """Descriptors of processes, by their numbers."""

    @property
    def descriptors(self) -> Sequence[int]:
        return self.rig.descriptors.numbers

    @property
    def refused(self) -> Sequence[str]:
        return () if self.egress is None else self.egress.could_be_let

    async def started(self, process: int) -> None:
        """Raises `BoxUnavailable`."""
        self.rig.descriptors.close()
        self._outer = process
        self._watch(process)
        try:
            async with asyncio.timeout(_TO_BEGIN):
                await self._set_up(await self.rig.talk.hello())
                reason = await self.rig.talk.go()
        except TimeoutError as error:
            reason = f"the box was not ready after {_TO_BEGIN:g} s"
            raise BoxUnavailable(reason, fix="The machine is very busy: try again.") from error
        except NotReady as error:
            raise BoxUnavailable(str(error)) from error
        if reason is not None:
            raise BoxUnavailable(reason)
        if self.group is None and self.keeper is not None:
            watching = memory.watch(self.keeper, self.most_memory, self._exceeded)
            self._watching = asyncio.create_task(watching)

    def _exceeded(self) -> None:
        self.too_large = True
        self.kill()

    async def _set_up(self, hello: Hello) -> None:
        self.keeper = hello.process
        self._watch(hello.process)
        if self.group is not None:
            await asyncio.to_thread(self.group.add, hello.process)
        if self.egress is not None and self.here is not None:
            await self.egress.serve(self.here)
        for listener, opening in zip(hello.listeners, self.openings, strict=True):
            if self.egress is not None:
                await self.egress.serve(listener, to=opening.to)

    def _watch(self, process: int) -> None:
        with suppress(ProcessLookupError):
            self._watched[process] = os.pidfd_open(process)

    async def ran_out(self) -> bool:
        """Whether it had, or wanted, more memory than it may have."""
        if self.group is None:
            return self.too_large
        return await asyncio.to_thread(self.group.ran_out)

    def status(self) -> int | None:
        """How what was run has ended, if its keeper could still say so."""
        return self.rig.lifeline.status()

    def kill(self) -> None:
        """All of it, at once; however far it has come."""
        self.rig.talk.hang_up()
        self.rig.lifeline.let_go()
        if self.namespaces and self.keeper is not None:
            self._send(self.keeper)

    async def close(self) -> None:
        if self._watching is not None:
            self._watching.cancel()
        self.kill()
        self.rig.descriptors.close()
        try:
            await self._gone(_TO_END)
            await self._swept()
        finally:
            await self._forget()

    async def _swept(self) -> None:
        """Whoever was started and said nothing has our lines all the same."""
        for turn in range(_LOOKS):
            if not self.rig.lifeline.is_held:
                return
            if turn >= _LOOKS_IN_PEACE:
                await asyncio.to_thread(self.rig.lifeline.end_holders)
            await asyncio.sleep(_LOOK)

    async def _gone(self, seconds: float) -> None:
        """The keeper is the last one inside; who was started goes after it."""
        for process in (self.keeper, self._outer):
            if process in self._watched and not await _ended(self._watched[process], seconds):
                self._send(process)
                await _ended(self._watched[process], seconds)

    def _send(self, process: int) -> None:
        with suppress(KeyError, ProcessLookupError, PermissionError):
            signal.pidfd_send_signal(self._watched[process], signal.SIGKILL)

    async def _forget(self) -> None:
        self.rig.close()
        for descriptor in self._watched.values():
            os.close(descriptor)
        self._watched.clear()
        if self.egress is not None:
            await self.egress.close()
        if self.here is not None:
            self.here.close()
        if self.group is not None:
            await asyncio.to_thread(self.group.remove)
        if self.clean_up is not None:
            await asyncio.to_thread(self.clean_up)


async def _ended(watched: int, seconds: float) -> bool:
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await readable(watched)
            return True
    return False


@asynccontextmanager
async def opened(prepare: Callable[[], OpenCell]) -> AsyncIterator[OpenCell]:
    """Made in a thread, since it looks at many files. Who is cancelled meanwhile, however often,
    still waits for it, and for its end: nothing of it may be left."""
    making = asyncio.get_running_loop().run_in_executor(None, prepare)
    try:
        yield await asyncio.shield(making)
    finally:
        await to_its_end(_made_and_closed(making))


async def _made_and_closed(making: "asyncio.Future[OpenCell]") -> None:
    await asyncio.wait([making])
    if making.exception() is None:
        await making.result().close()


async def to_its_end(work: Awaitable[_T]) -> _T:
    """Also if we are cancelled once more; who cancelled us is told so afterwards."""
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError as error:
            cancelled = error
    result = task.result()
    if cancelled is not None:
        raise cancelled
    return result
