"""A table for each month of events, made before the month begins."""

import logging
from typing import Final, LiteralString

import psycopg
from psycopg import AsyncConnection

_log: Final = logging.getLogger("portico.postgres")
PREPARE_MONTHS: Final[LiteralString] = "SELECT portico.prepare_event_months(2) AS months"


class EventMonths:
    """As the owner does it when the schema is brought up to date; the engine does it each hour."""

    def __init__(self, owner: str) -> None:
        self._owner = owner

    async def migrate(self) -> None:
        async with await AsyncConnection.connect(self._owner, autocommit=True) as connection:
            try:
                await connection.execute(PREPARE_MONTHS)
            except psycopg.errors.LockNotAvailable:
                _log.info("the log of events is being read; its months are made the next time")
