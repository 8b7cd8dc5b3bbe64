"""Those who can be named in talk, looked up in PostgreSQL."""

from collections.abc import Collection, Mapping
from typing import Final, LiteralString

from portico.adapters.postgres.rows import identity_from
from portico.adapters.postgres.transaction import Transactions
from portico.kernel.ids import PrincipalId
from portico.kernel.principal import Principal

_NAMED: Final[LiteralString] = """
    SELECT * FROM principal
     WHERE space_id = %(space)s AND name = ANY(%(names)s)
"""


class PostgresPeople:
    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def named(self, caller: Principal, names: Collection[str]) -> Mapping[str, PrincipalId]:
        # PostgreSQL keeps no text with a NUL in it, and so nobody is called that.
        wanted = [name for name in names if "\0" not in name]
        asked = {"space": caller.space.value, "names": wanted}
        [rows] = await self._transactions.looked_up(caller, (_NAMED, asked))
        found = map(identity_from, rows)
        return {identity.name: identity.id for identity in found if identity.known_to(caller)}
