"""Files of one folder, reached from its descriptor and never by a path that was checked before."""

import asyncio
import ctypes
import errno
import heapq
import os
import platform
import secrets
import stat
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Final, Literal, Protocol, TypeVar

from portico.sandbox.core.errors import FileTrouble, PathRefused
from portico.sandbox.core.profile import Entry, FileContent, names_inside, names_of

# Two ways from a folder's descriptor to a file below it, of which neither leads out.
#
# `Beneath` lets the kernel resolve the whole path under a promise: nothing above the folder, no
# magic links of /proc, no other file system. A link inside the folder that stays inside is
# followed. `Walk` opens one name after the other and follows no link at all; it is for systems
# without `openat2`, and for containers whose seccomp filter does not know it.

_OPENAT2: Final = 437
"""The same number on x86_64 and aarch64, as for every call since Linux 5.1."""
_RESOLVE_NO_XDEV: Final = 0x01
_RESOLVE_NO_MAGICLINKS: Final = 0x02
_RESOLVE_BENEATH: Final = 0x08
_ATTEMPTS: Final = 128
"""The kernel says `EAGAIN` when something was renamed while it passed a `..` of a link."""
_PATH_ONLY: Final = getattr(os, "O_PATH", os.O_RDONLY)


class Opening(Protocol):
    """Everything here raises `OSError`: `EXDEV` and `ELOOP` for what leads out."""

    def open(self, root: int, names: Sequence[str], flags: int) -> int: ...

    def look(self, root: int, names: Sequence[str]) -> os.stat_result:
        """At what `open` would open, without opening it; not at the folder itself."""
        ...

    def folder(self, root: int, names: Sequence[str]) -> int:
        """A descriptor to work from; not always one that can be read."""
        ...


class _How(ctypes.Structure):
    _fields_ = (
        ("flags", ctypes.c_uint64),
        ("mode", ctypes.c_uint64),
        ("resolve", ctypes.c_uint64),
    )


class Beneath:
    def __init__(self) -> None:
        self._call = ctypes.CDLL(None, use_errno=True).syscall
        self._call.restype = ctypes.c_long

    def open(self, root: int, names: Sequence[str], flags: int) -> int:
        how = _How(
            flags=flags | os.O_CLOEXEC,
            mode=0,
            resolve=_RESOLVE_BENEATH | _RESOLVE_NO_MAGICLINKS | _RESOLVE_NO_XDEV,
        )
        path = os.fsencode("/".join(names) or ".")
        for _ in range(_ATTEMPTS):
            opened: int = self._call(
                ctypes.c_long(_OPENAT2),
                ctypes.c_int(root),
                ctypes.c_char_p(path),
                ctypes.byref(how),
                ctypes.c_size_t(ctypes.sizeof(how)),
            )
            if opened >= 0:
                return opened
            if (number := ctypes.get_errno()) != errno.EAGAIN:
                raise OSError(number, os.strerror(number))
        raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    def look(self, root: int, names: Sequence[str]) -> os.stat_result:
        with closing_descriptor(self.open(root, names, os.O_PATH)) as found:
            return os.fstat(found)

    def folder(self, root: int, names: Sequence[str]) -> int:
        return self.open(root, names, os.O_PATH | os.O_DIRECTORY)


class Walk:
    def open(self, root: int, names: Sequence[str], flags: int) -> int:
        if not names:
            return os.open(".", flags | os.O_CLOEXEC, dir_fd=root)
        with closing_descriptor(self.folder(root, names[:-1])) as parent:
            opened = _open_name(parent, names[-1], flags)
        return _of_this_system(root, opened)

    def look(self, root: int, names: Sequence[str]) -> os.stat_result:
        with closing_descriptor(self.folder(root, names[:-1])) as parent:
            seen = os.stat(names[-1], dir_fd=parent, follow_symlinks=False)
        if stat.S_ISLNK(seen.st_mode):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        return seen

    def folder(self, root: int, names: Sequence[str]) -> int:
        here = os.open(".", _PATH_ONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=root)
        for name in names:
            with closing_descriptor(here):
                here = _of_this_system(root, _open_name(here, name, _PATH_ONLY | os.O_DIRECTORY))
        return here


def best_opening(root: int) -> Opening:
    """`Beneath` where the kernel has it and no filter forbids it."""
    if platform.system() != "Linux":
        return Walk()
    beneath = Beneath()
    try:
        os.close(beneath.folder(root, ()))
    except OSError:  # ENOSYS of an old kernel, EPERM or whatever else of a seccomp filter
        return Walk()
    return beneath


