"""Tools and their vectors in PostgreSQL."""

import asyncio
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Final, LiteralString

import numpy as np
from numpy.typing import NDArray
from psycopg.rows import DictRow

from portico.adapters.postgres.mapping import storable_or_none, strip_nul
from portico.adapters.postgres.transaction import Transactions
from portico.gateway.core.catalog_snapshot import Definition, Tool, ToolRef
from portico.gateway.core.servers import Server, ServerId, ToolCounts
from portico.kernel.budget import Tokens
from portico.kernel.effect import Effect
from portico.kernel.json import JsonValue
from portico.kernel.principal import Principal

# From rows to tools and back.
#
# A definition is kept as it came, and beside it only what is read otherwise than it stands there:
# most schemas are kept once, and are one value in memory too.

Row = Mapping[str, Any]

_STANDS_AS: Final = {
    "name": "name",
    "title": "title",
    "description": "description",
    "input_schema": "inputSchema",
    "output_schema": "outputSchema",
    "annotations": "annotations",
}


def tool_columns(tools: Sequence[Tool]) -> dict[str, object]:
    """As lists, one a column: what a stranger wrote is not looked into on its way."""
    return {
        "names": [strip_nul(tool.ref.name) for tool in tools],
        "positions": list(range(len(tools))),
        "definitions": [_definition_text(tool.definition) for tool in tools],
        "pins": [tool.pin for tool in tools],
        "tokens": [tool.tokens for tool in tools],
        "effects": [tool.effect.value for tool in tools],
        "accepted_definitions": [_accepted_text(tool) for tool in tools],
        "accepted_pins": [tool.accepted_pin for tool in tools],
        "refusals": [storable_or_none(tool.refused) for tool in tools],
        "gone": [tool.gone for tool in tools],
    }


def tool_from(server: str, row: Row) -> Tool:
    """Of a row whose definitions are texts still."""
    definition = _definition_from(row["definition"])
    return Tool(
        ref=ToolRef(server, row["name"]),
        definition=definition,
        pin=row["pin"],
        tokens=Tokens(row["tokens"]),
        effect=Effect(row["effect"]),
        accepted=_accepted(row, definition),
        accepted_pin=row["accepted_pin"],
        refused=row["refused"],
        gone=row["gone"],
    )


def _accepted(row: Row, seen: Definition) -> Definition | None:
    if row["accepted_pin"] is None:
        return None
    other = row["accepted_definition"]
    return seen if other is None else _definition_from(other)


def _accepted_text(tool: Tool) -> str | None:
    """Only where it is another than the one that is seen now."""
    if tool.accepted is None or tool.accepted_pin == tool.pin:
        return None
    return _definition_text(tool.accepted)


def _definition_text(definition: Definition) -> str:
    told: dict[str, JsonValue] = {"raw": definition.raw}
    for field, stands_as in _STANDS_AS.items():
        value = getattr(definition, field)
        if stands_as not in definition.raw or definition.raw[stands_as] != value:
            told[field] = value
    return json.dumps(told)


def _definition_from(text: str) -> Definition:
    told = json.loads(text)
    raw = told["raw"]
    return Definition(
        raw=raw,
        **{
            field: told[field] if field in told else raw[stands_as]
            for field, stands_as in _STANDS_AS.items()
        },
    )


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

    async def tally(self, caller: Principal) -> Mapping[ServerId, ToolCounts]:
        async with self._transactions.begin(caller) as connection:
            rows = await connection.execute(_TALLY, {"space": caller.space.value})
            return {
                ServerId(row.pop("server_id")): ToolCounts(**row) for row in await rows.fetchall()
            }

    async def put(self, caller: Principal, server: ServerId, tools: Sequence[Tool]) -> None:
        values = {"space": caller.space.value, "server": server.value, **tool_columns(tools)}
        async with self._transactions.begin(caller) as connection:
            await connection.execute(_FORGET, values)
            await connection.execute(_PUT, values)


def _read(rows: Sequence[DictRow]) -> Sequence[Tool]:
    return [tool_from(row["server"], row) for row in rows]


_GET: Final[LiteralString] = """
    SELECT content_key, vector FROM portico.embedding
     WHERE space_id = %(space)s AND model = %(model)s AND content_key = ANY(%(keys)s)
"""
_VECTORS_PUT: Final[LiteralString] = """
    INSERT INTO portico.embedding (space_id, model, content_key, vector)
    SELECT %(space)s, %(model)s, content_key, vector
      FROM unnest(%(keys)s::text[], %(vectors)s::bytea[]) AS given (content_key, vector)
     ORDER BY content_key
    ON CONFLICT DO NOTHING
"""
_VECTORS_AT_ONCE: Final = 2_000
"""Rows that are taken in without a pause for others."""
_NUMBER: Final = np.dtype("<f4")


class PostgresVectors:
    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def get(
        self, caller: Principal, model: str, keys: Sequence[str]
    ) -> Mapping[str, NDArray[np.float32]]:
        asked = {"space": caller.space.value, "model": model, "keys": [*keys]}
        found: dict[str, NDArray[np.float32]] = {}
        async with (
            self._transactions.begin(caller) as connection,
            connection.cursor(name="vectors", binary=True) as cursor,
        ):
            await cursor.execute(_GET, asked)
            while rows := await cursor.fetchmany(_VECTORS_AT_ONCE):
                found |= {row["content_key"]: _vector(row["vector"]) for row in rows}
        return found

    async def put(
        self, caller: Principal, model: str, vectors: Mapping[str, NDArray[np.float32]]
    ) -> None:
        values = {
            "space": caller.space.value,
            "model": model,
            "keys": [*vectors],
            "vectors": [vector.astype(_NUMBER).tobytes() for vector in vectors.values()],
        }
        async with self._transactions.begin(caller) as connection:
            await connection.execute(_VECTORS_PUT, values)


def _vector(kept: bytes) -> NDArray[np.float32]:
    return np.frombuffer(kept, _NUMBER).astype(np.float32, copy=False)
