"""Who uses the embedded server: a shared lock each, so that the last one out can tell it is last.

The kernel gives a lock back when its holder dies, however it dies; a pid in a file stays.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


class UsersLock:
    """Held as long as this process uses the server."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._handle: int | None = None

    @property
    def held(self) -> bool:
        return self._handle is not None

    def take(self) -> None:
        if self._handle is None:
            self._handle = os.open(self._file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
            fcntl.flock(self._handle, fcntl.LOCK_SH)

    def give_back(self) -> None:
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def others(self) -> bool:
        """Whether anybody else holds it; ask only while holding the start lock."""
        probe = os.open(self._file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        held = self._handle
        try:
            if held is not None:
                fcntl.flock(held, fcntl.LOCK_UN)
            with suppress(BlockingIOError):
                fcntl.flock(probe, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return False
            return True
        finally:
            os.close(probe)
            if held is not None:
                fcntl.flock(held, fcntl.LOCK_SH)


@contextmanager
def alone(file: Path) -> Iterator[None]:
    """One process at a time starts or stops the server; the others wait here."""
    handle = os.open(file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
