"""A table for each month of events and of calls, made before the month begins."""

import logging
from typing import Final, LiteralString

import psycopg
from psycopg import AsyncConnection

_log: Final = logging.getLogger("portico.postgres")
LOGS: Final = {"event": "the log of events", "tool_call": "the record of calls"}
PREPARE_MONTHS: Final[LiteralString] = "SELECT portico.prepare_months(%(log)s, 2) AS months"


class EventMonths:
    """As the owner does it when the schema is brought up to date; the engine does it each hour."""

    def __init__(self, owner: str) -> None:
        self._owner = owner

    async def migrate(self) -> None:
        async with await AsyncConnection.connect(self._owner, autocommit=True) as connection:
            for log, called in LOGS.items():
                try:
                    await connection.execute(PREPARE_MONTHS, {"log": log})
                except psycopg.errors.LockNotAvailable:
                    _log.info("%s is being read; its months are made the next time", called)
