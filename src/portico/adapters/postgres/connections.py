"""The pools that connections are taken from."""

import asyncio
from typing import Any

from psycopg import AsyncConnection
from psycopg.rows import DictRow
from psycopg_pool import AsyncConnectionPool


class Connections(AsyncConnectionPool[AsyncConnection[DictRow]]):
    """Whoever is cancelled at the very moment at which a connection comes is cancelled all the
    same. The pool waits by `asyncio.wait_for`, which before Python 3.12 forgets of a cancellation
    that comes together with what was waited for: a loop that should end would go on for ever."""

    async def getconn(self, timeout: float | None = None) -> AsyncConnection[DictRow]:
        before = _times_cancelled()
        connection = await super().getconn(timeout)
        if _times_cancelled() > before:
            await self.putconn(connection)
            raise asyncio.CancelledError
        return connection


def _times_cancelled() -> int:
    task: asyncio.Task[Any] | None = asyncio.current_task()
    return 0 if task is None else task.cancelling()
