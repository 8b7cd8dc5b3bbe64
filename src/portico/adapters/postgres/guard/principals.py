"""Principals in PostgreSQL, and those who can be mentioned."""

from collections.abc import Collection, Mapping, Sequence
from typing import Final, LiteralString

import psycopg

from portico.adapters.postgres.mapping import Row, identity_from, identity_row, uuid_or_none
from portico.adapters.postgres.transaction import Transactions
from portico.guard.core.errors import NameTaken, PrincipalNotFound
from portico.guard.core.principals import Identity
from portico.kernel.ids import PrincipalId
from portico.kernel.principal import Principal

INSERT_PRINCIPAL: Final[LiteralString] = """
    INSERT INTO principal (space_id, principal_id, kind, name, roles, grants, level, compartments,
                           tools, created_at, disabled_at)
    VALUES (%(space)s, %(principal)s, %(kind)s, %(name)s, %(roles)s, %(grants)s, %(level)s,
            %(compartments)s, %(tools)s, %(created)s, %(disabled)s)
"""
_GET: Final[LiteralString] = """
    SELECT * FROM principal WHERE space_id = %(space)s AND principal_id = %(principal)s
"""
_HOLD: Final[LiteralString] = f"{_GET} FOR UPDATE"
_PAGE: Final[LiteralString] = """
    SELECT * FROM principal
     WHERE space_id = %(space)s AND (%(after)s::uuid IS NULL OR principal_id > %(after)s)
     ORDER BY principal_id
     LIMIT %(limit)s
"""
_SAVE: Final[LiteralString] = """
    UPDATE principal
       SET roles = %(roles)s, level = %(level)s, compartments = %(compartments)s,
           tools = %(tools)s, disabled_at = %(disabled)s
     WHERE space_id = %(space)s AND principal_id = %(principal)s
"""
_RENAME: Final[LiteralString] = """
    UPDATE principal SET name = %(name)s
     WHERE space_id = %(space)s AND principal_id = %(principal)s
"""


class PostgresPrincipals:
    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def add(self, caller: Principal, identity: Identity) -> None:
        try:
            async with self._transactions.begin(caller) as connection:
                await connection.execute(INSERT_PRINCIPAL, identity_row(identity))
        except psycopg.errors.UniqueViolation as error:
            raise NameTaken(identity.name) from error

    async def get(self, caller: Principal, principal: PrincipalId) -> Identity:
        wanted = {"space": caller.space.value, "principal": principal.value}
        [rows] = await self._transactions.looked_up(caller, (_GET, wanted))
        return _identity(rows[0] if rows else None, principal)

    async def hold(self, caller: Principal, principal: PrincipalId) -> Identity:
        wanted = {"space": caller.space.value, "principal": principal.value}
        async with self._transactions.begin(caller) as connection:
            row = await (await connection.execute(_HOLD, wanted)).fetchone()
        return _identity(row, principal)

    async def page(
        self, caller: Principal, *, after: PrincipalId | None, limit: int
    ) -> Sequence[Identity]:
        wanted = {"space": caller.space.value, "after": uuid_or_none(after), "limit": limit}
        async with self._transactions.begin(caller) as connection:
            return [
                identity_from(row)
                for row in await (await connection.execute(_PAGE, wanted)).fetchall()
            ]

    async def save(self, caller: Principal, identity: Identity) -> None:
        async with self._transactions.begin(caller) as connection:
            done = await connection.execute(_SAVE, identity_row(identity))
        if done.rowcount != 1:
            raise PrincipalNotFound(str(identity.id))

    async def rename(self, caller: Principal, principal: PrincipalId, name: str) -> None:
        wanted = {"space": caller.space.value, "principal": principal.value, "name": name}
        try:
            async with self._transactions.begin(caller) as connection:
                done = await connection.execute(_RENAME, wanted)
        except psycopg.errors.UniqueViolation as error:
            raise NameTaken(name) from error
        if done.rowcount != 1:
            raise PrincipalNotFound(str(principal))


def _identity(row: Row | None, principal: PrincipalId) -> Identity:
    """Raises `PrincipalNotFound`."""
    if row is None:
        raise PrincipalNotFound(str(principal))
    return identity_from(row)


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
