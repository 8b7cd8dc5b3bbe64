"""The edges of the learnt graph, kept in PostgreSQL."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, LiteralString
from uuid import UUID

from psycopg.rows import tuple_row

from portico.adapters.postgres.transaction import Transactions
from portico.gateway.core.inferred_schema import ToolPlace
from portico.gateway.core.servers import ServerId
from portico.kernel.label import Label
from portico.kernel.principal import Principal
from portico.learning.core.graph.edge import EdgeKind, KnownEdges, Sightings, ToolEdge

# In the order of their names, so that two who write the same ones wait for each other in turn.
_LEARN: Final[LiteralString] = """
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
_KNOWN: Final[LiteralString] = """
    SELECT earlier_id::text || earlier_tool, later_id::text || later_tool, kind, times, tasks,
           last_seen_at
      FROM portico.tool_edge WHERE space_id = %(space)s
"""
_SOME: Final[LiteralString] = f"{_KNOWN} LIMIT %(most)s"
_FIRST: Final[LiteralString] = f"{_KNOWN} ORDER BY tasks DESC, last_seen_at DESC LIMIT %(most)s"
_ID: Final = 36
_TRIM: Final[LiteralString] = """
    DELETE FROM portico.tool_edge WHERE ctid IN (
        SELECT ctid FROM portico.tool_edge
         WHERE space_id = %(space)s AND level = %(level)s
           AND compartments = %(compartments)s::text[]
         ORDER BY last_seen_at DESC OFFSET %(most)s
    )
"""

Row = tuple[Any, ...]


class PostgresEdgeBook:
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
            await connection.execute(_LEARN, values)

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
        return KnownEdges(_places(numbers), edges)

    async def trim(self, caller: Principal, label: Label, most: int) -> None:
        async with self._transactions.begin(caller) as connection:
            await connection.execute(_TRIM, {**_of(caller, label), "most": most})


_KINDS: Final = {kind.value: kind for kind in EdgeKind}


class _Numbers(dict[str, int]):
    """Of tools, in the order in which they come."""

    def __missing__(self, tool: str) -> int:
        number = self[tool] = len(self)
        return number


def _places(texts: Collection[str]) -> Sequence[ToolPlace]:
    """Each server's id is read once."""
    servers = {written: ServerId(UUID(written)) for written in {text[:_ID] for text in texts}}
    return [ToolPlace(servers[text[:_ID]], text[_ID:]) for text in texts]


def _of(caller: Principal, label: Label) -> dict[str, object]:
    return {
        "space": caller.space.value,
        "level": int(label.level),
        "compartments": sorted(label.compartments),
    }
