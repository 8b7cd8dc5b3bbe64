"""What outlasts a request: it ends with the face, and what breaks in it breaks alone."""

import asyncio
import logging
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any, Final

_log: Final = logging.getLogger("portico.mcp")


class Background:
    def __init__(self) -> None:
        self._group: asyncio.TaskGroup | None = None
        self._begun: set[asyncio.Task[Any]] = set()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with asyncio.TaskGroup() as self._group:
            try:
                yield
            finally:
                for task in self._begun:
                    task.cancel()

    def start(self, work: Coroutine[Any, Any, Any]) -> "asyncio.Task[Any]":
        if self._group is None:
            raise RuntimeError("the MCP face is not running")
        task = self._group.create_task(_contained(work))
        self._begun.add(task)
        task.add_done_callback(self._begun.discard)
        return task


async def _contained(work: Coroutine[Any, Any, Any]) -> Any:  # noqa: ANN401 # whatever it gives
    try:
        return await work
    except Exception:  # noqa: BLE001 # the edge of a background loop
        _log.exception("something that goes on between requests broke")
        return None
