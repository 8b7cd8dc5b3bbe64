"""Files of this machine: private ones, those that somebody else names, folders for sockets."""

import hashlib
import os
import re
import secrets
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Final


def private_folder(folder: Path) -> Path:
    """Make it for this user alone, if it is not there."""
    make_above(folder)
    if not folder.exists():
        folder.mkdir(mode=0o700, exist_ok=True)
    return folder


def make_above(folder: Path) -> None:
    """What is missing above it, closed to others. As root, they may pass through: the database
    runs as another account, and must come to its own folder."""
    above = 0o711 if is_root() else 0o700
    for part in reversed(folder.parents):
        if not part.exists():
            part.mkdir(exist_ok=True)
            part.chmod(above)


def is_root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0


def write_private(file: Path, text: str) -> None:
    """Whole or not at all, and never readable by others, not even for a moment."""
    with written_beside(file, text) as half:
        half.replace(file)


def kept_secret(file: Path) -> str:
    """256 random bits, made the first time and read ever after; of two who make it, one does."""
    if not file.exists():
        with written_beside(file, secrets.token_hex(32)) as half, suppress(FileExistsError):
            file.hardlink_to(half)
    return file.read_text()


@contextmanager
def written_beside(file: Path, text: str) -> Iterator[Path]:
    private_folder(file.parent)
    handle, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
    try:
        with os.fdopen(handle, "w") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        yield Path(name)
    finally:
        Path(name).unlink(missing_ok=True)


def open_to_others(path: Path) -> bool:
    return bool(stat.S_IMODE(path.stat().st_mode) & 0o077)


_OF_THE_KERNEL: Final = (Path("/proc"), Path("/sys"))
"""What looks like a file there is this process's own environment and memory, or another's."""


class NotOrdinary(Exception):
    """A pipe, a device, a folder, or something that the kernel makes up."""


def opened(file: Path) -> BinaryIO:
    """Raises `NotOrdinary`, `OSError`."""
    # A pipe that nobody writes to would be waited for.
    handle = os.open(file, os.O_RDONLY | os.O_NONBLOCK)
    try:
        _check_ordinary(os.fstat(handle))
        return os.fdopen(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def _check_ordinary(state: os.stat_result) -> None:
    kernel = {each.stat().st_dev for each in _OF_THE_KERNEL if each.is_mount()}
    if not stat.S_ISREG(state.st_mode) or state.st_dev in kernel:
        raise NotOrdinary


# Folders for sockets: their addresses are short, and some letters mean something in them.

_LONGEST: Final = 100
"""An address of a socket holds 104 bytes on macOS and 108 on Linux."""
_ROOM: Final = "/.s.PGSQL.5432"
_PLAIN: Final = re.compile(r"[\w./+-]+")


def short_folder(wanted: Path) -> Path:
    """The wanted one if it is short and plain enough, else one with a short name.

    The same for every process, whatever its TMPDIR. A comma would be read as two folders, and a
    quote as the end of one.
    """
    if len(f"{wanted}{_ROOM}".encode()) <= _LONGEST and _PLAIN.fullmatch(str(wanted)):
        return wanted
    digest = hashlib.sha256(str(wanted).encode()).hexdigest()[:16]
    return Path("/tmp") / f"portico-{digest}"  # noqa: S108 # whoever makes it checks whose it is
