"""Heads of the audit in a file: a line each, only ever added to, for nobody else to read."""

import asyncio
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from portico.guard.core.audit import Head, head_from, head_line
from portico.kernel.clock import Clock
from portico.kernel.ids import SpaceId

Tell = Callable[[SpaceId, Head], None]


class AuditHeadsFile:
    """`tell` hears of each too, to carry it further away."""

    def __init__(self, path: Path, clock: Clock, tell: Tell) -> None:
        self._path = path
        self._clock = clock
        self._tell = tell

    async def keep(self, space: SpaceId, head: Head) -> None:
        """Raises `OSError`."""
        self._tell(space, head)
        line = head_line(space, head, self._clock.now())
        await asyncio.to_thread(_append, self._path, line)

    async def of(self, space: SpaceId) -> Sequence[Head]:
        return await asyncio.to_thread(lambda: heads_in(self._path, space))


def heads_in(path: Path, space: SpaceId) -> Sequence[Head]:
    """None if there is no such file. A line that is not whole is none: it was being written when
    the machine stopped."""
    found: list[Head] = []
    with suppress(FileNotFoundError), path.open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            whose = head_from(line)
            if whose is not None and whose[0] == space:
                found.append(whose[1])
    return found


def _append(path: Path, line: str) -> None:
    """In one write, so that the lines of several processes stay whole, and down to the disk."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        os.write(handle, line.encode())
        os.fsync(handle)
    finally:
        os.close(handle)
