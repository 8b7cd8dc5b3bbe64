"""Tools, kept in PostgreSQL."""

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final, LiteralString

from psycopg.rows import DictRow

from portico.adapters.postgres.tool_rows import tool_columns, tool_from
from portico.adapters.postgres.transaction import Transactions
from portico.gateway.core.catalog_snapshot import Tool
from portico.gateway.core.servers import Server, ServerId, Tally
from portico.kernel.principal import Principal

_AT_ONCE: Final = 500
_COLUMNS: Final[LiteralString] = """
    t.name, t.definition::text, t.pin, t.tokens, t.effect, t.accepted_definition::text,
    t.accepted_pin, t.refused, t.gone
"""
_ALL: Final[LiteralString] = f"""
    SELECT t.server_id, s.name AS server, {_COLUMNS}
      FROM portico.tool t JOIN portico.server s USING (space_id, server_id)
     WHERE t.space_id = %(space)s
     ORDER BY t.server_id, t.position
"""
_OF: Final[LiteralString] = f"""
    SELECT {_COLUMNS} FROM portico.tool t
     WHERE t.space_id = %(space)s AND t.server_id = %(server)s
     ORDER BY t.position
"""
_TALLY: Final[LiteralString] = """
    SELECT server_id,
           count(*) FILTER (WHERE standing = 'agreed') AS agreed,
           count(*) FILTER (WHERE standing = 'new') AS new,
           count(*) FILTER (WHERE standing = 'changed') AS changed,
           count(*) FILTER (WHERE standing = 'refused') AS refused,
           count(*) FILTER (WHERE standing = 'gone') AS gone,
           coalesce(sum(tokens) FILTER (WHERE standing <> 'gone'), 0) AS tokens
      FROM (SELECT server_id, tokens,
                   CASE WHEN gone THEN 'gone' WHEN refused IS NOT NULL THEN 'refused'
                        WHEN accepted_pin IS NULL THEN 'new'
                        WHEN accepted_pin = pin THEN 'agreed' ELSE 'changed' END AS standing
              FROM portico.tool WHERE space_id = %(space)s) AS each
     GROUP BY server_id
"""
_FORGET: Final[LiteralString] = """
    DELETE FROM portico.tool WHERE space_id = %(space)s AND server_id = %(server)s
"""
_PUT: Final[LiteralString] = """
    INSERT INTO portico.tool (space_id, server_id, name, position, definition, pin, tokens,
                              effect, accepted_definition, accepted_pin, refused, gone)
    SELECT %(space)s, %(server)s, given.*
      FROM unnest(%(names)s::text[], %(positions)s::integer[], %(definitions)s::json[],
                  %(pins)s::text[], %(tokens)s::integer[], %(effects)s::text[],
                  %(accepted_definitions)s::json[], %(accepted_pins)s::text[],
                  %(refusals)s::text[], %(gone)s::boolean[]) AS given
"""


class PostgresTools:
    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def all(self, caller: Principal) -> Mapping[ServerId, Sequence[Tool]]:
        """Some at a time, and read aside: fifty thousand take seconds, and others have to go on
        meanwhile."""
        found: defaultdict[ServerId, list[Tool]] = defaultdict(list)
        async with (
            self._transactions.begin(caller) as connection,
            connection.cursor(name="tools") as cursor,
        ):
            await cursor.execute(_ALL, {"space": caller.space.value})
            while rows := await cursor.fetchmany(_AT_ONCE):
                for row, tool in zip(rows, await asyncio.to_thread(_read, rows), strict=True):
                    found[ServerId(row["server_id"])].append(tool)
        return found

    async def of(self, caller: Principal, server: Server) -> Sequence[Tool]:
        asked = {"space": caller.space.value, "server": server.id.value}
        async with self._transactions.begin(caller) as connection:
            rows = await connection.execute(_OF, asked)
            return [tool_from(server.name, row) for row in await rows.fetchall()]

    async def tally(self, caller: Principal) -> Mapping[ServerId, Tally]:
        async with self._transactions.begin(caller) as connection:
            rows = await connection.execute(_TALLY, {"space": caller.space.value})
            return {ServerId(row.pop("server_id")): Tally(**row) for row in await rows.fetchall()}

    async def put(self, caller: Principal, server: ServerId, tools: Sequence[Tool]) -> None:
        values = {"space": caller.space.value, "server": server.value, **tool_columns(tools)}
        async with self._transactions.begin(caller) as connection:
            await connection.execute(_FORGET, values)
            await connection.execute(_PUT, values)


def _read(rows: Sequence[DictRow]) -> Sequence[Tool]:
    return [tool_from(row["server"], row) for row in rows]
