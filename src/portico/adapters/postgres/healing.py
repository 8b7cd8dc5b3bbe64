"""Notice at once that the embedded server has gone, and bring it back while we go on running."""

import asyncio
import logging
from collections.abc import Callable
from typing import Any, Final

import psycopg
from psycopg_pool import AsyncConnectionPool

from portico.adapters.postgres.listening import ListeningConnection

_log: Final = logging.getLogger("portico.postgres")
_PAUSE: Final = 0.5


class Healer:
    """Keeps one idle connection open, for the news of its end."""

    def __init__(
        self, address: str, restart: Callable[[], None], pool: AsyncConnectionPool[Any]
    ) -> None:
        self._address = address
        self._restart = restart
        self._pool = pool

    async def watch(self) -> None:
        """Until cancelled."""
        while True:
            await self._until_it_breaks()
            _log.warning("the database has gone; bringing it back")
            try:
                await asyncio.to_thread(self._restart)
                await self._pool.check()
            except Exception:  # noqa: BLE001 # whatever it was: if this loop ends, nothing heals
                _log.exception("the database could not be brought back; trying again")
                await asyncio.sleep(_PAUSE)
            else:
                _log.warning("the database is back")

    async def _until_it_breaks(self) -> None:
        try:
            async with await ListeningConnection.connect(
                self._address, autocommit=True, application_name="portico sentinel"
            ) as connection:
                async for _ in connection.notifies():
                    pass
        except psycopg.OperationalError:
            return
