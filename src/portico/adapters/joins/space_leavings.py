"""What a space has beside the database, on this machine: programs that run for it, and files."""

import asyncio
import logging
import shutil
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from portico.kernel.ids import SpaceId

_log: Final = logging.getLogger("portico.spaces")
_TRIES: Final = 3
"""What is written while it is removed is removed with the next."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceLeavings:
    """The guard's `Leavings`."""

    stop: Callable[[SpaceId], Awaitable[None]]
    """Ends all that runs for it, before its files go."""
    folders: Sequence[Path]
    """In each, a space has a folder by its own id."""

    async def clear(self, space: SpaceId) -> None:
        await self.stop(space)
        for each in self.folders:
            await asyncio.to_thread(_remove, each / str(space))


def _remove(folder: Path) -> None:
    for _ in range(_TRIES):
        if not folder.exists():
            return
        shutil.rmtree(folder, ignore_errors=True)
    if folder.exists():
        _log.warning("%s could not be removed; its space is gone", folder)