@contextmanager
def closing_descriptor(descriptor: int) -> Iterator[int]:
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _open_name(parent: int, name: str, flags: int) -> int:
    try:
        return os.open(name, flags | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
    except NotADirectoryError:
        # What is said of a link too; the difference matters only to whoever reads the refusal.
        if stat.S_ISLNK(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP)) from None
        raise


def _of_this_system(root: int, opened: int) -> int:
    """A mount below the folder is another file system, and not ours."""
    if os.fstat(opened).st_dev == os.fstat(root).st_dev:
        return opened
    os.close(opened)
    raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))


# A file opened for reading that is a file, is where its name says, and has no other name.
#
# A hard link cannot be told from the file itself except by the number of its names. Whoever races
# us can take the second name away after the file was opened and before it was counted. So its name
# is looked at before and after: the same file, one name, and not changed in between, which the
# kernel notes in `st_ctime` with every name that comes and goes. (Linux since 6.13 notes each
# change that follows a look; older kernels and other systems can miss two within some
# milliseconds.)

_READING_ATTEMPTS: Final = 100
"""A file that is written to, or replaced, while it is opened was not attacked: again."""
MANY_NAMES: Final = errno.EMLINK
NO_FILE: Final = errno.ENXIO


def open_to_read(opening: Opening, root: int, names: Sequence[str]) -> int:
    """Raises `OSError`, with `MANY_NAMES` for a hard link, `NO_FILE` for what is no file,
    `EISDIR` for a folder, and `EAGAIN` for what never stood still."""
    for _ in range(_READING_ATTEMPTS):
        before = opening.look(root, names)
        judge(before)
        # O_NONBLOCK: what became a pipe since it was looked at must not hold us
        opened = opening.open(root, names, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
        if _stood_still(before, os.fstat(opened)):
            return opened
        os.close(opened)
    raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))


def judge(seen: os.stat_result) -> None:
    """Raises `OSError` for what is no file or has several names."""
    if stat.S_ISDIR(seen.st_mode):
        raise OSError(errno.EISDIR, os.strerror(errno.EISDIR))
    if stat.S_ISLNK(seen.st_mode):
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    if not stat.S_ISREG(seen.st_mode):
        raise OSError(NO_FILE, os.strerror(NO_FILE))
    if seen.st_nlink > 1:
        raise OSError(MANY_NAMES, os.strerror(MANY_NAMES))


def read_part(opened: int, offset: int, most: int) -> bytes:
    pieces = []
    while most > 0 and (piece := os.pread(opened, min(most, 1 << 20), offset)):
        pieces.append(piece)
        offset += len(piece)
        most -= len(piece)
    return b"".join(pieces)


def _stood_still(before: os.stat_result, after: os.stat_result) -> bool:
    return (
        before.st_ino == after.st_ino
        and before.st_dev == after.st_dev
        and before.st_ctime_ns == after.st_ctime_ns
        and before.st_nlink == after.st_nlink == 1
    )


_NEW_FILE: Final = 0o644
_NEW_FOLDER: Final = 0o755
_PERMISSIONS: Final = 0o777


def replace_file(parent: int, name: str, content: bytes, owner: os.stat_result) -> None:
    """Under a name of its own first, in the same folder, then in the place of what was there,
    whose permissions it keeps. Raises `OSError`."""
    permissions = _permissions_of(parent, name)
    beside = f".{secrets.token_hex(8)}.part"
    # 0600 until it is whole
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    opened = os.open(beside, flags, 0o600, dir_fd=parent)
    try:
        with closing_descriptor(opened):
            _write_all(opened, content)
            _hand_over(opened, owner)
            os.fchmod(opened, permissions)
            os.fsync(opened)
        os.rename(beside, name, src_dir_fd=parent, dst_dir_fd=parent)
    except BaseException:
        with suppress(OSError):
            os.unlink(beside, dir_fd=parent)
        raise
    _keep(parent)


def made_folder(opening: Opening, root: int, names: Sequence[str]) -> int:
    """Its descriptor; those on the way are made where they are missing. Raises `OSError`."""
    try:
        return opening.folder(root, names)
    except FileNotFoundError:
        if not names:
            raise
    with closing_descriptor(made_folder(opening, root, names[:-1])) as parent:
        _make(parent, names[-1], os.fstat(root))
    return opening.folder(root, names)


