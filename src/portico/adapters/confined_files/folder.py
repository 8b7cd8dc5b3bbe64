"""The files of one folder of this machine, for whoever may see that folder and nothing else."""

import asyncio
import errno
import os
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, TypeVar

from portico.adapters.confined_files.listing import entries_of
from portico.adapters.confined_files.moving import move_name
from portico.adapters.confined_files.opening import Opening, best_opening, closing_descriptor
from portico.adapters.confined_files.reading import MANY_NAMES, NO_FILE, open_to_read, read_part
from portico.adapters.confined_files.writing import made_folder, replace_file
from portico.sandbox.core.errors import FileTrouble, PathRefused
from portico.sandbox.core.profile import Entry, FileContent, names_inside, names_of

_T = TypeVar("_T")
_REFUSED: Final = {
    errno.EXDEV: "it leads out of the folder",
    errno.ELOOP: "there is a link on the way",
    MANY_NAMES: "the file has other names, which may be outside",
    NO_FILE: "it is neither a file nor a folder",
    errno.EAGAIN: "it does not stand still",
}
_TROUBLE: Final = {
    errno.ENOENT: "there is no such file",
    errno.EISDIR: "it is a folder",
    errno.ENOTDIR: "a part of it is not a folder",
    errno.EEXIST: "it is there already",
    errno.ENOTEMPTY: "the folder is not empty",
    errno.EACCES: "it may not be touched",
    errno.ENOSPC: "there is no room",
}


class FolderFiles:
    """Raises `FileTrouble` at once for a folder that cannot be opened.

    Its descriptor is open for as long as anybody holds this, a thread that still works for
    somebody who was cancelled included; there is no other way to close it, since a number that
    was closed under such a thread could be that of another folder by then.
    """

    def __init__(
        self, root: Path, *, largest: int = 50_000_000, opening: Opening | None = None
    ) -> None:
        try:
            self._root = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise _trouble(str(root), error) from error
        weakref.finalize(self, os.close, self._root)
        self._largest = largest
        self._opening = opening or best_opening(self._root)

    async def read(self, path: str, *, offset: int = 0, limit: int | None = None) -> FileContent:
        """Never more than the largest that was agreed upon, however large the file."""
        if offset < 0 or (limit is not None and limit < 0):
            raise FileTrouble(path, "a part of it begins at 0 or later, and has 0 bytes or more")
        return await asyncio.to_thread(self._read, path, offset, limit)

    async def write(self, path: str, content: bytes) -> None:
        if len(content) > self._largest:
            raise FileTrouble(path, f"more than {self._largest} bytes are not written")
        await asyncio.to_thread(self._write, path, content)

    async def list(self, path: str = "", *, limit: int) -> Sequence[Entry]:
        return await asyncio.to_thread(self._list, path, limit)

    async def make_folder(self, path: str) -> None:
        await asyncio.to_thread(self._make_folder, path)

    async def move(self, path: str, to: str) -> None:
        await asyncio.to_thread(self._move, path, to)

    async def remove(self, path: str) -> None:
        await asyncio.to_thread(self._remove, path)

    def _read(self, path: str, offset: int, limit: int | None) -> FileContent:
        names = names_inside(path)
        most = self._largest if limit is None else min(limit, self._largest)

        def work() -> FileContent:
            opened = open_to_read(self._opening, self._root, names)
            with closing_descriptor(opened):
                content = read_part(opened, offset, most)
                return FileContent(content=content, size=os.fstat(opened).st_size, offset=offset)

        return _told(path, work)

    def _write(self, path: str, content: bytes) -> None:
        *way, name = names_inside(path)

        def work() -> None:
            with closing_descriptor(made_folder(self._opening, self._root, way)) as parent:
                replace_file(parent, name, content, os.fstat(self._root))

        _told(path, work)

    def _list(self, path: str, limit: int) -> Sequence[Entry]:
        names = names_of(path)

        def work() -> Sequence[Entry]:
            flags = os.O_RDONLY | os.O_DIRECTORY
            with closing_descriptor(self._opening.open(self._root, names, flags)) as folder:
                return entries_of(folder, names, limit)

        return _told(path, work)

    def _make_folder(self, path: str) -> None:
        names = names_inside(path)

        def work() -> None:
            os.close(made_folder(self._opening, self._root, names))

        _told(path, work)

    def _move(self, path: str, to: str) -> None:
        *way, name = names_inside(path)
        *new_way, new_name = names_inside(to)

        def find() -> int:
            return self._opening.folder(self._root, way)

        with closing_descriptor(_told(path, find)) as source:

            def work() -> None:
                with closing_descriptor(made_folder(self._opening, self._root, new_way)) as target:
                    move_name(source, name, target, new_name)

            # Whether what is moved is there is said of it, and all else of where it goes
            _told(path, lambda: os.stat(name, dir_fd=source, follow_symlinks=False))
            if new_way[: len(way) + 1] == [*way, name]:
                raise FileTrouble(to, "it would be inside itself")
            _told(to, work)

    def _remove(self, path: str) -> None:
        *way, name = names_inside(path)

        def work() -> None:
            with closing_descriptor(self._opening.folder(self._root, way)) as parent:
                try:
                    os.rmdir(name, dir_fd=parent)
                except NotADirectoryError:
                    os.unlink(name, dir_fd=parent)

        _told(path, work)


def _told(path: str, work: Callable[[], _T]) -> _T:
    try:
        return work()
    except OSError as error:
        raise _trouble(path, error) from error


def _trouble(path: str, error: OSError) -> FileTrouble | PathRefused:
    number = error.errno or 0
    if number in _REFUSED:
        return PathRefused(path, _REFUSED[number])
    return FileTrouble(path, _TROUBLE.get(number, os.strerror(number).lower()))
