"""Sessions of browsers, kept in PostgreSQL among the keys."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final, LiteralString

from portico.adapters.postgres.keys import COLUMNS, INSERT_KEY
from portico.adapters.postgres.rows import key_from, key_row, uuid_or_none
from portico.adapters.postgres.transaction import Transactions
from portico.guard.core.errors import KeyEnded
from portico.guard.core.keys import StoredKey
from portico.kernel.ids import PrincipalId
from portico.kernel.principal import Principal

# Held until the session is there: whoever revokes the key meanwhile waits, and then finds it.
_HOLD: Final[LiteralString] = """
    SELECT key_id FROM api_key
     WHERE space_id = %(space)s AND key_id = %(opened_with)s AND purpose = 'access'
       AND revoked_at IS NULL AND expires_at IS NOT DISTINCT FROM %(opened_with_until)s
       FOR SHARE
"""
_STILL_OPEN: Final[LiteralString] = f"""
    SELECT {COLUMNS} FROM api_key
     WHERE space_id = %(space)s AND purpose = 'session' AND opened_with IS NOT NULL
       AND (%(principal)s::uuid IS NULL OR principal_id = %(principal)s)
       AND revoked_at IS NULL AND expires_at > %(at)s
     ORDER BY coalesce(last_used_at, created_at) DESC, key_id
     LIMIT %(limit)s
"""


class PostgresSessions:
    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def open(self, caller: Principal, session: StoredKey, digest: bytes) -> None:
        row = key_row(session, digest)
        async with self._transactions.begin(caller) as connection:
            held = await connection.execute(_HOLD, row)
            if await held.fetchone() is None:
                raise KeyEnded(str(row["opened_with"]))
            await connection.execute(INSERT_KEY, row)

    async def still_open(
        self, caller: Principal, *, of: PrincipalId | None, at: datetime, limit: int
    ) -> Sequence[StoredKey]:
        wanted = {
            "space": caller.space.value,
            "principal": uuid_or_none(of),
            "at": at,
            "limit": limit,
        }
        async with self._transactions.begin(caller) as connection:
            return [
                key_from(row)
                for row in await (await connection.execute(_STILL_OPEN, wanted)).fetchall()
            ]
