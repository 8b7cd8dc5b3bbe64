"""What is learnt from results, kept in PostgreSQL."""

import json
from collections.abc import Mapping, Sequence
from typing import Final, LiteralString
from uuid import UUID

from psycopg.rows import tuple_row

from portico.adapters.postgres.transaction import Connection, Transactions
from portico.gateway.core.inferred_schema import (
    Passed,
    SeenShape,
    ToolPlace,
    shape_from,
    shape_json,
)
from portico.gateway.core.servers import ServerId
from portico.kernel.principal import Principal

_GIVEN: Final[LiteralString] = "unnest(%(servers)s::uuid[], %(tools)s::text[])"
# Each has a row before it is held, so that of two who see it for the first time one waits. In the
# order of their names, so that two who write the same ones wait for each other in turn.
_BEGIN: Final[LiteralString] = f"""
    INSERT INTO portico.inferred_schema (space_id, server_id, tool, pin, seen, shape)
    SELECT %(space)s, s.server_id, given.tool, '', 0, 'null'
      FROM {_GIVEN} AS given (server_id, tool)
      JOIN portico.server s ON s.space_id = %(space)s AND s.server_id = given.server_id
     ORDER BY s.server_id, given.tool
    ON CONFLICT DO NOTHING
"""
_HOLD: Final[LiteralString] = f"""
    SELECT t.server_id, t.tool, t.pin, t.seen, t.shape
      FROM portico.inferred_schema t
      JOIN {_GIVEN} AS given (server_id, tool) USING (server_id, tool)
     WHERE t.space_id = %(space)s
     ORDER BY t.server_id, t.tool
       FOR UPDATE OF t
"""
_PUT: Final[LiteralString] = """
    UPDATE portico.inferred_schema AS t SET pin = given.pin, seen = given.seen, shape = given.shape
      FROM unnest(%(servers)s::uuid[], %(tools)s::text[], %(pins)s::text[], %(seen)s::bigint[],
                  %(shapes)s::json[]) AS given (server_id, tool, pin, seen, shape)
     WHERE t.space_id = %(space)s AND t.server_id = given.server_id AND t.tool = given.tool
"""
_KNOWN: Final[LiteralString] = """
    SELECT t.server_id, t.tool, t.pin, t.seen, t.shape
      FROM portico.inferred_schema t
      JOIN unnest(%(servers)s::uuid[], %(tools)s::text[], %(pins)s::text[])
           AS given (server_id, tool, pin) USING (server_id, tool, pin)
     WHERE t.space_id = %(space)s
"""
_PASSED: Final[LiteralString] = """
    INSERT INTO portico.tool_flow AS f (space_id, producer_id, producer_tool, path, consumer_id,
                                        consumer_tool, parameter, times)
    SELECT %(space)s, given.*
      FROM unnest(%(producers)s::uuid[], %(producer_tools)s::text[], %(paths)s::text[],
                  %(consumers)s::uuid[], %(consumer_tools)s::text[], %(parameters)s::text[],
                  %(times)s::bigint[])
           AS given (producer_id, producer_tool, path, consumer_id, consumer_tool, parameter, times)
     WHERE EXISTS (SELECT FROM portico.server s
                    WHERE s.space_id = %(space)s AND s.server_id = given.producer_id)
       AND EXISTS (SELECT FROM portico.server s
                    WHERE s.space_id = %(space)s AND s.server_id = given.consumer_id)
     ORDER BY consumer_id, consumer_tool, parameter, producer_id, producer_tool, path
    ON CONFLICT (space_id, consumer_id, consumer_tool, parameter, producer_id, producer_tool, path)
        DO UPDATE SET times = f.times + excluded.times
"""
# A tool comes as one text, which is read faster than its parts: an id has always as many letters.
_COUNTED: Final[LiteralString] = """
    SELECT producer_id::text || producer_tool, path, consumer_id::text || consumer_tool, parameter,
           times
      FROM portico.tool_flow WHERE space_id = %(space)s
     ORDER BY times DESC, consumer_id, consumer_tool COLLATE "C", parameter COLLATE "C",
              producer_id, producer_tool COLLATE "C", path COLLATE "C"
     LIMIT %(most)s
"""
_ID: Final = 36
"""Letters of an id."""


class PostgresShapes:
    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def learn(self, caller: Principal, seen: Mapping[ToolPlace, SeenShape]) -> None:
        places = _places(caller, [*seen])
        async with self._transactions.begin(caller) as connection:
            await connection.execute(_BEGIN, places)
            before = await _rows(connection, _HOLD, places)
            now = {place: known.and_then(seen[place]) for place, known in before.items()}
            values = {
                **_places(caller, [*now]),
                "pins": [each.pin for each in now.values()],
                "seen": [each.times for each in now.values()],
                "shapes": [json.dumps(shape_json(each.shape)) for each in now.values()],
            }
            await connection.execute(_PUT, values)

    async def known(
        self, caller: Principal, wanted: Mapping[ToolPlace, str]
    ) -> Mapping[ToolPlace, SeenShape]:
        asked = {**_places(caller, [*wanted]), "pins": [*wanted.values()]}
        async with self._transactions.begin(caller) as connection:
            return await _rows(connection, _KNOWN, asked)


class PostgresSeenFlows:
    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def learn(self, caller: Principal, passed: Mapping[Passed, int]) -> None:
        values = {
            "space": caller.space.value,
            "producers": [each.producer.server.value for each in passed],
            "producer_tools": [each.producer.tool for each in passed],
            "paths": [each.path for each in passed],
            "consumers": [each.consumer.server.value for each in passed],
            "consumer_tools": [each.consumer.tool for each in passed],
            "parameters": [each.parameter for each in passed],
            "times": [*passed.values()],
        }
        async with self._transactions.begin(caller) as connection:
            await connection.execute(_PASSED, values)

    async def counted(self, caller: Principal, most: int) -> Mapping[Passed, int]:
        asked = {"space": caller.space.value, "most": most}
        async with (
            self._transactions.begin(caller) as connection,
            connection.cursor(row_factory=tuple_row, binary=True) as cursor,
        ):
            await cursor.execute(_COUNTED, asked)
            rows = await cursor.fetchall()
        places = Places()
        return {
            Passed(places[producer], path, places[consumer], parameter): times
            for producer, path, consumer, parameter, times in rows
        }


async def _rows(
    connection: Connection, query: LiteralString, asked: Mapping[str, object]
) -> Mapping[ToolPlace, SeenShape]:
    rows = await connection.execute(query, asked)
    return {
        _place(row["server_id"], row["tool"]): SeenShape(
            row["pin"], row["seen"], shape_from(row["shape"])
        )
        for row in await rows.fetchall()
    }


class Places(dict[str, ToolPlace]):
    """Each tool once, by its server's id and its name as one text."""

    def __missing__(self, text: str) -> ToolPlace:
        place = self[text] = _place(UUID(text[:_ID]), text[_ID:])
        return place


def _place(server: UUID, tool: str) -> ToolPlace:
    return ToolPlace(ServerId(server), tool)


def _places(caller: Principal, places: Sequence[ToolPlace]) -> dict[str, object]:
    return {
        "space": caller.space.value,
        "servers": [place.server.value for place in places],
        "tools": [place.tool for place in places],
    }
