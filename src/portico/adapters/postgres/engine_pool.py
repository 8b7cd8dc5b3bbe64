"""The few connections of the engine's role: it sees every space, and of each run only its ids."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, LiteralString

import psycopg
from psycopg import AsyncConnection
from psycopg.rows import DictRow, dict_row

from portico.adapters.postgres.connections import Connections
from portico.adapters.postgres.transaction import KEEPALIVE, PATIENCE, translated


class EnginePool:
    def __init__(self, address: str, size: int = 3) -> None:
        settings: dict[str, Any] = {
            "row_factory": dict_row,
            "autocommit": True,
            "application_name": "portico engine",
            **KEEPALIVE,
        }
        self.pool = Connections(
            address,
            connection_class=AsyncConnection[DictRow],
            kwargs=settings,
            min_size=1,
            max_size=size,
            open=False,
            timeout=PATIENCE,
            reconnect_timeout=60,
            name="portico engine",
        )

    async def rows(
        self, statement: LiteralString, values: Mapping[str, object]
    ) -> Sequence[DictRow]:
        """In a transaction of its own. Raises `StoreUnavailable`."""
        async with translated(), self.pool.connection() as connection:
            return await (await connection.execute(statement, values)).fetchall()

    async def one(self, statement: LiteralString, values: Mapping[str, object]) -> DictRow | None:
        return next(iter(await self.rows(statement, values)), None)

    async def one_if_free(
        self, statement: LiteralString, values: Mapping[str, object]
    ) -> DictRow | None:
        """As `one`, for a statement that gives up soon; None if what it needs was not let go of."""
        async with translated(), self.pool.connection() as connection:
            try:
                return await (await connection.execute(statement, values)).fetchone()
            except psycopg.errors.LockNotAvailable:
                return None

    @asynccontextmanager
    async def alone(self, lock: LiteralString) -> AsyncIterator[bool]:
        """Whether nobody else holds the lock that the statement takes; held until this is left."""
        async with translated(), self.pool.connection() as connection:
            row = await (await connection.execute(lock)).fetchone()
            alone = row is not None and bool(row["alone"])
            try:
                yield alone
            finally:
                if alone and not connection.closed:
                    await connection.execute("SELECT pg_advisory_unlock_all()")
