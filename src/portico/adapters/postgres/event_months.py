"""A table for each month of events, made before the month begins."""

from typing import Final, LiteralString

from psycopg import AsyncConnection

PREPARE_MONTHS: Final[LiteralString] = "SELECT portico.prepare_event_months(2) AS made"


class EventMonths:
    """As the owner does it when the schema is brought up to date; the engine does it each hour."""

    def __init__(self, owner: str) -> None:
        self._owner = owner

    async def migrate(self) -> None:
        async with await AsyncConnection.connect(self._owner, autocommit=True) as connection:
            await connection.execute(PREPARE_MONTHS)