def _make(parent: int, name: str, owner: os.stat_result) -> None:
    try:
        os.mkdir(name, _NEW_FOLDER, dir_fd=parent)
    except FileExistsError:  # somebody else was faster, or it is no folder, which shows next
        return
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    with closing_descriptor(os.open(name, flags, dir_fd=parent)) as made:
        _hand_over(made, owner)
    _keep(parent)


def _permissions_of(parent: int, name: str) -> int:
    try:
        there = os.stat(name, dir_fd=parent, follow_symlinks=False)
    except FileNotFoundError:
        return _NEW_FILE
    judge(there)
    return stat.S_IMODE(there.st_mode) & _PERMISSIONS


def _write_all(opened: int, content: bytes) -> None:
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(opened, rest) :]


def _hand_over(opened: int, owner: os.stat_result) -> None:
    """Written by root, for whoever the folder belongs to: what runs in the box is not root."""
    if os.geteuid() == 0 and owner.st_uid != 0:
        os.fchown(opened, owner.st_uid, owner.st_gid)


def _keep(folder: int) -> None:
    """A name outlives a power cut only when its folder was written too."""
    with closing_descriptor(os.open(".", os.O_RDONLY | os.O_CLOEXEC, dir_fd=folder)) as readable:
        os.fsync(readable)


_MOST_LOOKED_AT: Final = 100_000
"""Of a folder with more names than that, the first found are sorted."""


def entries_of(folder: int, names: Sequence[str], limit: int) -> Sequence[Entry]:
    """Raises `OSError`."""
    with os.scandir(folder) as found:
        first = heapq.nsmallest(limit, (each.name for each in islice(found, _MOST_LOOKED_AT)))
    entries = (_entry(folder, names, name) for name in first)
    return [entry for entry in entries if entry is not None]


def _entry(folder: int, names: Sequence[str], name: str) -> Entry | None:
    try:
        seen = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:  # gone since
        return None
    # A name that is not UTF-8 can be shown, but nothing here takes it
    shown = os.fsencode(name).decode(errors="replace")
    return Entry(
        path="/".join((*names, shown)),
        kind=_kind(seen.st_mode) if shown == name else "other",
        size=seen.st_size,
        changed_at=datetime.fromtimestamp(seen.st_mtime, UTC),
    )


def _kind(mode: int) -> Literal["file", "folder", "other"]:
    if stat.S_ISREG(mode):
        return "file"
    return "folder" if stat.S_ISDIR(mode) else "other"


_RENAMEAT2: Final = {"x86_64": 316, "aarch64": 276}
_NO_REPLACE: Final = 1
_NOT_OFFERED: Final = {errno.ENOSYS, errno.EINVAL, errno.EPERM}
"""By the kernel, by the file system, by a seccomp filter. `EINVAL` also stands for a folder that
is to be moved into itself, which the other way then refuses as well."""


def move_name(source: int, name: str, target: int, new_name: str) -> None:
    """Raises `OSError`, `FileExistsError` if the new name is taken."""
    try:
        rename_exclusively(source, name, target, new_name)
    except OSError as error:
        if error.errno not in _NOT_OFFERED:
            raise
        move_by_hand(source, name, target, new_name)


def rename_exclusively(source: int, name: str, target: int, new_name: str) -> None:
    number = _RENAMEAT2.get(platform.machine())
    if platform.system() != "Linux" or number is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    call = ctypes.CDLL(None, use_errno=True).syscall
    call.restype = ctypes.c_long
    done: int = call(
        ctypes.c_long(number),
        ctypes.c_int(source),
        ctypes.c_char_p(os.fsencode(name)),
        ctypes.c_int(target),
        ctypes.c_char_p(os.fsencode(new_name)),
        ctypes.c_uint(_NO_REPLACE),
    )
    if done != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def move_by_hand(source: int, name: str, target: int, new_name: str) -> None:
    """Where there is no such call. A file gets its second name before it loses its first, and a
    folder takes the place of an empty one made for it: neither replaces what is there, but a
    crash between the two steps leaves both names, or the empty folder."""
    if not stat.S_ISDIR(os.stat(name, dir_fd=source, follow_symlinks=False).st_mode):
        os.link(name, new_name, src_dir_fd=source, dst_dir_fd=target, follow_symlinks=False)
        os.unlink(name, dir_fd=source)
        return
    os.mkdir(new_name, dir_fd=target)
    try:
        os.rename(name, new_name, src_dir_fd=source, dst_dir_fd=target)
    except OSError:
        os.rmdir(new_name, dir_fd=target)
        raise


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
