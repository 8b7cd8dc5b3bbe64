"""Whose word a key's program may pass on, kept with the key in PostgreSQL."""

from typing import Final, LiteralString

from portico.adapters.postgres.rows import uuid_or_none
from portico.adapters.postgres.transaction import Transactions
from portico.kernel.ids import PrincipalId
from portico.kernel.principal import Principal

_PERSON: Final[LiteralString] = """
    SELECT elicits_for FROM api_key WHERE space_id = %(space)s AND key_id = %(key)s
"""
_TRUST: Final[LiteralString] = """
    UPDATE api_key SET elicits_for = %(person)s WHERE space_id = %(space)s AND key_id = %(key)s
"""


class PostgresTrustedClients:
    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def person(self, caller: Principal, key_id: str) -> PrincipalId | None:
        wanted = {"space": caller.space.value, "key": key_id}
        async with self._transactions.begin(caller) as connection:
            row = await (await connection.execute(_PERSON, wanted)).fetchone()
        found = None if row is None else row["elicits_for"]
        return None if found is None else PrincipalId(found)

    async def trust(self, caller: Principal, key_id: str, person: PrincipalId | None) -> None:
        change = {"space": caller.space.value, "key": key_id, "person": uuid_or_none(person)}
        async with self._transactions.begin(caller) as connection:
            await connection.execute(_TRUST, change)
