"""Ports of the sandbox."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from portico.kernel.json import JsonValue
from portico.sandbox.core.probes import Probe, Report, Trial
from portico.sandbox.core.profile import (
    Entry,
    Fetched,
    FileContent,
    Limits,
    Request,
    SandboxCommand,
)
from portico.sandbox.core.requests import CodeLimits, CodeOutcome, Outcome, Raised


class SandboxProcess(Protocol):
    """One box, set up for one process, which whoever asked for it starts himself."""

    @property
    def command(self) -> Sequence[str]: ...

    @property
    def environment(self) -> Mapping[str, str]:
        """For starting `command`; what is inside gets its own."""
        ...

    @property
    def descriptors(self) -> Sequence[int]:
        """Which must be passed on to it, and be closed here once it was started."""
        ...

    @property
    def refused(self) -> Sequence[str]:
        """Places that what is inside wanted to reach, and may not; without those that nobody
        should be told how to let."""
        ...

    async def started(self, process: int) -> None:
        """`command` runs, as the head of a group of its own. Raises `SandboxUnavailable` if it does
        not get into its box; the caller then ends it."""
        ...


class Sandbox(Protocol):
    @property
    def report(self) -> Report: ...

    def cell(
        self, order: SandboxCommand, limits: Limits
    ) -> AbstractAsyncContextManager[SandboxProcess]:
        """When it is left nothing of what ran in it is left. Raises `SandboxUnavailable`,
        `InvalidProfile`."""
        ...

    async def run(self, order: SandboxCommand, limits: Limits, *, given: bytes = b"") -> Outcome:
        """To its end, which may be a limit; `given` is its standard input. Being cancelled ends
        it. Raises `SandboxUnavailable`, `InvalidProfile`."""
        ...


class Attempts(Protocol):
    """Whoever tries to get out of a box."""

    async def make(self, box: Sandbox, trials: Sequence[Trial]) -> Sequence[Probe]:
        """One probe a trial. What nobody knows the end of has not held. Raises
        `SandboxUnavailable`, `InvalidProfile`."""
        ...


class Files(Protocol):
    """The files of one folder, by paths relative to it. Nothing leads out of it: no `..`, no
    link, no hard link, no race. Everything here raises `PathRefused` and `FileTrouble`."""

    async def read(
        self, path: str, *, offset: int = 0, limit: int | None = None
    ) -> FileContent: ...

    async def write(self, path: str, content: bytes) -> None:
        """As a whole or not at all; folders on the way are made."""
        ...

    async def list(self, path: str = "", *, limit: int) -> Sequence[Entry]: ...

    async def make_folder(self, path: str) -> None: ...

    async def move(self, path: str, to: str) -> None:
        """Folders on the way to its new place are made; nothing that is there is replaced."""
        ...

    async def remove(self, path: str) -> None:
        """A file, or an empty folder."""
        ...


class Web(Protocol):
    """The way out, past one gate that judges every address that is dialled."""

    async def fetch(self, request: Request) -> Fetched:
        """Raises `AddressRefused`, `FetchFailed`."""
        ...


HostFunction = Callable[..., Awaitable[JsonValue]]
"""What a program in the interpreter may call, by name; an error it raises is raised in there."""


class Interpreter(Protocol):
    """Small programs in Python, without any way to the machine."""

    async def run(
        self,
        program: str,
        limits: CodeLimits,
        *,
        inputs: Mapping[str, JsonValue] | None = None,
        functions: Mapping[str, HostFunction] | None = None,
    ) -> CodeOutcome:
        """A program awaits the functions, several at once if it likes. Raises `CodeRefused`,
        `CodeBusy`, `SandboxUnavailable`."""
        ...

    async def start(
        self,
        program: str,
        limits: CodeLimits,
        *,
        inputs: Mapping[str, JsonValue] | None = None,
        functions: Sequence[str] = (),
    ) -> CodeOutcome:
        """Up to where it waits for functions, whose calls are then part of a snapshot that
        `resume` goes on from, in whatever process. Raises as `run` does."""
        ...

    async def resume(
        self,
        snapshot: bytes,
        limits: CodeLimits,
        results: Mapping[int, JsonValue],
        *,
        errors: Mapping[int, Raised] | None = None,
    ) -> CodeOutcome:
        """With what some or all of its calls gave, by their numbers, and what is to be raised in
        there for those that failed. The limits are those it was begun with, but for
        `whole_seconds`, `calls` and `output`. A snapshot is believed: nobody but us may have
        written it. Raises as `run` does."""
        ...
