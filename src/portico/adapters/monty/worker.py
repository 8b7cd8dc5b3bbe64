"""One process of the Monty interpreter, confined by the kernel, for one program."""

import asyncio
import os
import platform
import re
import resource
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager, suppress
from math import ceil
from pathlib import Path
from typing import Any, Final, Self, TypeVar

from pydantic_monty import Monty, MontyError, MontySession, OSPolicy, ResourceLimits

from portico.adapters.sandbox.inside import confinement
from portico.adapters.sandbox.kernel_filters import ARCHITECTURES, Filter, Rules
from portico.sandbox.core.errors import SandboxUnavailable
from portico.sandbox.core.requests import CodeLimits

# A second wall around the interpreter's processes, for the day when the interpreter has a hole.
#
# What a thread has given up is given up by the processes that it starts. So one thread of ours,
# which does nothing but start them, keeps no files but the system's libraries and the interpreter,
# no sockets, and no calls that reach other processes; all others keep what they have.

_LIBRARIES: Final = (
    *("/lib", "/lib32", "/lib64", "/usr/lib", "/usr/lib32", "/usr/lib64", "/etc/ld.so.cache"),
    *("/nix/store", "/gnu/store", "/usr/share/zoneinfo"),
)


def confine_this_thread(interpreter: Path) -> None:
    """For good. Raises `SandboxUnavailable`."""
    if not _can_be_confined():
        return
    read = (*_LIBRARIES, str(interpreter.resolve()))
    rules = Rules(read=read, write=(), devices=("/dev/null",), ports=())
    program = Filter(namespaces=False, network=False, counted=True).program(platform.machine())
    try:
        confinement.bound_privileges()
        confinement.drop_privileges()
        confinement.no_new_privileges()
        confinement.landlock(rules.told())
        confinement.seccomp(program)
    except OSError as error:
        raise SandboxUnavailable(f"the interpreter cannot be confined here ({error})") from error


def must_be_confined(process: int) -> None:
    """It was started by that thread, and not by one that the pool has for itself. Raises
    `SandboxUnavailable`."""
    if not _can_be_confined():
        return
    try:
        filters = _filters(str(process))
    except FileNotFoundError:  # over already
        return
    if filters <= _filters("self"):
        raise SandboxUnavailable("a process of the interpreter was not confined")


def _filters(process: str) -> int:
    """How many it runs under; we ourselves may run under some, as in a container."""
    found = re.search(r"^Seccomp_filters:\s+(\d+)$", _status(process), re.MULTILINE)
    return int(found[1]) if found else int("\nSeccomp:\t2\n" in _status(process))


def _status(process: str) -> str:
    return Path(f"/proc/{process}/status").read_text()


def _can_be_confined() -> bool:
    return platform.system() == "Linux" and platform.machine() in ARCHITECTURES


# One process that runs one program, and ends when the program does, or when it must.
#
# The pool's blocking interface is used, in threads of our own: its asynchronous one aborts the
# whole interpreter now and then when that ends (about one exit in three, pydantic-monty 1.4.0 on
# 3.11).

_T = TypeVar("_T")
_SLEEP_IS_OURS: Final = OSPolicy(sleep="call_host")
_OTHER_STOPS: Final = 1000
"""Names looked up and refused attempts at the machine, beside the calls that are counted."""


@contextmanager
def starting() -> Iterator[None]:
    """Raises `SandboxUnavailable` for a process that does not start."""
    try:
        yield
    except (OSError, RuntimeError, MontyError) as error:
        raise SandboxUnavailable(
            f"the interpreter does not start ({error})",
            fix="Install Portico again: its requirement pydantic-monty is not whole.",
        ) from error


class Worker:
    def __init__(
        self, pool: Monty, starter: Executor, threads: Executor, limits: CodeLimits
    ) -> None:
        self.session: MontySession = pool.checkout(
            limits=_interpreter_limits(limits), os_policy=_SLEEP_IS_OURS
        )
        self._starter = starter
        self._threads = threads
        self._limits = limits
        self._process: int | None = None

    async def __aenter__(self) -> Self:
        try:
            await self._finished(_in_thread(self._starter, self._open))
            await self.turn(self._limit)
        except BaseException:
            await self.__aexit__()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        # Shielded: it is being cancelled that brings us here, and the place must become free
        await asyncio.shield(_in_thread(self._threads, self._close))

    @property
    def running(self) -> bool:
        return self._process is not None

    async def turn(self, work: Callable[[], _T]) -> _T:
        """Blocking work in a thread. Being cancelled ends the process, so that it does not go on
        for nobody. Raises `MontyError`."""
        return await self._finished(_in_thread(self._threads, work))

    async def _finished(self, done: asyncio.Future[_T]) -> _T:
        try:
            return await asyncio.shield(done)
        except asyncio.CancelledError:
            self.kill()
            await asyncio.wait([done])
            done.exception()  # looked at: that it was killed is no news
            raise
        finally:
            del done  # its error holds this frame: without each other both go at once

    def kill(self) -> None:
        if self._process is not None:
            with suppress(ProcessLookupError):
                os.kill(self._process, signal.SIGKILL)

    def _open(self) -> None:
        with starting():
            self.session.__enter__()
        self._process = self.session.worker_pid

    def _limit(self) -> None:
        if self._process is not None:
            must_be_confined(self._process)
            _limit_process(self._process, self._limits)

    def _close(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            with suppress(MontyError):  # it is gone already, which is as good
                self.session.__exit__(None, None, None)
            # The pool kills its process and waits for it at a later time, or never
            with suppress(ChildProcessError):
                os.waitpid(process, 0)


def _in_thread(threads: Executor, work: Callable[[], _T]) -> asyncio.Future[_T]:
    return asyncio.get_running_loop().run_in_executor(threads, work)


def _interpreter_limits(limits: CodeLimits) -> ResourceLimits:
    return ResourceLimits(
        max_feed_duration_secs=limits.seconds,
        max_memory=limits.memory,
        max_recursion_depth=limits.depth,
        max_suspensions=4 * limits.calls + _OTHER_STOPS,
    )


def _limit_process(process: int, limits: CodeLimits) -> None:
    """A second wall behind the interpreter's own limits; and the reason why a busy one comes to its
    end even when we were killed and nobody watches it any more."""
    prlimit: Any = getattr(resource, "prlimit", None)  # Linux alone has it
    if prlimit is None:
        return
    seconds = ceil(limits.seconds) * 2 + 5
    with suppress(ProcessLookupError):
        prlimit(process, resource.RLIMIT_CPU, (seconds, seconds))
        prlimit(process, resource.RLIMIT_DATA, (_room(limits), _room(limits)))
        prlimit(process, resource.RLIMIT_CORE, (0, 0))
        prlimit(process, resource.RLIMIT_FSIZE, (0, 0))
        prlimit(process, resource.RLIMIT_NOFILE, (64, 64))


def _room(limits: CodeLimits) -> int:
    return 2 * limits.memory + 256_000_000
