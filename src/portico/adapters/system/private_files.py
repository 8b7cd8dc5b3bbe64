"""Files and folders that only their owner can read, from the first byte on."""

import os
import secrets
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


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
