"""The files that are in use: our own, and those that it names."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from datetime import timedelta
from pathlib import Path

from portico.adapters.client_configs.reading import ClientFiles
from portico.adapters.client_configs.watch import EVERY, Looking, changes
from portico.gateway.core.client_configs import Look, told_apart
from portico.gateway.core.config_documents import Described


class FileSources:
    def __init__(
        self,
        files: ClientFiles,
        imports: Callable[[], Sequence[str]],
        *,
        every: timedelta = EVERY,
    ) -> None:
        """`imports` reads anew which files are named; while that cannot be read, it answers with
        what it was."""
        self._files = files
        self._imports = imports
        self._named: Sequence[str] = ()
        self._every = every
        self._first: Look | None = None

    async def read(self) -> Sequence[Described]:
        return await asyncio.to_thread(self._read)

    def changes(self) -> AsyncGenerator[frozenset[str], None]:
        """Since they were read for the first time, however long ago that is."""
        return changes(self._paths, self._first, self._every)

    def _read(self) -> Sequence[Described]:
        self._named = self._imports()
        self._first = self._first or Looking().look(self._paths())
        found = (self._files.read(str(path)) for path in dict.fromkeys(self._paths()))
        return told_apart([each for each in found if each is not None])

    def _paths(self) -> Iterable[Path]:
        return [self._files.own_file, *self._files.absolute(self._named)]
