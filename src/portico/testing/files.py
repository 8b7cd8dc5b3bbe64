"""Files of a folder that is in memory: for those who read and write, not for links and races."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from portico.kernel.clock import Clock
from portico.sandbox.core.errors import FileTrouble
from portico.sandbox.core.profile import Entry, FileContent, names_inside, names_of
from portico.testing.kernel import TickingClock

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
