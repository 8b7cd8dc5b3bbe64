"""A folder for each principal, that its tools share and that nobody else's see."""

import asyncio
import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from portico.adapters.builtin.errors import WorkspaceFull
from portico.adapters.builtin.tool import Errand
from portico.adapters.system.private_files import make_above
from portico.sandbox.core.errors import FileTrouble
from portico.sandbox.requests import Files

LARGEST: Final = 1_000_000_000
"""Bytes that a workspace may hold. It is looked at before something is written."""
_MODE: Final = 0o700
_MOST_FILES: Final = 200_000
"""With more of them than that it is full too: counting them takes its time."""


@dataclass(frozen=True, slots=True)
class Owner:
    """The account that things in a box run as when Portico itself is root."""

    user: int
    group: int


@dataclass(frozen=True, slots=True)
class Workspace:
    folder: Path
    files: Files
    largest: int = LARGEST

    async def left(self) -> int:
        """Bytes that still fit; 0 if it is full."""
        return max(0, self.largest - await self._used())

    async def check_room(self, size: int) -> None:
        """Raises `WorkspaceFull`."""
        used = await self._used()
        if used + size > self.largest:
            raise WorkspaceFull(used, self.largest)

    async def _used(self) -> int:
        return await asyncio.to_thread(self._counted)

    def _counted(self) -> int:
        used = 0
        for many, size in enumerate(_sizes(self.folder)):
            used += size
            if used > self.largest or many >= _MOST_FILES:
                return max(used, self.largest)
        return used


class Workspaces:
    def __init__(
        self,
        root: Path,
        open_files: Callable[[Path], Files],
        *,
        owner: Owner | None = None,
        largest: int = LARGEST,
    ) -> None:
        """`owner` is whoever runs in the box, and has to write there; None where that is us."""
        self._root = root
        self._open_files = open_files
        self._owner = owner
        self._largest = largest

    async def of(self, errand: Errand) -> Workspace:
        """Made when it is first needed. Raises `FileTrouble`."""
        return await asyncio.to_thread(self._opened, errand)

    def _opened(self, errand: Errand) -> Workspace:
        folder = self._root / str(errand.space) / str(errand.caller)
        try:
            self._make(folder)
        except OSError as error:
            reason = os.strerror(error.errno or 0).lower()
            raise FileTrouble("the workspace", f"it cannot be made: {reason}") from error
        return Workspace(folder, self._open_files(folder), self._largest)

    def _make(self, folder: Path) -> None:
        """Whoever else makes it at the same time makes the same. Above it only we write, so
        nobody can put a link in its place; a command in it can open it to others, or close it to
        itself, and that is put right."""
        if not folder.is_dir():
            make_above(folder)
            folder.mkdir(mode=_MODE, exist_ok=True)
        seen = folder.stat()
        if stat.S_IMODE(seen.st_mode) != _MODE:
            folder.chmod(_MODE)
        if self._owner is not None and seen.st_uid != self._owner.user:
            os.chown(folder, self._owner.user, self._owner.group)


def _sizes(folder: Path) -> Iterator[int]:
    """Of whatever is below it, as large as it says it is; links lead nowhere. What goes away
    meanwhile, or may not be looked into, does not count."""
    below = [os.fspath(folder)]
    while below:
        try:
            with os.scandir(below.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        below.append(entry.path)
                    yield _size(entry)
        except OSError:
            continue


def _size(entry: os.DirEntry[str]) -> int:
    try:
        return entry.stat(follow_symlinks=False).st_size
    except OSError:
        return 0
