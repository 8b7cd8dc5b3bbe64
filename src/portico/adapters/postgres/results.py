"""Results that are too long for a model, kept in PostgreSQL for whoever asked for them, sealed."""

import json
from datetime import datetime
from typing import Final, LiteralString

from portico.adapters.postgres.transaction import Transactions
from portico.gateway.core.call import KeptResult, ResultId, sealed_with
from portico.gateway.core.errors import ResultNotFound
from portico.guard.core.context import context_of
from portico.guard.ports import Vault
from portico.kernel.label import Label, Level
from portico.kernel.principal import Principal

_ENTER: Final[LiteralString] = """
    SELECT set_config('portico.level', '3', true),
           set_config('portico.compartments', array_to_string(%(compartments)s::text[] || coalesce(
               (SELECT t.compartments FROM portico.task_context t
                 WHERE t.space_id = %(space)s AND t.context_id = %(context)s), '{}'), ','), true)
"""
_KEEP: Final[LiteralString] = """
    INSERT INTO portico.tool_result (
        space_id, result_id, principal_id, sealed, expires_at, level, compartments, untrusted)
    SELECT %(space)s, %(result)s, %(principal)s, %(sealed)s, %(until)s,
           greatest(given.level, t.level),
           ARRAY(SELECT unnest(given.compartments) UNION SELECT unnest(t.compartments) ORDER BY 1),
           %(untrusted)s OR coalesce(t.untrusted, false)
      FROM (VALUES (%(level)s::smallint, %(compartments)s::text[])) AS given (level, compartments)
      LEFT JOIN portico.task_context t
        ON t.space_id = %(space)s AND t.context_id = %(context)s
    RETURNING result_id
"""
_GET: Final[LiteralString] = """
    SELECT sealed, level, compartments, untrusted FROM portico.tool_result
     WHERE space_id = %(space)s AND result_id = %(result)s AND principal_id = %(principal)s
       AND expires_at > %(now)s
"""


class PostgresResults:
    def __init__(self, transactions: Transactions, vault: Vault) -> None:
        self._transactions = transactions
        self._vault = vault

    async def keep(
        self, caller: Principal, result: ResultId, kept: KeptResult, until: datetime
    ) -> None:
        content = json.dumps(kept.content).encode()
        values = {
            **_which(caller, result),
            "sealed": self._vault.seal(content, sealed_with(caller.space, caller.id, result)),
            "until": until,
            "context": context_of(caller).value,
            "level": int(kept.label.level),
            "compartments": sorted(kept.label.compartments),
            "untrusted": kept.untrusted,
        }
        await self._transactions.stroke(caller, (_ENTER, values), (_KEEP, values))

    async def get(self, caller: Principal, result: ResultId, now: datetime) -> KeptResult:
        asked = {**_which(caller, result), "now": now}
        async with self._transactions.begin(caller) as connection:
            row = await (await connection.execute(_GET, asked)).fetchone()
        content = None if row is None else self._opened(caller, result, row["sealed"])
        if row is None or content is None:
            raise ResultNotFound(str(result))
        return KeptResult(
            content=json.loads(content),
            label=Label(Level(row["level"]), frozenset(row["compartments"])),
            untrusted=row["untrusted"],
        )

    def _opened(self, caller: Principal, result: ResultId, sealed: bytes) -> bytes | None:
        """None if it was sealed for somebody else, or by a key that is gone."""
        return self._vault.unseal(bytes(sealed), sealed_with(caller.space, caller.id, result))


def _which(caller: Principal, result: ResultId) -> dict[str, object]:
    return {
        "space": caller.space.value,
        "result": result.value,
        "principal": caller.id.value,
    }
