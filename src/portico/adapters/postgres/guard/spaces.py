"""Spaces in PostgreSQL: created, exported and ended whole, with their settings."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Final, LiteralString

from psycopg import sql
from psycopg.rows import DictRow
from psycopg.types.json import Jsonb

from portico.adapters.postgres.guard.keys import INSERT_KEY
from portico.adapters.postgres.guard.principals import INSERT_PRINCIPAL
from portico.adapters.postgres.mapping import identity_row, key_row
from portico.adapters.postgres.transaction import Transactions
from portico.guard.core.authentication import as_principal
from portico.guard.core.errors import SpaceNotFound
from portico.guard.core.keys import StoredKey
from portico.guard.core.principals import Identity
from portico.guard.core.spaces import ExportedRow, Space
from portico.kernel.ids import SpaceId
from portico.kernel.json import JsonValue
from portico.kernel.principal import Principal

_INSERT: Final[LiteralString] = """
    INSERT INTO space (space_id, name, created_at) VALUES (%(space)s, %(name)s, %(created)s)
"""
_GET: Final[LiteralString] = """
    SELECT space_id, name, created_at FROM space WHERE space_id = %(space)s
"""
_RENAME: Final[LiteralString] = "UPDATE space SET name = %(name)s WHERE space_id = %(space)s"
_DELETE: Final[LiteralString] = "DELETE FROM space WHERE space_id = %(space)s"
_NO_HURRY: Final[LiteralString] = "SET LOCAL idle_in_transaction_session_timeout = '10min'"
_EXPORTS: Final = 2
"""At a time: each holds a connection for as long as its reader takes."""
_TABLES: Final[LiteralString] = """
    SELECT c.relname AS name,
           array_agg(a.attname::text ORDER BY a.attnum)
               FILTER (WHERE has_column_privilege(c.oid, a.attnum, 'SELECT')) AS columns
      FROM pg_class c
      JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
     WHERE c.relnamespace = 'portico'::regnamespace
       AND c.relkind IN ('r', 'p') AND NOT c.relispartition
       AND EXISTS (SELECT FROM pg_attribute s WHERE s.attrelid = c.oid AND s.attname = 'space_id')
     GROUP BY c.oid, c.relname
    HAVING bool_or(has_column_privilege(c.oid, a.attnum, 'SELECT') AND a.attname <> 'space_id')
     ORDER BY c.relname
"""


_SEEN: Final[LiteralString] = (
    "label_level <= %(level)s AND label_compartments <@ %(compartments)s::text[]"
)
_SERVERS: Final[LiteralString] = (
    f"(SELECT server_id FROM portico.server WHERE space_id = %(space)s AND {_SEEN})"
)
_CLEARED: Final[Mapping[str, LiteralString]] = {
    "server": _SEEN,
    "tool": f"server_id IN {_SERVERS}",
    "inferred_schema": f"server_id IN {_SERVERS}",
    "tool_flow": f"producer_id IN {_SERVERS} AND consumer_id IN {_SERVERS}",
    "tool_edge": f"earlier_id IN {_SERVERS} AND later_id IN {_SERVERS}",
    "prediction_count": f"servers <@ ARRAY{_SERVERS}",
    "past_plan": "principal_id = %(principal)s",
}
"""No wall of these tables looks at their labels, since the catalogue is kept for everybody; nor at
whose words a past plan holds, which are nobody else's to take along."""

_NEVER_TOLD: Final[Mapping[str, frozenset[str]]] = {
    "bridge_label": frozenset({"number"}),
    "message": frozenset({"seq", "owing", "copy_of"}),
}
"""A place in a conversation and the number of a label tell how much there is that is hidden, and
what a copy was made of is hidden itself."""


