"""What is learned from results, in PostgreSQL: counters, edges, tools in use."""

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, LiteralString
from uuid import UUID

from psycopg.rows import tuple_row

from portico.adapters.postgres.mapping import strip_nul
from portico.adapters.postgres.transaction import Connection, Transactions
from portico.gateway.core.catalog_snapshot import ToolRef
from portico.gateway.core.inferred_schema import (
    ObservedSchema,
    Passed,
    ToolPlace,
    shape_from,
    shape_json,
)
from portico.gateway.core.servers import ServerId
from portico.gateway.core.tool_usage import HALVED_AFTER
from portico.kernel.label import Label, Level
from portico.kernel.principal import Principal
from portico.learning.core.observation import Count, CountKey
from portico.learning.core.tool_graph import EdgeKind, KnownEdges, Sightings, ToolEdge

_WHERE: Final[LiteralString] = "WHERE space_id = %(space)s AND principal_id = %(principal)s"
# In the order of their names, so that two who write the same ones wait for each other in turn.
_FOUND: Final[LiteralString] = """
    INSERT INTO portico.tool_usage (space_id, principal_id, server, tool, found_for, found_at)
    SELECT %(space)s, %(principal)s, server, tool, %(query)s, %(at)s
      FROM unnest(%(servers)s::text[], %(tools)s::text[]) AS given (server, tool)
     ORDER BY server, tool
    ON CONFLICT (space_id, principal_id, server, tool)
        DO UPDATE SET found_for = excluded.found_for, found_at = excluded.found_at
"""
_USED: Final[LiteralString] = """
    INSERT INTO portico.tool_usage AS a
           (space_id, principal_id, server, tool, calls, called_at)
    SELECT %(space)s, %(principal)s, server, tool, times, %(at)s
      FROM unnest(%(servers)s::text[], %(tools)s::text[], %(times)s::float8[])
           AS given (server, tool, times)
     ORDER BY server, tool
    ON CONFLICT (space_id, principal_id, server, tool) DO UPDATE
       SET calls = excluded.calls + a.calls * power(0.5::float8, extract(epoch FROM
               greatest(excluded.called_at - coalesce(a.called_at, excluded.called_at),
                        interval '0')) / %(halved)s),
           called_at = greatest(excluded.called_at, a.called_at)
"""
_KNOWN: Final[LiteralString] = f"""
    SELECT server, tool, found_for FROM portico.tool_usage {_WHERE}
     ORDER BY greatest(found_at, called_at) DESC, server COLLATE "C", tool COLLATE "C"
     LIMIT %(limit)s
"""
# How much each counts now, but for a factor that is the same for all, as a logarithm.
_MOST_USED: Final[LiteralString] = f"""
    SELECT server, tool FROM portico.tool_usage {_WHERE} AND calls > 0
     ORDER BY ln(calls) + extract(epoch FROM called_at) * ln(2.0) / %(halved)s DESC,
              server COLLATE "C", tool COLLATE "C"
     LIMIT %(limit)s
"""


class PostgresToolUsageStore:
    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def found(
        self, caller: Principal, refs: Sequence[ToolRef], query: str, at: datetime
    ) -> None:
        values = {**_refs(caller, sorted({*refs})), "query": strip_nul(query), "at": at}
        async with self._transactions.begin(caller) as connection:
            await connection.execute(_FOUND, values)

    async def used(self, caller: Principal, refs: Mapping[ToolRef, int], at: datetime) -> None:
        values = {
            **_refs(caller, [*refs]),
            "times": [float(times) for times in refs.values()],
            "at": at,
            "halved": HALVED_AFTER.total_seconds(),
        }
        async with self._transactions.begin(caller) as connection:
            await connection.execute(_USED, values)

    async def known(self, caller: Principal, limit: int) -> Sequence[tuple[ToolRef, str]]:
        asked = {**_who(caller), "limit": limit}
        async with self._transactions.begin(caller) as connection:
            rows = await connection.execute(_KNOWN, asked)
            return [
                (ToolRef(r["server"], r["tool"]), r["found_for"]) for r in await rows.fetchall()
            ]

    async def most_used(self, caller: Principal, limit: int) -> Sequence[ToolRef]:
        asked = {**_who(caller), "limit": limit, "halved": HALVED_AFTER.total_seconds()}
        async with self._transactions.begin(caller) as connection:
            rows = await connection.execute(_MOST_USED, asked)
            return [ToolRef(row["server"], row["tool"]) for row in await rows.fetchall()]


