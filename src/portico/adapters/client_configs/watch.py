"""Notices when files change, however they are written.

Looking once a second costs a `stat` a file. It works on every file system, and sees what a watch
on a single file would miss: an editor that puts another file in its place.
"""

import asyncio
import hashlib
import stat
from collections.abc import AsyncGenerator, Callable, Iterable
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Final

from portico.adapters.client_configs.reading import LARGEST
from portico.gateway.core.client_configs import Look, Noticing

EVERY: Final = timedelta(seconds=1)


@dataclass(slots=True)
class Looking:
    """How files look now: what they hold, read anew only if something about them is new."""

    _known: dict[Path, tuple[tuple[int, int, int], str]] = field(default_factory=dict)

    def look(self, files: Iterable[Path]) -> dict[str, str | None]:
        return {str(file): self._look_at(file) for file in files}

    def _look_at(self, file: Path) -> str | None:
        try:
            state = file.stat()
            mark = (state.st_mtime_ns, state.st_size, state.st_ino)
            known = self._known.get(file)
            if known is not None and known[0] == mark:
                return known[1]
            readable = stat.S_ISREG(state.st_mode) and state.st_size <= LARGEST
            content = file.read_bytes() if readable else str(mark).encode()
        except OSError:
            self._known.pop(file, None)
            return None
        digest = hashlib.sha256(content).hexdigest()
        self._known[file] = (mark, digest)
        return digest


async def changes(
    files: Callable[[], Iterable[Path]],
    first: Look | None = None,
    every: timedelta = EVERY,
) -> AsyncGenerator[frozenset[str], None]:
    """Which of the files have changed since they looked as at `first`, or since this was asked
    for; each time that some have. Which files there are may change too."""
    looking = Looking()
    if first is None:
        first = await asyncio.to_thread(looking.look, files())
    noticing = Noticing(first)
    while True:
        await asyncio.sleep(every.total_seconds())
        changed = noticing.changed(await asyncio.to_thread(looking.look, files()))
        if changed:
            yield changed
