"""Counters of what could be foreseen, kept in PostgreSQL."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, Final, LiteralString

from portico.adapters.postgres.transaction import Transactions
from portico.gateway.core.servers import ServerId
from portico.kernel.label import Label, Level
from portico.kernel.principal import Principal
from portico.learning.core.learnt_count import Count, CountKey

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
_KNOWN: Final[LiteralString] = f"""
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


class PostgresLearntCounts:
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
                _counted(row) for row in await (await connection.execute(_KNOWN, asked)).fetchall()
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
