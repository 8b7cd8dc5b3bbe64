"""A sandbox, the web and an interpreter that answer from a script, and files in memory."""

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import NoReturn

from portico.gateway.core.launch import Texts, approved_texts, paths_in, places_in
from portico.gateway.core.servers import Stdio
from portico.kernel.clock import Clock
from portico.kernel.errors import PorticoError
from portico.kernel.json import JsonValue
from portico.sandbox.core.errors import FileTrouble, InvalidProfile
from portico.sandbox.core.probes import Backend, Probe, Report
from portico.sandbox.core.profile import (
    Entry,
    Fetched,
    FileContent,
    Limits,
    Network,
    Profile,
    Request,
    SandboxCommand,
    names_inside,
    names_of,
)
from portico.sandbox.core.requests import CodeLimits, CodeOutcome, End, Outcome, Raised
from portico.sandbox.requests import HostFunction, SandboxProcess
from portico.testing.memory_store import TickingClock

HOLDS: Report = Report(
    backend=Backend.BUBBLEWRAP, probes=(Probe("read a file", held=True, detail="not there"),)
)


def exited(output: str = "", errors: str = "", code: int = 0) -> Outcome:
    return Outcome(
        end=End.EXITED, code=code, output=output.encode(), errors=errors.encode(), seconds=0.01
    )


@dataclass(frozen=True, slots=True)
class _Bare:
    """Nothing around it: a test that starts it has written it itself."""

    order: SandboxCommand
    descriptors: Sequence[int] = ()

    @property
    def command(self) -> Sequence[str]:
        return self.order.program, *self.order.arguments

    @property
    def environment(self) -> Mapping[str, str]:
        return self.order.environment

    @property
    def refused(self) -> Sequence[str]:
        return ()

    async def started(self, process: int) -> None:
        """It is no box that one could not get into."""


@dataclass(slots=True)
class ScriptedSandbox:
    """`answer` is what every run comes to; None: it goes on until it is cancelled."""

    answer: Outcome | PorticoError | Callable[[SandboxCommand, bytes], Outcome] | None = field(
        default_factory=exited
    )
    report: Report = HOLDS
    runs: list[tuple[SandboxCommand, Limits, bytes]] = field(default_factory=list)
    started: asyncio.Event = field(default_factory=asyncio.Event)
    """Set as soon as something was run."""
    ended: int = 0
    """How many of them were cancelled."""

    @asynccontextmanager
    async def cell(self, order: SandboxCommand, limits: Limits) -> AsyncIterator[SandboxProcess]:
        self.runs.append((order, limits, b""))
        yield _Bare(order)

    async def run(self, order: SandboxCommand, limits: Limits, *, given: bytes = b"") -> Outcome:
        self.runs.append((order, limits, given))
        self.started.set()
        answer = self.answer
        if answer is None:
            return await self._for_ever()
        if isinstance(answer, PorticoError):
            raise answer
        return answer if isinstance(answer, Outcome) else answer(order, given)

    async def _for_ever(self) -> NoReturn:
        try:
            while True:
                await asyncio.Event().wait()
        finally:
            self.ended += 1


@dataclass(slots=True)
class ScriptedWeb:
    pages: dict[str, Fetched | PorticoError] = field(default_factory=dict)
    asked: list[Request] = field(default_factory=list)

    async def fetch(self, request: Request) -> Fetched:
        """What is not in the script is not found there."""
        self.asked.append(request)
        absent = Fetched(status=404, url=request.url, headers={}, body=b"")
        page = self.pages.get(request.url, absent)
        if isinstance(page, PorticoError):
            raise page
        return page


@dataclass(slots=True)
class ScriptedInterpreter:
    outcomes: dict[str, CodeOutcome | PorticoError] = field(default_factory=dict)
    """By the program. One that is not here gives back its inputs."""
    ran: list[tuple[str, CodeLimits]] = field(default_factory=list)

    async def run(
        self,
        program: str,
        limits: CodeLimits,
        *,
        inputs: Mapping[str, JsonValue] | None = None,
        functions: Mapping[str, HostFunction] | None = None,  # noqa: ARG002 # a script calls none
    ) -> CodeOutcome:
        return self._next(program, limits, dict(inputs or {}))

    async def start(
        self,
        program: str,
        limits: CodeLimits,
        *,
        inputs: Mapping[str, JsonValue] | None = None,
        functions: Sequence[str] = (),  # noqa: ARG002 # a script calls none
    ) -> CodeOutcome:
        return self._next(program, limits, dict(inputs or {}))

    async def resume(
        self,
        snapshot: bytes,
        limits: CodeLimits,
        results: Mapping[int, JsonValue],
        *,
        errors: Mapping[int, Raised] | None = None,  # noqa: ARG002 # a script calls none
    ) -> CodeOutcome:
        return self._next(snapshot.decode(), limits, list(results.values()))

    def _next(self, program: str, limits: CodeLimits, otherwise: JsonValue) -> CodeOutcome:
        self.ran.append((program, limits))
        outcome = self.outcomes.get(program, CodeOutcome(result=otherwise))
        if isinstance(outcome, PorticoError):
            raise outcome
        return outcome