def _who(caller: Principal) -> dict[str, object]:
    return {"space": caller.space.value, "principal": caller.id.value}


def _refs(caller: Principal, refs: Sequence[ToolRef]) -> dict[str, object]:
    return {
        **_who(caller),
        "servers": [ref.server for ref in refs],
        "tools": [ref.name for ref in refs],
    }


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
_LEARNT_KNOWN: Final[LiteralString] = """
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

    async def learn(self, caller: Principal, seen: Mapping[ToolPlace, ObservedSchema]) -> None:
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
    ) -> Mapping[ToolPlace, ObservedSchema]:
        asked = {**_places(caller, [*wanted]), "pins": [*wanted.values()]}
        async with self._transactions.begin(caller) as connection:
            return await _rows(connection, _LEARNT_KNOWN, asked)


class PostgresObservedFlows:
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
) -> Mapping[ToolPlace, ObservedSchema]:
    rows = await connection.execute(query, asked)
    return {
        _place(row["server_id"], row["tool"]): ObservedSchema(
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


# In the order of their names, so that two who write the same ones wait for each other in turn.
# The servers of a key come as one text, since arrays of arrays must all be of one length.
_LEARN: Final[LiteralString] = """
    INSERT INTO portico.prediction_count AS c (space_id, level, compartments, kind, key_hash, key,
                                           servers, tried, hit, last_seen_at)
    SELECT %(space)s, %(level)s, %(compartments)s::text[], given.kind, given.key_hash, given.key,
           string_to_array(given.servers, ',')::uuid[], given.tried, given.hit, given.seen_at
      FROM unnest(%(kinds)s::text[], %(hashes)s::bytea[], %(keys)s::text[], %(servers)s::text[],
                  %(tried)s::bigint[], %(hit)s::bigint[], %(last_seen)s::timestamptz[])
           AS given (kind, key_hash, key, servers, tried, hit, seen_at)
     WHERE string_to_array(given.servers, ',')::uuid[] <@
           ARRAY(SELECT s.server_id FROM portico.server s WHERE s.space_id = %(space)s)
     ORDER BY given.kind COLLATE "C", given.key_hash
    ON CONFLICT (space_id, level, compartments, kind, key_hash)
        DO UPDATE SET tried = c.tried + excluded.tried, hit = c.hit + excluded.hit,
                      last_seen_at = greatest(c.last_seen_at, excluded.last_seen_at)
"""
_LABELS: Final[LiteralString] = """
    SELECT DISTINCT level, compartments FROM portico.prediction_count WHERE space_id = %(space)s
     ORDER BY level, compartments
"""
_OF_LABEL: Final[LiteralString] = """
    space_id = %(space)s AND level = %(level)s AND compartments = %(compartments)s::text[]
"""
_RANKED: Final[LiteralString] = f"""
    SELECT kind, key_hash, key, servers, tried, hit, last_seen_at,
           row_number() OVER (PARTITION BY kind ORDER BY last_seen_at DESC, key_hash) AS place
      FROM portico.prediction_count WHERE {_OF_LABEL}
"""
_LEARNT_COUNTS_KNOWN: Final[LiteralString] = f"""
    SELECT kind, key, servers, tried, hit, last_seen_at FROM ({_RANKED}) AS ranked
     WHERE place <= %(most)s AND (%(kinds)s::text[] = '{{}}' OR kind = ANY (%(kinds)s::text[]))
     ORDER BY last_seen_at, kind COLLATE "C", key_hash DESC
