"""Results that are too long for a model, kept in PostgreSQL for whoever asked for them."""

from datetime import datetime
from typing import Final, LiteralString

from psycopg.types.json import Json

from portico.adapters.postgres.transaction import Transactions
from portico.gateway.core.call import ResultId
from portico.gateway.core.errors import ResultNotFound
from portico.kernel.json import JsonValue
from portico.kernel.principal import Principal

_KEEP: Final[LiteralString] = """
    INSERT INTO portico.tool_result (space_id, result_id, principal_id, content, expires_at)
    VALUES (%(space)s, %(result)s, %(principal)s, %(content)s, %(until)s)
"""
_GET: Final[LiteralString] = """
    SELECT content FROM portico.tool_result
     WHERE space_id = %(space)s AND result_id = %(result)s AND principal_id = %(principal)s
       AND expires_at > %(now)s
"""


class PostgresResults:
    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def keep(
        self, caller: Principal, result: ResultId, content: JsonValue, until: datetime
    ) -> None:
        values = {**_which(caller, result), "content": Json(content), "until": until}
        async with self._transactions.begin(caller) as connection:
            await connection.execute(_KEEP, values)

    async def get(self, caller: Principal, result: ResultId, now: datetime) -> JsonValue:
        asked = {**_which(caller, result), "now": now}
        async with self._transactions.begin(caller) as connection:
            row = await (await connection.execute(_GET, asked)).fetchone()
        if row is None:
            raise ResultNotFound(str(result))
        content: JsonValue = row["content"]
        return content


def _which(caller: Principal, result: ResultId) -> dict[str, object]:
    return {
        "space": caller.space.value,
        "result": result.value,
        "principal": caller.id.value,
    }
