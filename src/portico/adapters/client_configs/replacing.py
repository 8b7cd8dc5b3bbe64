"""A client's file as it is now, and another in its place: whole or not at all, with its owner and
its mode, and only if nobody wrote it in between."""

import os
import stat
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from portico.adapters.client_configs.reading import NotRead, read_bytes
from portico.gateway.core.client_entry import ClientFileMoved, ClientFileUnreadable


@dataclass(frozen=True, slots=True)
class Now:
    file: Path
    """Where a link leads to, if the client's file is one."""
    content: bytes | None
    """None if it is not there."""

    @property
    def text(self) -> str:
        """With its mark. Raises `ClientFileUnreadable`."""
        try:
            return (self.content or b"").decode()
        except UnicodeDecodeError as error:
            raise ClientFileUnreadable(str(self.file), "is not UTF-8") from error


def now(file: Path) -> Now:
    """Raises `ClientFileUnreadable`."""
    real = file.resolve()
    try:
        return Now(real, read_bytes(real))
    except NotRead as reason:
        raise ClientFileUnreadable(str(file), str(reason)) from reason


def put_in_place(was: Now, content: bytes | None, *, private: bool = False) -> None:
    """None takes it away. `private`: a file that is new is its owner's alone. Raises
    `ClientFileMoved`, `OSError`."""
    if content is None:
        _check(was)
        was.file.unlink()
        return
    was.file.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=was.file.parent, prefix=f".{was.file.name}.")
    try:
        with os.fdopen(handle, "wb") as stream:
            _dress(stream.fileno(), was, private=private)
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        _check(was)
        Path(name).replace(was.file)
    finally:
        Path(name).unlink(missing_ok=True)


def others_can_read(file: Path) -> bool:
    return bool(stat.S_IMODE(file.stat().st_mode) & 0o044)


def _dress(handle: int, was: Now, *, private: bool) -> None:
    if was.content is None:
        os.fchmod(handle, 0o600 if private else 0o666 & ~_umask())
        return
    state = was.file.stat()
    if (state.st_uid, state.st_gid) != (os.geteuid(), os.getegid()):
        with suppress(PermissionError):  # of a group that we are not in: its mode says who reads
            os.fchown(handle, -1, state.st_gid)
        os.fchown(handle, state.st_uid, -1)
    os.fchmod(handle, stat.S_IMODE(state.st_mode))


def _umask() -> int:
    found = os.umask(0o077)
    os.umask(found)
    return found


def _check(was: Now) -> None:
    if now(was.file).content != was.content:
        raise ClientFileMoved(str(was.file))