"""
_TRIM: Final[LiteralString] = f"""
    DELETE FROM portico.prediction_count AS c USING ({_RANKED}) AS ranked
     WHERE c.space_id = %(space)s AND c.level = %(level)s
       AND c.compartments = %(compartments)s::text[]
       AND c.kind = ranked.kind AND c.key_hash = ranked.key_hash AND ranked.place > %(most)s
"""


class PostgresLearnedCounts:
    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def learn(
        self, caller: Principal, label: Label, counted: Mapping[CountKey, Count]
    ) -> None:
        kept = {key: count for key, count in counted.items() if key.fits}
        if not kept or not caller.clearance.covers(label):
            return
        values = {
            **_of(caller, label),
            "kinds": [key.kind for key in kept],
            "hashes": [hashlib.sha256(key.key.encode()).digest() for key in kept],
            "keys": [key.key for key in kept],
            "servers": [_joined(key.servers) for key in kept],
            "tried": [count.tried for count in kept.values()],
            "hit": [count.hit for count in kept.values()],
            "last_seen": [count.last_seen for count in kept.values()],
        }
        async with self._transactions.begin(caller) as connection:
            await connection.execute(_LEARN, values)

    async def labels(self, caller: Principal) -> Sequence[Label]:
        async with self._transactions.begin(caller) as connection:
            rows = await connection.execute(_LABELS, {"space": caller.space.value})
            return [
                Label(Level(row["level"]), frozenset(row["compartments"]))
                for row in await rows.fetchall()
            ]

    async def known(
        self, caller: Principal, label: Label, most: int, kinds: Sequence[str] = ()
    ) -> Sequence[tuple[CountKey, Count]]:
        asked = {**_of(caller, label), "most": most, "kinds": [*kinds]}
        async with self._transactions.begin(caller) as connection:
            return [
                _counted(row)
                for row in await (await connection.execute(_LEARNT_COUNTS_KNOWN, asked)).fetchall()
            ]

    async def trim(self, caller: Principal, label: Label, most: int) -> None:
        async with self._transactions.begin(caller) as connection:
            await connection.execute(_TRIM, {**_of(caller, label), "most": most})


def _of(caller: Principal, label: Label) -> dict[str, object]:
    return {
        "space": caller.space.value,
        "level": int(label.level),
        "compartments": sorted(label.compartments),
    }


def _joined(servers: frozenset[ServerId]) -> str:
    return ",".join(sorted(str(server.value) for server in servers))


def _counted(row: Mapping[str, Any]) -> tuple[CountKey, Count]:
    servers = frozenset(ServerId(server) for server in row["servers"])
    key = CountKey(row["kind"], row["key"], servers)
    return key, Count(row["tried"], row["hit"], row["last_seen_at"])


# In the order of their names, so that two who write the same ones wait for each other in turn.
_TOOL_EDGES_LEARN: Final[LiteralString] = """
    INSERT INTO portico.tool_edge AS e (space_id, level, compartments, earlier_id, earlier_tool,
                                        later_id, later_tool, kind, times, tasks, last_seen_at)
    SELECT %(space)s, %(level)s, %(compartments)s::text[], given.*
      FROM unnest(%(earlier)s::uuid[], %(earlier_tools)s::text[], %(later)s::uuid[],
                  %(later_tools)s::text[], %(kinds)s::text[], %(times)s::bigint[],
                  %(tasks)s::bigint[], %(last_seen)s::timestamptz[])
           AS given (earlier_id, earlier_tool, later_id, later_tool, kind, times, tasks, seen_at)
     WHERE EXISTS (SELECT FROM portico.server s
                    WHERE s.space_id = %(space)s AND s.server_id = given.earlier_id)
       AND EXISTS (SELECT FROM portico.server s
                    WHERE s.space_id = %(space)s AND s.server_id = given.later_id)
     ORDER BY earlier_id, earlier_tool, later_id, later_tool, kind
    ON CONFLICT (space_id, earlier_id, earlier_tool, later_id, later_tool, kind, level,
                 compartments)
        DO UPDATE SET times = e.times + excluded.times, tasks = e.tasks + excluded.tasks,
                      last_seen_at = greatest(e.last_seen_at, excluded.last_seen_at)
