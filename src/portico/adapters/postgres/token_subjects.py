"""Whom tokens of others stand for, kept in PostgreSQL."""

from typing import Final, LiteralString

import psycopg

from portico.adapters.postgres.keys import INSERT_KEY
from portico.adapters.postgres.principals import INSERT_PRINCIPAL
from portico.adapters.postgres.rows import identity_from, identity_row, key_row
from portico.adapters.postgres.transaction import Transactions
from portico.guard.core.errors import NameTaken
from portico.guard.core.keys import StoredKey
from portico.guard.core.principals import Identity
from portico.kernel.principal import Principal

_NAMED: Final[LiteralString] = """
    SELECT * FROM portico.principal WHERE space_id = %(space)s AND name = %(name)s
"""
_BOUND: Final[LiteralString] = """
    SELECT p.* FROM portico.token_subject s JOIN portico.principal p USING (space_id, principal_id)
     WHERE s.space_id = %(space)s AND s.issuer = %(issuer)s AND s.subject = %(subject)s
"""
_TURN: Final[LiteralString] = "SELECT pg_advisory_xact_lock(hashtextextended(%(whom)s, 0))"
_BIND: Final[LiteralString] = """
    INSERT INTO portico.token_subject (space_id, issuer, subject, principal_id)
    VALUES (%(space)s, %(issuer)s, %(subject)s, %(principal)s)
"""
_GRANT: Final[LiteralString] = f"{INSERT_KEY} ON CONFLICT (key_id) DO NOTHING"


class PostgresTokenSubjects:
    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def named(self, doorman: Principal, name: str) -> Identity | None:
        return await self._one(_NAMED, doorman, name=name)

    async def bound(self, doorman: Principal, issuer: str, subject: str) -> Identity | None:
        return await self._one(_BOUND, doorman, issuer=issuer, subject=subject)

    async def _one(
        self, query: LiteralString, doorman: Principal, **wanted: str
    ) -> Identity | None:
        asked = {"space": doorman.space.value, **wanted}
        async with self._transactions.begin(doorman) as connection:
            row = await (await connection.execute(query, asked)).fetchone()
        return None if row is None else identity_from(row)

    async def bind(
        self, doorman: Principal, identity: Identity, issuer: str, subject: str
    ) -> Identity:
        bound = {**identity_row(identity), "issuer": issuer, "subject": subject}
        try:
            async with self._transactions.begin(doorman) as connection:
                whom = f"{doorman.space} {len(issuer)} {issuer} {subject}"
                await connection.execute(_TURN, {"whom": whom})
                if found := await self.bound(doorman, issuer, subject):
                    return found
                await connection.execute(INSERT_PRINCIPAL, identity_row(identity))
                await connection.execute(_BIND, bound)
        except psycopg.errors.UniqueViolation as error:
            raise NameTaken(identity.name) from error
        return identity

    async def grant(self, doorman: Principal, key: StoredKey, digest: bytes) -> None:
        async with self._transactions.begin(doorman) as connection:
            await connection.execute(_GRANT, key_row(key, digest))
