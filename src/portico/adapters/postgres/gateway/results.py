"""Results that are too long for a model, kept encrypted in PostgreSQL."""

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, LiteralString

import psycopg

from portico.adapters.postgres.group_commit import GroupCommit
from portico.adapters.postgres.transaction import Transactions
from portico.gateway.core.calls import ResultId, StoredResult, sealed_with
from portico.gateway.core.errors import ResultNotFound
from portico.guard.core.contexts import context_of
from portico.guard.ports import Vault
from portico.kernel.label import Label, Level
from portico.kernel.principal import Principal

_ENTER: Final[LiteralString] = """
    SELECT set_config('portico.level', '3', true),
           set_config('portico.compartments', coalesce(string_agg(DISTINCT its, ','), ''), true)
      FROM (SELECT unnest(string_to_array(given, ',')) AS its
              FROM unnest(%(compartments)s::text[]) AS given
             UNION
            SELECT unnest(t.compartments) FROM portico.taint_context t
             WHERE t.space_id = %(space)s AND t.context_id = %(context)s) AS every
"""
_KEEP: Final[LiteralString] = """
    INSERT INTO portico.tool_result (
        space_id, result_id, principal_id, sealed, expires_at, level, compartments, untrusted)
    SELECT %(space)s, given.result_id, %(principal)s, given.sealed, given.expires_at,
           greatest(given.level, t.level),
           ARRAY(SELECT unnest(string_to_array(given.compartments, ','))
                  UNION SELECT unnest(t.compartments) ORDER BY 1),
           given.untrusted OR coalesce(t.untrusted, false)
      FROM unnest(%(results)s::uuid[], %(sealed)s::bytea[], %(until)s::timestamptz[],
                  %(levels)s::smallint[], %(compartments)s::text[], %(untrusted)s::boolean[])
           AS given (result_id, sealed, expires_at, level, compartments, untrusted)
      LEFT JOIN portico.taint_context t
        ON t.space_id = %(space)s AND t.context_id = %(context)s
    ON CONFLICT (space_id, result_id) DO NOTHING
    RETURNING result_id
"""
_OWN: Final[LiteralString] = """
    SELECT result_id FROM portico.tool_result
     WHERE space_id = %(space)s AND result_id = ANY(%(results)s) AND principal_id = %(principal)s
"""
_GET: Final[LiteralString] = """
    SELECT sealed, level, compartments, untrusted FROM portico.tool_result
     WHERE space_id = %(space)s AND result_id = %(result)s AND principal_id = %(principal)s
       AND expires_at > %(now)s
"""


@dataclass(frozen=True, slots=True)
class _Sealed:
    caller: Principal
    result: ResultId
    sealed: bytes
    kept: StoredResult
    until: datetime


class PostgresResults:
    def __init__(self, transactions: Transactions, vault: Vault) -> None:
        self._transactions = transactions
        self._vault = vault
        self._convoy: GroupCommit[_Sealed] = GroupCommit(self._write)

    async def keep(
        self, caller: Principal, result: ResultId, kept: StoredResult, until: datetime
    ) -> None:
        content = json.dumps(kept.content).encode()
        sealed = self._vault.encrypt(content, sealed_with(caller.space, caller.id, result))
        await self._convoy.write(_Sealed(caller, result, sealed, kept, until))

    async def _write(self, together: Sequence["_Sealed"]) -> None:
        """Those of one caller in one go: a wide plan ends many calls at the same moment."""
        lots: defaultdict[object, list[_Sealed]] = defaultdict(list)
        for each in together:
            caller = each.caller
            lots[caller.space, caller.id, context_of(caller)].append(each)
        for own in lots.values():
            await self._written(own[0].caller, own)

    async def _written(self, caller: Principal, own: Sequence["_Sealed"]) -> None:
        labels = [each.kept.label for each in own]
        values = {
            "space": caller.space.value,
            "principal": caller.id.value,
            "context": context_of(caller).value,
            "results": [each.result.value for each in own],
            "sealed": [each.sealed for each in own],
            "until": [each.until for each in own],
            "levels": [int(label.level) for label in labels],
            "compartments": [",".join(sorted(label.compartments)) for label in labels],
            "untrusted": [each.kept.untrusted for each in own],
        }
        _, _, there = await self._transactions.stroke(
            caller, (_ENTER, values), (_KEEP, values), (_OWN, values)
        )
        if len(there) < len({each.result for each in own}):
            raise psycopg.errors.UniqueViolation("somebody else has a result of this name")

    async def get(self, caller: Principal, result: ResultId, now: datetime) -> StoredResult:
        asked = {**_which(caller, result), "now": now}
        async with self._transactions.begin(caller) as connection:
            row = await (await connection.execute(_GET, asked)).fetchone()
        content = None if row is None else self._opened(caller, result, row["sealed"])
        if row is None or content is None:
            raise ResultNotFound(str(result))
        return StoredResult(
            content=json.loads(content),
            label=Label(Level(row["level"]), frozenset(row["compartments"])),
            untrusted=row["untrusted"],
        )

    def _opened(self, caller: Principal, result: ResultId, sealed: bytes) -> bytes | None:
        """None if it was sealed for somebody else, or by a key that is gone."""
        return self._vault.decrypt(bytes(sealed), sealed_with(caller.space, caller.id, result))


def _which(caller: Principal, result: ResultId) -> dict[str, object]:
    return {
        "space": caller.space.value,
        "result": result.value,
        "principal": caller.id.value,
    }
