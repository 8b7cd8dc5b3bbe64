"""What a place for secrets can do, whichever it is; all of it waits, so call it in a thread."""

import fcntl
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final, Protocol

from portico.adapters.system.private_files import private_folder

OURS: Final = "portico"
"""Stands in the place of a space for what belongs to the installation."""


@dataclass(frozen=True, slots=True)
class Kept:
    value: str
    set_at: datetime
    set_by: str

    def __repr__(self) -> str:
        return f"Kept(set_at={self.set_at!r}, set_by={self.set_by!r})"


Change = Callable[[Kept | None], Kept | None]


class Drawer(Protocol):
    """Each of them raises `SecretsUnavailable`."""

    @property
    def title(self) -> str: ...

    def get(self, space: str, name: str) -> Kept | None: ...

    def change(self, space: str, name: str, to: Change) -> Kept | None:
        """What `to` makes of what is there, or None to have nothing there; while it is made, no
        other process changes anything. Returns what was there before."""
        ...

    def all(self, space: str) -> Mapping[str, Kept]: ...

    def spaces(self) -> Iterator[str]: ...


@contextmanager
def alone(lock: Path) -> Iterator[None]:
    """One process at a time; the kernel gives the lock back when its holder dies."""
    private_folder(lock.parent)
    handle = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
