"""A file opened for reading that is a file, is where its name says, and has no other name.

A hard link cannot be told from the file itself except by the number of its names. Whoever races us
can take the second name away after the file was opened and before it was counted. So its name is
looked at before and after: the same file, one name, and not changed in between, which the kernel
notes in `st_ctime` with every name that comes and goes. (Linux since 6.13 notes each change that
follows a look; older kernels and other systems can miss two within some milliseconds.)
"""

import errno
import os
import stat
from collections.abc import Sequence
from typing import Final

from portico.adapters.confined_files.opening import Opening

_ATTEMPTS: Final = 100
"""A file that is written to, or replaced, while it is opened was not attacked: again."""
MANY_NAMES: Final = errno.EMLINK
NO_FILE: Final = errno.ENXIO


def open_to_read(opening: Opening, root: int, names: Sequence[str]) -> int:
    """Raises `OSError`, with `MANY_NAMES` for a hard link, `NO_FILE` for what is no file,
    `EISDIR` for a folder, and `EAGAIN` for what never stood still."""
    for _ in range(_ATTEMPTS):
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
