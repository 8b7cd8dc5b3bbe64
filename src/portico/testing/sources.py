"""Files that describe servers, without files."""

import asyncio
from collections.abc import AsyncGenerator, Sequence

from portico.gateway.core.config_documents import Described


class ScriptedSources:
    def __init__(self, *described: Described) -> None:
        self._says: Sequence[Described] = described
        self._changed = asyncio.Event()

    def say(self, *described: Described) -> None:
        """From now on."""
        self._says = described
        self._changed.set()

    async def read(self) -> Sequence[Described]:
        return self._says

    async def changes(self) -> AsyncGenerator[object, None]:
        while True:
            await self._changed.wait()
            self._changed.clear()
            yield None
