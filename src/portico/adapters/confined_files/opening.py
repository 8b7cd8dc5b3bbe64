"""Two ways from a folder's descriptor to a file below it, of which neither leads out.

`Beneath` lets the kernel resolve the whole path under a promise: nothing above the folder, no magic
links of /proc, no other file system. A link inside the folder that stays inside is followed.
`Walk` opens one name after the other and follows no link at all; it is for systems without
`openat2`, and for containers whose seccomp filter does not know it.
"""

import ctypes
import errno
import os
import platform
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final, Protocol

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
