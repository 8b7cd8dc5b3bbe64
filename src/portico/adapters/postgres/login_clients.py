"""As what Portico is known where people log in, kept in PostgreSQL; its secrets are sealed."""

from dataclasses import asdict
from typing import Final, LiteralString

from psycopg.types.json import Jsonb

from portico.adapters.postgres.transaction import Transactions
from portico.guard.core.oauth_logins import LoginClient, client_context
from portico.guard.ports import Vault
from portico.kernel.ids import Id
from portico.kernel.principal import Principal

_OF_IT: Final[LiteralString] = "space_id = %(space)s AND server_id = %(server)s"
_GET: Final[LiteralString] = f"SELECT settings, sealed FROM portico.login_client WHERE {_OF_IT}"
_PUT: Final[LiteralString] = """
    INSERT INTO portico.login_client (space_id, server_id, settings, sealed)
    VALUES (%(space)s, %(server)s, %(settings)s, %(sealed)s)
        ON CONFLICT (space_id, server_id)
        DO UPDATE SET settings = excluded.settings, sealed = excluded.sealed
"""
_REMOVE: Final[LiteralString] = f"DELETE FROM portico.login_client WHERE {_OF_IT}"


class PostgresLoginClients:
    def __init__(self, transactions: Transactions, vault: Vault) -> None:
        self._transactions = transactions
        self._vault = vault

    async def get(self, caller: Principal, server: Id) -> LoginClient | None:
        async with self._transactions.begin(caller) as connection:
            row = await (await connection.execute(_GET, _which(caller, server))).fetchone()
        if row is None:
            return None
        sealed = row["sealed"]
        context = client_context(caller.space, server)
        secret = None if sealed is None else self._vault.unseal(bytes(sealed), context)
        if sealed is not None and secret is None:
            return None
        return LoginClient(**row["settings"], secret=None if secret is None else secret.decode())

    async def put(self, caller: Principal, server: Id, client: LoginClient) -> None:
        settings, sealed = asdict(client), None
        secret = settings.pop("secret")
        if secret is not None:
            sealed = self._vault.seal(secret.encode(), client_context(caller.space, server))
        values = {**_which(caller, server), "settings": Jsonb(settings), "sealed": sealed}
        async with self._transactions.begin(caller) as connection:
            await connection.execute(_PUT, values)

    async def remove(self, caller: Principal, server: Id) -> None:
        async with self._transactions.begin(caller) as connection:
            await connection.execute(_REMOVE, _which(caller, server))


def _which(caller: Principal, server: Id) -> dict[str, object]:
    return {"space": caller.space.value, "server": server.value}