@dataclass(slots=True, kw_only=True)
class ScriptedServerConfinement:
    holds: bool = True
    """Whether there is a box."""
    failing: bool = False
    """It is there, and does not work at the moment."""
    links: dict[str, str] = field(default_factory=dict)
    """Paths that are others."""
    named: Collection[str] = ()
    home: str = "/home/ana"
    refused: set[str] = field(default_factory=set)
    """Paths that are not there, or are Portico's own."""

    async def offered(self) -> bool:
        return self.holds

    async def lacking(self) -> bool:
        return not self.holds and not self.failing

    async def default(self, launch: Stdio) -> Profile:
        """As if each path that is named were a folder."""
        texts: Texts = approved_texts(launch, {})
        named = [*paths_in(texts, self.home), *filter(None, [launch.folder])]
        return Profile(
            write=tuple(dict.fromkeys(named)),
            network=Network.PUBLIC,
            reach=tuple(dict.fromkeys(places_in(texts))),
        )

    async def check(self, profile: Profile) -> Profile:
        for path in (*profile.read, *profile.write):
            if path in self.refused:
                raise InvalidProfile(f"there is no {path}")
        return replace(
            profile,
            read=tuple(self.links.get(path, path) for path in profile.read),
            write=tuple(self.links.get(path, path) for path in profile.write),
        )


class NoConfine:
    """Servers of tests, which run as they are."""

    async def cell(self, target: object, command: object, environment: object) -> None:  # noqa: ARG002 # nobody is confined
        return None


_Names = tuple[str, ...]


@dataclass
class MemoryFiles:
    largest: int = 50_000_000
    clock: Clock = field(default_factory=TickingClock)
    _files: dict[_Names, tuple[bytes, datetime]] = field(default_factory=dict)
    _folders: dict[_Names, datetime] = field(default_factory=dict)

    async def read(self, path: str, *, offset: int = 0, limit: int | None = None) -> FileContent:
        if offset < 0 or (limit is not None and limit < 0):
            raise FileTrouble(path, "a part of it begins at 0 or later, and has 0 bytes or more")
        names = names_inside(path)
        if names not in self._files:
            raise FileTrouble(path, self._why_no_file(names))
        content, _ = self._files[names]
        most = self.largest if limit is None else min(limit, self.largest)
        return FileContent(
            content=content[offset : offset + most], size=len(content), offset=offset
        )

    async def write(self, path: str, content: bytes) -> None:
        if len(content) > self.largest:
            raise FileTrouble(path, f"more than {self.largest} bytes are not written")
        names = names_inside(path)
        self._make(path, names[:-1])
        if names in self._folders:
            raise FileTrouble(path, "it is a folder")
        self._files[names] = (content, self.clock.now())

    async def list(self, path: str = "", *, limit: int) -> Sequence[Entry]:
        names = names_of(path)
        self._must_be_folder(path, names)
        inside = [each for each in (*self._files, *self._folders) if each[:-1] == names and each]
        return [self._entry(each) for each in sorted(inside)[:limit]]

    async def make_folder(self, path: str) -> None:
        self._make(path, names_inside(path))

    async def move(self, path: str, to: str) -> None:
        names, new = names_inside(path), names_inside(to)
        if names not in self._files and names not in self._folders:
            raise FileTrouble(path, self._why_no_file(names))
        if new[:-1][: len(names)] == names:
            raise FileTrouble(to, "it would be inside itself")
        self._make(to, new[:-1])
        if new in self._files or new in self._folders:
            raise FileTrouble(to, "it is there already")
        self._files = {_moved(each, names, new): kept for each, kept in self._files.items()}
        self._folders = {_moved(each, names, new): at for each, at in self._folders.items()}

    async def remove(self, path: str) -> None:
        names = names_inside(path)
        if names in self._files:
            del self._files[names]
            return
        if names not in self._folders:
            raise FileTrouble(path, self._why_no_file(names))
        if any(each[:-1] == names for each in (*self._files, *self._folders)):
            raise FileTrouble(path, "the folder is not empty")
        del self._folders[names]

    def _make(self, path: str, names: _Names) -> None:
        for length in range(1, len(names) + 1):
            if names[:length] in self._files:
                raise FileTrouble(path, "a part of it is not a folder")
            self._folders.setdefault(names[:length], self.clock.now())

    def _must_be_folder(self, path: str, names: _Names) -> None:
        if names and names not in self._folders:
            raise FileTrouble(path, self._why_no_file(names))

    def _why_no_file(self, names: _Names) -> str:
        if names in self._folders:
            return "it is a folder"
        if any(names[:length] in self._files for length in range(1, len(names) + 1)):
            return "a part of it is not a folder"
        return "there is no such file"

    def _entry(self, names: _Names) -> Entry:
        path = "/".join(names)
        if names in self._folders:
            return Entry(path=path, kind="folder", size=0, changed_at=self._folders[names])
        content, at = self._files[names]
        return Entry(path=path, kind="file", size=len(content), changed_at=at)


def _moved(names: _Names, old: _Names, new: _Names) -> _Names:
    return new + names[len(old) :] if names[: len(old)] == old else names
