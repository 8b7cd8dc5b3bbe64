"""What a space has beside the database, on this machine: programs that run for it, secrets and
files."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from portico.adapters.system.removing import remove_tree
from portico.guard.core.secrets import SecretsUnavailable
from portico.kernel.ids import SpaceId

_log: Final = logging.getLogger("portico.spaces")
_TRIES: Final = 3
"""What is written while it is removed is removed with the next."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceLeavings:
    """The guard's `Leavings`."""

    stop: Callable[[SpaceId], Awaitable[None]]
    """Ends all that runs for it, before its files go."""
    forget_secrets: Callable[[SpaceId], Awaitable[None]]
    """Those that were given to it by name. May raise `SecretsUnavailable`."""
    folders: Sequence[Path]
    """In each, a space has a folder by its own id."""

    async def clear(self, space: SpaceId) -> None:
        await self.stop(space)
        try:
            await self.forget_secrets(space)
        except SecretsUnavailable as error:
            _log.warning("the secrets of %s stay, though it is gone: %s", space, error)
        for each in self.folders:
            await asyncio.to_thread(_remove, each / str(space))


def _remove(folder: Path) -> None:
    if folder.is_dir() and not folder.is_symlink():  # else nobody of ours has put it there
        for _ in range(_TRIES):
            remove_tree(folder)
            if not folder.exists():
                return
    if folder.exists():
        _log.warning("%s could not be removed; its space is gone", folder)
