"""Configuration files of other programs on this machine: found, read and watched."""

import asyncio
import hashlib
import os
import stat
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Final

from portico.adapters.system.files import NotOrdinary, opened
from portico.gateway.core.client_configs import (
    PORTICO_TOML,
    Client,
    ConfigFiles,
    Noticing,
    client_of,
    commands_of_ours,
    described,
    leads_here,
    project_files,
    told_apart,
    user_files,
)
from portico.gateway.core.config_documents import ConfigLocation, Described, Problem

LARGEST: Final = 5_000_000
"""Bytes; what is larger is no configuration."""


class NotRead(Exception):
    """Why a file that is there could not be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientFiles:
    home: Path
    environment: Mapping[str, str]
    own_url: str
    own_file: Path
    """`portico.toml`."""
    _user_files: Mapping[str, Client] = field(init=False)

    def __post_init__(self) -> None:
        known = user_files(self.environment, str(self.home))
        object.__setattr__(self, "_user_files", known)

    def found(self, folder: Path) -> Sequence[Described]:
        """What every client on this machine says, and what is said in `folder`; a client that
        is not there says nothing."""
        places = {**self._user_files, **project_files(str(folder))}
        return [each for path in places if (each := self.read(path)) is not None]

    def read(self, path: str) -> Described | None:
        """None if there is no such file."""
        file = self._absolute(path)
        place = self.place(file)
        try:
            text = read_text(file)
        except NotRead as reason:
            client = client_of(str(file), "", self._user_files)
            problem = Problem(reason=str(reason))
            return Described(origin=str(file), client=client.title, problems=[problem])
        if text is None:
            return None
        own = file == self.own_file
        client = PORTICO_TOML if own else client_of(str(file), text, self._user_files)
        return described(client, place, text)

    def ours(self, folder: Path) -> Sequence[tuple[str, str, str]]:
        """Where Portico itself is started: the program, its file, and the command in it."""
        places = {**self._user_files, **project_files(str(folder))}
        return [
            (client.title, path, command)
            for path, client in places.items()
            if (text := _text_or_none(path)) is not None
            for command in commands_of_ours(client, self.place(Path(path)), text)
        ]

    def leading_here(self, folder: Path) -> Sequence[tuple[str, str]]:
        """Clients that come to us, each with the file that says so."""
        places = {**self._user_files, **project_files(str(folder))}
        return [
            (client.title, path) for path, client in places.items() if self._leads(path, client)
        ]

    def _leads(self, path: str, client: Client) -> bool:
        try:
            text = read_text(Path(path))
        except NotRead:
            return False
        return text is not None and leads_here(client, self.place(Path(path)), text)

    def written(self, file: Path) -> str:
        """As it is written in a list of files: short, and true for whoever has this home."""
        below = file.is_relative_to(self.home)
        return f"~/{file.relative_to(self.home)}" if below else str(file)

    def absolute(self, paths: Sequence[str]) -> Iterator[Path]:
        return map(self._absolute, paths)

    def _absolute(self, path: str) -> Path:
        short = path == "~" or path.startswith("~/")
        return self.home / path[2:] if short else Path(path).absolute()

    def place(self, file: Path) -> ConfigLocation:
        return ConfigLocation(
            path=str(file),
            home=str(self.home),
            environment=self.environment,
            own_url=self.own_url,
            read=_text_or_none,
        )


def read_text(file: Path) -> str | None:
    """None if there is no such file. Raises `NotRead`."""
    content = read_bytes(file)
    try:
        return None if content is None else content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise NotRead("is not UTF-8") from error


def read_bytes(file: Path) -> bytes | None:
    """None if there is no such file. Raises `NotRead`."""
    try:
        with opened(file) as stream:
            if os.fstat(stream.fileno()).st_size > LARGEST:
                raise NotRead(f"is larger than {LARGEST // 1_000_000} MB")
            return stream.read(LARGEST)
    except NotOrdinary as error:
        raise NotRead("is not a file") from error
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise NotRead(f"cannot be read: {error.strerror}") from error


def _text_or_none(path: str) -> str | None:
    try:
        return read_text(Path(path))
    except NotRead:
        return None


# Notices when files change, however they are written.
#
# Looking once a second costs a `stat` a file. It works on every file system, and sees what a watch
# on a single file would miss: an editor that puts another file in its place.

EVERY: Final = timedelta(seconds=1)


@dataclass(slots=True)
class Looking:
    """How files look now: what they hold, read anew only if something about them is new."""

    _known: dict[Path, tuple[tuple[int, int, int], str]] = field(default_factory=dict)

    def look(self, files: Iterable[Path]) -> dict[str, str | None]:
        return {str(file): self._look_at(file) for file in files}

    def _look_at(self, file: Path) -> str | None:
        try:
            state = file.stat()
            mark = (state.st_mtime_ns, state.st_size, state.st_ino)
            known = self._known.get(file)
            if known is not None and known[0] == mark:
                return known[1]
            readable = stat.S_ISREG(state.st_mode) and state.st_size <= LARGEST
            content = file.read_bytes() if readable else str(mark).encode()
        except OSError:
            self._known.pop(file, None)
            return None
        digest = hashlib.sha256(content).hexdigest()
        self._known[file] = (mark, digest)
        return digest


async def changes(
    files: Callable[[], Iterable[Path]],
    first: ConfigFiles | None = None,
    every: timedelta = EVERY,
) -> AsyncGenerator[frozenset[str], None]:
    """Which of the files have changed since they looked as at `first`, or since this was asked
    for; each time that some have. Which files there are may change too."""
    looking = Looking()
    if first is None:
        first = await asyncio.to_thread(looking.look, files())
    noticing = Noticing(first)
    while True:
        await asyncio.sleep(every.total_seconds())
        changed = noticing.changed(await asyncio.to_thread(looking.look, files()))
        if changed:
            yield changed


class FileSources:
    def __init__(
        self,
        files: ClientFiles,
        imports: Callable[[], Sequence[str]],
        *,
        every: timedelta = EVERY,
    ) -> None:
        """`imports` reads anew which files are named; while that cannot be read, it answers with
        what it was."""
        self._files = files
        self._imports = imports
        self._named: Sequence[str] = ()
        self._every = every
        self._first: ConfigFiles | None = None

    async def read(self) -> Sequence[Described]:
        return await asyncio.to_thread(self._read)

    def changes(self) -> AsyncGenerator[frozenset[str], None]:
        """Since they were read for the first time, however long ago that is."""
        return changes(self._paths, self._first, self._every)

    def _read(self) -> Sequence[Described]:
        self._named = self._imports()
        self._first = self._first or Looking().look(self._paths())
        found = (self._files.read(str(path)) for path in dict.fromkeys(self._paths()))
        return told_apart([each for each in found if each is not None])

    def _paths(self) -> Iterable[Path]:
        return [self._files.own_file, *self._files.absolute(self._named)]
