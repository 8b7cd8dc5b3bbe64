"""Logins at servers of others, kept in PostgreSQL: sealed, each for one person at one server."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Final, LiteralString

from portico.adapters.postgres.login_texts import (
    attempt_from,
    attempt_text,
    tokens_from,
    tokens_text,
)
from portico.adapters.postgres.transaction import Transactions
from portico.guard.core.oauth_logins import Attempt, LoginPlace, Tokens
from portico.guard.ports import Vault
from portico.kernel.ids import Id, PrincipalId, SpaceId

_ATTEMPTS: Final = 4
BEGUN_IN: Final = b"begun "
"""What is sealed of a login that was begun can never be taken for one that was finished."""
_OF_THEM: Final[LiteralString] = (
    "space_id = %(space)s AND principal_id = %(principal)s AND server_id = %(server)s"
)
_GET: Final[LiteralString] = f"SELECT sealed FROM portico.login WHERE {_OF_THEM}"
_HOLD: Final[LiteralString] = f"{_GET} FOR UPDATE"
_PUT: Final[LiteralString] = """
    INSERT INTO portico.login (space_id, principal_id, server_id, sealed)
    VALUES (%(space)s, %(principal)s, %(server)s, %(sealed)s)
        ON CONFLICT (space_id, principal_id, server_id)
        DO UPDATE SET sealed = excluded.sealed
"""
_FORGET: Final[LiteralString] = f"DELETE FROM portico.login WHERE {_OF_THEM}"
_BEGUN: Final[LiteralString] = """
    INSERT INTO portico.login_attempt
           (digest, space_id, principal_id, server_id, sealed, expires_at)
    VALUES (%(digest)s, %(space)s, %(principal)s, %(server)s, %(sealed)s, %(expires)s)
"""
_THIN_OUT: Final[LiteralString] = f"""
    DELETE FROM portico.login_attempt WHERE {_OF_THEM} AND digest NOT IN (
        SELECT digest FROM portico.login_attempt WHERE {_OF_THEM}
         ORDER BY begun_at DESC, digest LIMIT %(most)s)
"""
_FIND: Final[LiteralString] = "SELECT * FROM portico.find_login_attempt(%(digest)s, %(now)s)"
_TAKE: Final[LiteralString] = "SELECT * FROM portico.take_login_attempt(%(digest)s, %(now)s)"


class PostgresLogins:
    """Who asks is always the person whose login it is: the table has no row for anybody else."""

    def __init__(self, transactions: Transactions, vault: Vault) -> None:
        self._transactions = transactions
        self._vault = vault

    async def get(self, place: LoginPlace) -> Tokens | None:
        async with self._transactions.begin(place.holder) as connection:
            row = await (await connection.execute(_GET, _which(place))).fetchone()
        return None if row is None else self._opened(place, row["sealed"])

    @asynccontextmanager
    async def holding(self, place: LoginPlace) -> AsyncIterator[Tokens | None]:
        async with self._transactions.begin(place.holder) as connection:
            row = await (await connection.execute(_HOLD, _which(place))).fetchone()
            yield None if row is None else self._opened(place, row["sealed"])

    async def put(self, place: LoginPlace, tokens: Tokens) -> None:
        sealed = self._vault.seal(tokens_text(tokens), place.context)
        async with self._transactions.begin(place.holder) as connection:
            await connection.execute(_PUT, {**_which(place), "sealed": sealed})

    async def forget(self, place: LoginPlace) -> bool:
        async with self._transactions.begin(place.holder) as connection:
            done = await connection.execute(_FORGET, _which(place))
        return done.rowcount == 1

    async def begun(self, digest: bytes, attempt: Attempt) -> None:
        place = attempt.place
        sealed = self._vault.seal(attempt_text(attempt), BEGUN_IN + place.context)
        values = {**_which(place), "digest": digest, "sealed": sealed, "most": _ATTEMPTS}
        async with self._transactions.begin(place.holder) as connection:
            await connection.execute(_BEGUN, {**values, "expires": attempt.expires_at})
            await connection.execute(_THIN_OUT, values)

    async def find(self, digest: bytes, now: datetime) -> Attempt | None:
        return await self._attempt(_FIND, digest, now)

    async def take(self, digest: bytes, now: datetime) -> Attempt | None:
        return await self._attempt(_TAKE, digest, now)

    async def _attempt(self, query: LiteralString, digest: bytes, now: datetime) -> Attempt | None:
        asked = {"digest": digest, "now": now}
        async with self._transactions.begin_outside() as connection:
            row = await (await connection.execute(query, asked)).fetchone()
        if row is None:
            return None
        place = LoginPlace(
            space=SpaceId(row["space_id"]),
            principal=PrincipalId(row["principal_id"]),
            server=Id(row["server_id"]),
            name="",
            url="",
        )
        text = self._vault.unseal(bytes(row["sealed"]), BEGUN_IN + place.context)
        return None if text is None else attempt_from(text, place)

    def _opened(self, place: LoginPlace, sealed: bytes) -> Tokens | None:
        """None too if it was sealed for somebody else, or by a key that is gone: they log in."""
        text = self._vault.unseal(bytes(sealed), place.context)
        return None if text is None else tokens_from(text)


def _which(place: LoginPlace) -> dict[str, object]:
    return {
        "space": place.space.value,
        "principal": place.principal.value,
        "server": place.server.value,
    }
