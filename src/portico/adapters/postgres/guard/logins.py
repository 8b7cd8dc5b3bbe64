"""OAuth logins in PostgreSQL, encrypted, each for one person at one server."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict
from datetime import datetime
from typing import Any, Final, LiteralString

from psycopg.types.json import Jsonb

from portico.adapters.postgres.transaction import Transactions
from portico.guard.core.oauth_logins import (
    Attempt,
    AuthorizationServer,
    ClientRegistration,
    LoginClient,
    LoginPlace,
    Tokens,
    client_context,
)
from portico.guard.ports import Vault
from portico.kernel.ids import Id, PrincipalId, SpaceId
from portico.kernel.principal import Principal


def tokens_text(tokens: Tokens) -> bytes:
    ends = None if tokens.expires_at is None else tokens.expires_at.isoformat()
    return json.dumps({**asdict(tokens), "expires_at": ends}).encode()


def tokens_from(text: bytes) -> Tokens:
    found: dict[str, Any] = json.loads(text)
    ends = found["expires_at"]
    found["expires_at"] = None if ends is None else datetime.fromisoformat(ends)
    found["known"] = _known(found["known"])
    return Tokens(**found)


def attempt_text(attempt: Attempt) -> bytes:
    whole = {
        "name": attempt.place.name,
        "url": attempt.place.url,
        "verifier": attempt.verifier,
        "redirect_url": attempt.redirect_url,
        "known": asdict(attempt.known),
        "scope": attempt.scope,
        "expires_at": attempt.expires_at.isoformat(),
    }
    return json.dumps(whole).encode()


def attempt_from(text: bytes, place: LoginPlace) -> Attempt:
    """`place` without its name and address, which are in the text."""
    found = json.loads(text)
    return Attempt(
        place=LoginPlace(
            space=place.space,
            principal=place.principal,
            server=place.server,
            name=found["name"],
            url=found["url"],
        ),
        verifier=found["verifier"],
        redirect_url=found["redirect_url"],
        known=_known(found["known"]),
        scope=found["scope"],
        expires_at=datetime.fromisoformat(found["expires_at"]),
    )


def _known(found: dict[str, Any]) -> ClientRegistration:
    server: dict[str, Any] = dict(found["server"])
    server.update({name: tuple(server[name]) for name in ("methods", "scopes")})
    whole: dict[str, Any] = {**found, "server": AuthorizationServer(**server)}
    return ClientRegistration(**whole)


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
        secret = None if sealed is None else self._vault.decrypt(bytes(sealed), context)
        if sealed is not None and secret is None:
            return None
        return LoginClient(**row["settings"], secret=None if secret is None else secret.decode())

    async def put(self, caller: Principal, server: Id, client: LoginClient) -> None:
        settings, sealed = asdict(client), None
        secret = settings.pop("secret")
        if secret is not None:
            sealed = self._vault.encrypt(secret.encode(), client_context(caller.space, server))
        values = {**_which(caller, server), "settings": Jsonb(settings), "sealed": sealed}
        async with self._transactions.begin(caller) as connection:
            await connection.execute(_PUT, values)

    async def remove(self, caller: Principal, server: Id) -> None:
        async with self._transactions.begin(caller) as connection:
            await connection.execute(_REMOVE, _which(caller, server))


def _which(caller: Principal, server: Id) -> dict[str, object]:
    return {"space": caller.space.value, "server": server.value}


_ATTEMPTS: Final = 4
BEGUN_IN: Final = b"begun "
"""What is sealed of a login that was begun can never be taken for one that was finished."""
_OF_THEM: Final[LiteralString] = (
    "space_id = %(space)s AND principal_id = %(principal)s AND server_id = %(server)s"
)
_LOGINS_GET: Final[LiteralString] = f"SELECT sealed FROM portico.login WHERE {_OF_THEM}"
_HOLD: Final[LiteralString] = f"{_LOGINS_GET} FOR UPDATE"
_LOGINS_PUT: Final[LiteralString] = """
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
            row = await (await connection.execute(_LOGINS_GET, _which_login(place))).fetchone()
        return None if row is None else self._opened(place, row["sealed"])

    @asynccontextmanager
    async def holding(self, place: LoginPlace) -> AsyncIterator[Tokens | None]:
        async with self._transactions.begin(place.holder) as connection:
            row = await (await connection.execute(_HOLD, _which_login(place))).fetchone()
            yield None if row is None else self._opened(place, row["sealed"])

    async def put(self, place: LoginPlace, tokens: Tokens) -> None:
        sealed = self._vault.encrypt(tokens_text(tokens), place.context)
        async with self._transactions.begin(place.holder) as connection:
            await connection.execute(_LOGINS_PUT, {**_which_login(place), "sealed": sealed})

    async def forget(self, place: LoginPlace) -> bool:
        async with self._transactions.begin(place.holder) as connection:
            done = await connection.execute(_FORGET, _which_login(place))
        return done.rowcount == 1

    async def put_attempt(self, digest: bytes, attempt: Attempt) -> None:
        place = attempt.place
        sealed = self._vault.encrypt(attempt_text(attempt), BEGUN_IN + place.context)
        values = {**_which_login(place), "digest": digest, "sealed": sealed, "most": _ATTEMPTS}
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
        text = self._vault.decrypt(bytes(row["sealed"]), BEGUN_IN + place.context)
        return None if text is None else attempt_from(text, place)

    def _opened(self, place: LoginPlace, sealed: bytes) -> Tokens | None:
        """None too if it was sealed for somebody else, or by a key that is gone: they log in."""
        text = self._vault.decrypt(bytes(sealed), place.context)
        return None if text is None else tokens_from(text)


def _which_login(place: LoginPlace) -> dict[str, object]:
    return {
        "space": place.space.value,
        "principal": place.principal.value,
        "server": place.server.value,
    }