class PostgresSpaces:
    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions
        self._exports = asyncio.Semaphore(_EXPORTS)

    async def found(self, space: Space, first: Identity, key: StoredKey, digest: bytes) -> None:
        async with self._transactions.begin(as_principal(first)) as connection:
            values = {"space": space.id.value, "name": space.name, "created": space.created_at}
            await connection.execute(_INSERT, values)
            await connection.execute(INSERT_PRINCIPAL, identity_row(first))
            await connection.execute(INSERT_KEY, key_row(key, digest))

    async def get(self, caller: Principal) -> Space:
        async with self._transactions.begin(caller) as connection:
            row = await (await connection.execute(_GET, {"space": caller.space.value})).fetchone()
        if row is None:
            raise SpaceNotFound(str(caller.space))
        return Space(SpaceId(row["space_id"]), row["name"], row["created_at"])

    async def rename(self, caller: Principal, name: str) -> None:
        async with self._transactions.begin(caller) as connection:
            await connection.execute(_RENAME, {"space": caller.space.value, "name": name})

    async def delete(self, caller: Principal) -> None:
        async with self._transactions.begin(caller) as connection:
            await connection.execute(_DELETE, {"space": caller.space.value})

    async def export(self, caller: Principal) -> AsyncGenerator[ExportedRow, None]:
        """One snapshot of all tables, since one statement reads them; row by row, however large."""
        async with self._exports, self._transactions.begin_apart(caller) as connection:
            await connection.execute(_NO_HURRY)
            tables = await (await connection.execute(_TABLES)).fetchall()
            query = sql.SQL(" UNION ALL ").join(map(_rows, tables))
            async with connection.cursor(name="export") as cursor:
                await cursor.execute(query, _asked(caller))
                async for row in cursor:
                    yield ExportedRow(row["name"], row["values"])


def _asked(caller: Principal) -> dict[str, object]:
    return {
        "space": caller.space.value,
        "principal": caller.id.value,
        "level": int(caller.clearance.level),
        "compartments": sorted(caller.clearance.compartments),
    }


def _rows(table: DictRow) -> sql.Composed:
    """As json, which hands on what strangers wrote; jsonb would read it, and refuse a NUL."""
    only = _CLEARED.get(table["name"], "true")
    hidden = _NEVER_TOLD.get(table["name"], frozenset())
    columns = [column for column in table["columns"] if column not in hidden]
    return sql.SQL(
        "SELECT {} AS name, to_json(t) AS values "
        "FROM (SELECT {} FROM {} WHERE space_id = %(space)s AND " + only + ") t"
    ).format(
        sql.Literal(table["name"]),
        sql.SQL(", ").join(map(sql.Identifier, columns)),
        sql.Identifier("portico", table["name"]),
    )


_SETTINGS_GET: Final[LiteralString] = """
    SELECT value FROM setting WHERE space_id = %(space)s AND name = %(name)s
"""
_PUT: Final[LiteralString] = """
    INSERT INTO setting (space_id, name, value) VALUES (%(space)s, %(name)s, %(value)s)
    ON CONFLICT (space_id, name) DO UPDATE SET value = excluded.value, updated_at = now()
"""
_BEGIN: Final[LiteralString] = """
    INSERT INTO setting (space_id, name, value) VALUES (%(space)s, %(name)s, 'null')
    ON CONFLICT (space_id, name) DO NOTHING
"""
_HOLD: Final[LiteralString] = """
    SELECT value FROM setting WHERE space_id = %(space)s AND name = %(name)s FOR UPDATE
"""


class PostgresSpaceSettings:
    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def get(self, caller: Principal, name: str) -> JsonValue:
        async with self._transactions.begin(caller) as connection:
            wanted = {"space": caller.space.value, "name": name}
            row = await (await connection.execute(_SETTINGS_GET, wanted)).fetchone()
        found: JsonValue = None if row is None else row["value"]
        return found

    async def put(self, caller: Principal, name: str, value: JsonValue) -> None:
        values = {"space": caller.space.value, "name": name, "value": Jsonb(value)}
        async with self._transactions.begin(caller) as connection:
            await connection.execute(_PUT, values)

    @asynccontextmanager
    async def changing(self, caller: Principal, name: str) -> AsyncIterator[JsonValue]:
        """A row that is not there cannot be held, so it is made first, with nothing in it."""
        wanted = {"space": caller.space.value, "name": name}
        async with self._transactions.begin(caller) as connection:
            await connection.execute(_BEGIN, wanted)
            row = await (await connection.execute(_HOLD, wanted)).fetchone()
            held: JsonValue = None if row is None else row["value"]
            yield held
