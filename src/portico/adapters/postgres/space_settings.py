"""What spaces have decided for themselves, kept in PostgreSQL."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final, LiteralString

from psycopg.types.json import Jsonb

from portico.adapters.postgres.transaction import Transactions
from portico.kernel.json import JsonValue
from portico.kernel.principal import Principal

_GET: Final[LiteralString] = """
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
            row = await (await connection.execute(_GET, wanted)).fetchone()
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
