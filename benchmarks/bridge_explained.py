"""What a statement of the product costs inside the database, as the database itself tells it."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any, LiteralString

from psycopg import AsyncClientCursor
from psycopg.rows import DictRow
from psycopg_pool import AsyncConnectionPool

from portico.adapters.postgres.transaction import (
    SET_CONTEXT,
    Connection,
    Part,
    Transactions,
    context,
    entered,
    open_pool,
)
from portico.kernel.principal import Principal


@dataclass(frozen=True, slots=True)
class Cost:
    ms: float
    buffers: int
    """Pages that were looked at, wherever they were."""


class _Told(Exception):
    """Instead of rows: nobody gets any."""


class Explaining(Transactions):
    """Carries out what it is given, tells what it cost, and takes it back."""

    def __init__(self, pool: AsyncConnectionPool[Connection]) -> None:
        super().__init__(pool)
        self._explained = pool
        self._costs: list[Cost] = []

    async def looked_up(self, caller: Principal, *parts: Part) -> Sequence[Sequence[DictRow]]:
        async with self._explained.connection() as connection:
            await connection.execute(SET_CONTEXT, context(caller))
            for statement, values in parts:
                asked = f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {statement}"
                # Values are bound as the product binds them, for the same plan.
                cursor = AsyncClientCursor(connection)
                await cursor.execute(asked.encode(), dict(values))
                row = await cursor.fetchone()
                [told] = [] if row is None else row["QUERY PLAN"]
                self._costs.append(_cost(told))
            await connection.rollback()
        raise _Told

    async def called(
        self, caller: Principal, statement: LiteralString, values: Mapping[str, object]
    ) -> Sequence[DictRow]:
        [rows] = await self.looked_up(caller, (statement, entered(caller, values)))
        return rows

    async def cost_of(self, act: Callable[[], Awaitable[object]]) -> Cost:
        """All statements of it together."""
        self._costs.clear()
        with suppress(_Told):
            await act()
        return Cost(sum(each.ms for each in self._costs), sum(each.buffers for each in self._costs))


def _cost(told: dict[str, Any]) -> Cost:
    plan = told["Plan"]
    looked_at = plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]
    return Cost(ms=told["Execution Time"], buffers=looked_at)


@asynccontextmanager
async def explaining(address: str) -> AsyncIterator[Explaining]:
    async with open_pool(address, 1) as pool:
        yield Explaining(pool)
