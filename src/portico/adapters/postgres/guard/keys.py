"""Keys in PostgreSQL, with sessions, trusted clients and subjects of tokens."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Final, LiteralString

import psycopg

from portico.adapters.postgres.guard.principals import INSERT_PRINCIPAL
from portico.adapters.postgres.mapping import (
    Row,
    holder_from,
    identity_from,
    identity_row,
    key_from,
    key_row,
    uuid_or_none,
)
from portico.adapters.postgres.transaction import Connection, Transactions
from portico.guard.core.errors import KeyEnded, KeyNotFound, NameTaken
from portico.guard.core.keys import KeyHolder, StoredKey
from portico.guard.core.principals import Identity
from portico.kernel.ids import PrincipalId
from portico.kernel.principal import Principal

# Keys, kept in PostgreSQL; what proves one goes in and never comes out again.

COLUMNS: Final[LiteralString] = """
    key_id, space_id, principal_id, purpose, name, scopes, level, compartments, tools,
    opened_with, opened_with_until, created_at, expires_at, last_used_at, revoked_at
"""
_FIND: Final[LiteralString] = "SELECT * FROM portico.find_api_key(%(key)s)"
_FIND_ALL: Final[LiteralString] = """
    SELECT found.* FROM unnest(%(keys)s::text[]) AS wanted, portico.find_api_key(wanted) AS found
"""
_GET: Final[LiteralString] = (
    f"SELECT {COLUMNS} FROM api_key WHERE space_id = %(space)s AND key_id = %(key)s"
)
_PAGE: Final[LiteralString] = f"""
    SELECT {COLUMNS} FROM api_key
     WHERE space_id = %(space)s AND purpose = 'access'
       AND (%(principal)s::uuid IS NULL OR principal_id = %(principal)s)
       AND (%(after)s::text IS NULL OR (created_at, key_id) >
            (SELECT created_at, key_id FROM api_key
              WHERE space_id = %(space)s AND key_id = %(after)s))
     ORDER BY created_at, key_id
     LIMIT %(limit)s
"""
INSERT_KEY: Final[LiteralString] = """
    INSERT INTO api_key (key_id, space_id, principal_id, purpose, name, digest, scopes, level,
                         compartments, tools, opened_with, opened_with_until, created_at,
                         expires_at, last_used_at, revoked_at)
    VALUES (%(key)s, %(space)s, %(principal)s, %(purpose)s, %(name)s, %(digest)s, %(scopes)s,
            %(level)s, %(compartments)s, %(tools)s, %(opened_with)s, %(opened_with_until)s,
            %(created)s, %(expires)s, %(last_used)s, %(revoked)s)
"""
_USED: Final[LiteralString] = """
    UPDATE api_key SET last_used_at = %(at)s WHERE space_id = %(space)s AND key_id = %(key)s
"""
_EXPIRE: Final[LiteralString] = """
    UPDATE api_key SET expires_at = %(at)s
     WHERE space_id = %(space)s AND key_id = %(key)s AND revoked_at IS NULL
       AND expires_at IS NOT DISTINCT FROM %(before)s
"""
_EXPIRE_OPENED: Final[LiteralString] = """
    UPDATE api_key SET expires_at = least(expires_at, %(at)s), opened_with_until = %(at)s
     WHERE space_id = %(space)s AND opened_with = %(key)s AND revoked_at IS NULL
"""
_END_INVITATIONS: Final[LiteralString] = """
    UPDATE api_key SET revoked_at = %(at)s
     WHERE space_id = %(space)s AND principal_id = %(principal)s
       AND purpose = 'invitation' AND revoked_at IS NULL
"""
_REVOKE: Final[LiteralString] = """
    UPDATE api_key SET revoked_at = %(at)s
     WHERE space_id = %(space)s AND key_id = %(key)s AND revoked_at IS NULL
"""
_REVOKE_OPENED: Final[LiteralString] = """
    UPDATE api_key SET revoked_at = %(at)s
     WHERE space_id = %(space)s AND opened_with = %(key)s AND revoked_at IS NULL
"""


class PostgresKeyRing:
    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def find(self, key_id: str) -> KeyHolder | None:
        async with self._transactions.begin_outside() as connection:
            row = await (await connection.execute(_FIND, {"key": key_id})).fetchone()
        return None if row is None else holder_from(row)

    async def find_all(self, key_ids: Collection[str]) -> Sequence[KeyHolder]:
        async with self._transactions.begin_outside() as connection:
            found = await connection.execute(_FIND_ALL, {"keys": [*key_ids]})
            return [holder_from(row) for row in await found.fetchall()]

    async def used(self, caller: Principal, key_id: str, at: datetime) -> None:
        async with self._transactions.begin(caller) as connection:
            await connection.execute(_USED, _of(caller, key_id, at))


class PostgresKeys:
    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def add(self, caller: Principal, key: StoredKey, digest: bytes) -> None:
        async with self._transactions.begin(caller) as connection:
            await connection.execute(INSERT_KEY, key_row(key, digest))

    async def get(self, caller: Principal, key_id: str) -> StoredKey:
        async with self._transactions.begin(caller) as connection:
            row = await (await connection.execute(_GET, _of(caller, key_id))).fetchone()
        if row is None:
            raise KeyNotFound(key_id)
        return key_from(row)

    async def page(
        self, caller: Principal, *, of: PrincipalId | None, after: str | None, limit: int
    ) -> Sequence[StoredKey]:
        wanted = {
            "space": caller.space.value,
            "principal": uuid_or_none(of),
            "after": after,
            "limit": limit,
        }
        async with self._transactions.begin(caller) as connection:
            return [
                key_from(row) for row in await (await connection.execute(_PAGE, wanted)).fetchall()
            ]

    async def expire(self, caller: Principal, key: StoredKey, at: datetime) -> bool:
        change = {**_of(caller, key.id, at), "before": key.expires_at}
        async with self._transactions.begin(caller) as connection:
            return await _first_then(connection, _EXPIRE, _EXPIRE_OPENED, change)

    async def end_invitations(
        self, caller: Principal, principal: PrincipalId, at: datetime
    ) -> None:
        ended = {"space": caller.space.value, "principal": principal.value, "at": at}
        async with self._transactions.begin(caller) as connection:
            await connection.execute(_END_INVITATIONS, ended)

    async def revoke(self, caller: Principal, key_id: str, at: datetime) -> bool:
        async with self._transactions.begin(caller) as connection:
            change = _of(caller, key_id, at)
            return await _first_then(connection, _REVOKE, _REVOKE_OPENED, change)


async def _first_then(
    connection: Connection, of_key: LiteralString, of_opened: LiteralString, change: Row
) -> bool:
    """The key, and with it what was opened with it. One statement would not do: it sees what there
    was when it began, and while it waits for the key somebody may still log in with that."""
    if (await connection.execute(of_key, change)).rowcount != 1:
        return False
    await connection.execute(of_opened, change)
    return True


def _of(caller: Principal, key_id: str, at: datetime | None = None) -> dict[str, object]:
    return {"space": caller.space.value, "key": key_id, "at": at}


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


# Whose word a key's program may pass on, kept with the key in PostgreSQL.

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
