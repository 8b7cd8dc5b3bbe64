"""Idempotency records in PostgreSQL, in the same transaction as the write itself."""

from collections.abc import Awaitable, Callable
from typing import Final, LiteralString

from psycopg.types.json import Json

from portico.adapters.postgres.transaction import Connection, Transactions
from portico.engine.core.errors import KeyReused
from portico.engine.core.idempotency import Claim, StoredResponse, WriteOutcome
from portico.kernel.principal import Principal

_CLAIM: Final[LiteralString] = """
    INSERT INTO idempotency_record (space_id, principal_id, operation, key, fingerprint)
    VALUES (%(space)s, %(principal)s, %(operation)s, %(key)s, %(fingerprint)s)
    ON CONFLICT DO NOTHING
"""
_WHERE: Final[LiteralString] = """
     WHERE space_id = %(space)s AND principal_id = %(principal)s
       AND operation = %(operation)s AND key = %(key)s
"""
_READ: Final[LiteralString] = f"SELECT fingerprint, body FROM idempotency_record {_WHERE}"
_SETTLE: Final[LiteralString] = f"UPDATE idempotency_record SET body = %(body)s {_WHERE}"


class PostgresReceipts:
    """A second claim waits on the first one's unsettled row, then reads what it settled."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def once(
        self, caller: Principal, claim: Claim, action: Callable[[], Awaitable[StoredResponse]]
    ) -> WriteOutcome:
        asked = {
            "space": caller.space.value,
            "principal": caller.id.value,
            "operation": claim.operation,
            "key": claim.key,
            "fingerprint": claim.fingerprint,
        }
        async with self._transactions.begin(caller) as connection:
            claimed = await connection.execute(_CLAIM, asked)
            if claimed.rowcount == 0:
                return await _settled(connection, claim, asked)
            answer = await action()
            await connection.execute(_SETTLE, {**asked, "body": Json(answer.stored)})
            return WriteOutcome(answer.first(), replayed=False)


async def _settled(connection: Connection, claim: Claim, asked: dict[str, object]) -> WriteOutcome:
    row = await (await connection.execute(_READ, asked)).fetchone()
    if row is None or row["fingerprint"] != claim.fingerprint:
        raise KeyReused(claim.key)
    return WriteOutcome(row["body"], replayed=True)
