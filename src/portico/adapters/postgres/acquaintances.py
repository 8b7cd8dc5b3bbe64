"""What principals have found and used, kept in PostgreSQL."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final, LiteralString

from portico.adapters.postgres.plain_text import storable
from portico.adapters.postgres.transaction import Transactions
from portico.gateway.core.catalog_snapshot import ToolRef
from portico.gateway.core.tool_usage import HALVED_AFTER
from portico.kernel.principal import Principal

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


class PostgresAcquaintances:
    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def found(
        self, caller: Principal, refs: Sequence[ToolRef], query: str, at: datetime
    ) -> None:
        values = {**_refs(caller, sorted({*refs})), "query": storable(query), "at": at}
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