"""
# The wall lets through what the caller's clearance covers. A tool comes as one text, which is read
# faster than its parts: an id has always as many letters.
_TOOL_EDGES_KNOWN: Final[LiteralString] = """
    SELECT earlier_id::text || earlier_tool, later_id::text || later_tool, kind, times, tasks,
           last_seen_at
      FROM portico.tool_edge WHERE space_id = %(space)s
"""
_SOME: Final[LiteralString] = f"{_TOOL_EDGES_KNOWN} LIMIT %(most)s"
_FIRST: Final[LiteralString] = (
    f"{_TOOL_EDGES_KNOWN} ORDER BY tasks DESC, last_seen_at DESC LIMIT %(most)s"
)
_TOOL_EDGES_TRIM: Final[LiteralString] = """
    DELETE FROM portico.tool_edge WHERE ctid IN (
        SELECT ctid FROM portico.tool_edge
         WHERE space_id = %(space)s AND level = %(level)s
           AND compartments = %(compartments)s::text[]
         ORDER BY last_seen_at DESC OFFSET %(most)s
    )
"""

Row = tuple[Any, ...]


class PostgresEdgeStore:
    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def learn(
        self, caller: Principal, label: Label, seen: Mapping[ToolEdge, Sightings]
    ) -> None:
        if not seen or not caller.clearance.covers(label):
            return
        values = {
            **_of(caller, label),
            "earlier": [edge.earlier.server.value for edge in seen],
            "earlier_tools": [edge.earlier.tool for edge in seen],
            "later": [edge.later.server.value for edge in seen],
            "later_tools": [edge.later.tool for edge in seen],
            "kinds": [edge.kind.value for edge in seen],
            "times": [each.times for each in seen.values()],
            "tasks": [each.tasks for each in seen.values()],
            "last_seen": [each.last_seen for each in seen.values()],
        }
        async with self._transactions.begin(caller) as connection:
            await connection.execute(_TOOL_EDGES_LEARN, values)

    async def known(self, caller: Principal, most: int) -> KnownEdges:
        async with (
            self._transactions.begin(caller) as connection,
            connection.cursor(row_factory=tuple_row, binary=True) as cursor,
        ):
            # To put them in order takes longer than to read them, and is seldom needed.
            await cursor.execute(_SOME, {"space": caller.space.value, "most": most + 1})
            rows: list[Row] = await cursor.fetchall()
            if len(rows) > most:
                await cursor.execute(_FIRST, {"space": caller.space.value, "most": most})
                rows = await cursor.fetchall()
        numbers = _Numbers()
        edges = [
            (numbers[row[0]], numbers[row[1]], _KINDS[row[2]], Sightings._make(row[3:]))
            for row in rows
        ]
        return KnownEdges(_edge_positions(numbers), edges)

    async def trim(self, caller: Principal, label: Label, most: int) -> None:
        async with self._transactions.begin(caller) as connection:
            await connection.execute(_TOOL_EDGES_TRIM, {**_of(caller, label), "most": most})


_KINDS: Final = {kind.value: kind for kind in EdgeKind}


class _Numbers(dict[str, int]):
    """Of tools, in the order in which they come."""

    def __missing__(self, tool: str) -> int:
        number = self[tool] = len(self)
        return number


def _edge_positions(texts: Collection[str]) -> Sequence[ToolPlace]:
    """Each server's id is read once."""
    servers = {written: ServerId(UUID(written)) for written in {text[:_ID] for text in texts}}
    return [ToolPlace(servers[text[:_ID]], text[_ID:]) for text in texts]
