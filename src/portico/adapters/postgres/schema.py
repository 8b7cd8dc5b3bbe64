"""The schema's migrations, as files beside this one and as rows in the database."""

import asyncio
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from importlib.resources import files
from typing import Final, LiteralString

import psycopg
from psycopg import AsyncConnection
from psycopg.rows import DictRow, dict_row

from portico.engine.core.errors import NotProvisioned, PasswordRefused, StoreBusy, StoreUnavailable
from portico.engine.core.store import Applied, Migration
from portico.kernel.errors import PorticoError

_LOCK: Final = 0x706F727469636F  # "portico": any number that nobody else locks
_PAUSE: Final = 0.05
_NOT_LONG: Final[LiteralString] = "SET LOCAL lock_timeout = '2s'"
"""Whoever waits for a table holds up everybody who comes after."""
_LET_PASS: Final = 0.5
_TRIES: Final = 120
_NAME: Final = re.compile(r"(\d{4})_(\w+)\.sql")
_RECORD: Final[LiteralString] = """
    INSERT INTO portico.schema_migration (number, name, checksum)
    VALUES (%(number)s, %(name)s, %(checksum)s)
"""
_APPLIED: Final[LiteralString] = """
    SELECT number, name, checksum, applied_at FROM portico.schema_migration ORDER BY number
"""


def known_migrations() -> Sequence[Migration]:
    found = [
        Migration(int(name[1]), name[2], file.read_text(encoding="utf-8"))
        for file in files("portico.adapters.postgres.migrations").iterdir()
        if (name := _NAME.fullmatch(file.name))
    ]
    return sorted(found, key=lambda migration: migration.number)


class PostgresSchema:
    """As the owner it can change the schema; as anybody else it can only be asked."""

    def __init__(self, address: str) -> None:
        self._address = address

    @asynccontextmanager
    async def locked(self) -> AsyncIterator[None]:
        """Asked for again and again: whoever waited for it inside a statement would be waited for
        by an index that is built beside the others' work, as a companion does it."""
        async with self._connected() as connection:
            while not await _taken(connection):  # noqa: ASYNC110 # others hold it elsewhere
                await asyncio.sleep(_PAUSE)
            yield

    async def applied(self) -> Sequence[Applied]:
        async with self._connected() as connection:
            there = await connection.execute(
                "SELECT to_regclass('portico.schema_migration') IS NOT NULL AS found"
            )
            row = await there.fetchone()
            if row is None or not row["found"]:
                return []
            return [Applied(**row) for row in await (await connection.execute(_APPLIED)).fetchall()]

    async def apply(self, migration: Migration) -> None:
        """Tried again and again, with a pause in which others pass. Raises `StoreBusy`."""
        for _ in range(_TRIES):
            try:
                await self._try(migration)
            except (psycopg.errors.LockNotAvailable, psycopg.errors.DeadlockDetected):
                await asyncio.sleep(_LET_PASS)
            else:
                return
        raise StoreBusy(
            f"The migration {migration.number:04} {migration.name} did not get the tables to "
            "itself: somebody has used them for minutes without an end.",
            fix="Nothing of it was done. End long transactions (a backup, a query by hand), or "
            "stop the servers, then: portico db migrate",
        )

    async def _try(self, migration: Migration) -> None:
        async with self._connected() as connection, connection.transaction():
            await connection.execute(_NOT_LONG)
            await connection.execute(migration.sql.encode())
            await connection.execute(
                _RECORD,
                {
                    "number": migration.number,
                    "name": migration.name,
                    "checksum": migration.checksum,
                },
            )

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[AsyncConnection[DictRow]]:
        try:
            connection = await AsyncConnection[DictRow].connect(
                self._address, autocommit=True, row_factory=dict_row, connect_timeout=10
            )
        except psycopg.OperationalError as error:
            raise _explained(error) from error
        async with connection:
            yield connection


async def _taken(connection: AsyncConnection[DictRow]) -> bool:
    found = await connection.execute("SELECT pg_try_advisory_lock(%s) AS taken", [_LOCK])
    row = await found.fetchone()
    return row is not None and bool(row["taken"])


def _explained(error: psycopg.OperationalError) -> PorticoError:
    text = str(error).strip().splitlines()[-1]
    if "authentication failed" in text:
        return PasswordRefused()
    if "does not exist" in text:
        return NotProvisioned(f"The database is not set up for us: {text}")
    return StoreUnavailable(f"The database does not answer: {text}")
