"""A connection that mostly waits to be told something."""

from typing import Final, TypeVar

from psycopg import AsyncConnection
from psycopg.abc import PQGen
from psycopg.rows import TupleRow

_RV = TypeVar("_RV")
_SELDOM: Final = 60.0


class ListeningConnection(AsyncConnection[TupleRow]):
    """Psycopg wakes ten times a second by itself, to notice that it was interrupted. Here asyncio
    does so, and a server that nobody uses should sleep."""

    async def wait(
        self, gen: PQGen[_RV], interval: float = _SELDOM, timeout: float | None = None
    ) -> _RV:
        return await super().wait(gen, interval=interval, timeout=timeout)
