"""The sign of life of a process: a lock that PostgreSQL releases when the process is gone."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final, LiteralString

import psycopg
from psycopg import AsyncConnection

from portico.adapters.postgres.transaction import KEEPALIVE, ListeningConnection
from portico.engine.core.errors import StoreUnavailable

# A process's sign of life: a lock that PostgreSQL gives up when the process is gone.
#
# Nobody's clock decides. While the lock is held nobody else takes up what this process has begun;
# the moment it cannot be sure of holding it, the process has to stop.

LEASE_KEY: Final[LiteralString] = "hashtextextended('portico lease ' || %(executor)s, 0)"
_TAKE: Final[LiteralString] = f"SELECT pg_try_advisory_lock({LEASE_KEY})"
_GIVE_UP_LATER: Final[LiteralString] = """
    SELECT set_config('tcp_keepalives_idle', '5', false),
           set_config('tcp_keepalives_interval', '2', false),
           set_config('tcp_keepalives_count', '3', false)
"""
"""The server lets go of a machine that has vanished after 11 seconds: later than that machine,
if it only lost its network, has stopped."""
_LOOK: Final = 1.0
_PATIENCE: Final = 3.0


class Lease:
    def __init__(self, address: str, executor: str) -> None:
        self._address = address
        self._executor = executor

    @asynccontextmanager
    async def held(self) -> AsyncIterator["HeldLease"]:
        """Raises `StoreUnavailable`, also where another process goes by the same name."""
        try:
            connection = await ListeningConnection.connect(
                self._address,
                autocommit=True,
                application_name=f"portico lease {self._executor}"[:63],
                **KEEPALIVE,
            )
        except psycopg.OperationalError as error:
            raise StoreUnavailable("The database does not answer.") from error
        async with connection:
            if not await self._take(connection):
                raise StoreUnavailable(f"Another process goes by the name {self._executor}.")
            yield HeldLease(connection)

    async def _take(self, connection: AsyncConnection) -> bool:
        try:
            await connection.execute(_GIVE_UP_LATER)
            found = await connection.execute(_TAKE, {"executor": self._executor})
            row = await found.fetchone()
        except psycopg.OperationalError as error:
            raise StoreUnavailable("The database does not answer.") from error
        return row is not None and bool(row[0])


class HeldLease:
    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def lost(self) -> None:
        """Returns as soon as the lock may be somebody else's."""
        try:
            while await self._answers():
                async for _ in self._connection.notifies(timeout=_LOOK):
                    pass
        except psycopg.OperationalError:
            return

    async def _answers(self) -> bool:
        """In time. One that does not is left alone: psycopg would take ten seconds to give up on
        it, and the fence comes first."""
        asking = asyncio.ensure_future(self._connection.execute("SELECT 1"))
        try:
            done, _ = await asyncio.wait([asking], timeout=_PATIENCE)
        except asyncio.CancelledError:
            asking.cancel()
            raise
        if not done:
            self._connection.pgconn.finish()
            asking.cancel()
            return False
        await asking
        return True
