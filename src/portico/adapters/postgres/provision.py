"""Make the roles, the database and the extension: once, with an administrator's rights."""

from collections.abc import Mapping
from typing import Final, LiteralString

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo

from portico.adapters.postgres.addresses import DATABASE, as_url, check_address
from portico.adapters.postgres.passwords import APP, ENGINE, OWNER
from portico.engine.core.errors import (
    AlreadyProvisioned,
    NotProvisioned,
    PasswordRefused,
    StoreRefused,
    StoreUnavailable,
)

_ROLES: Final[tuple[LiteralString, ...]] = (OWNER, APP, ENGINE)
_OLDEST: Final = 160000
_CHANGE: Final = sql.SQL("ALTER ROLE {} LOGIN PASSWORD {}")
_CREATE: Final = sql.SQL(
    "CREATE ROLE {} LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOBYPASSRLS NOREPLICATION PASSWORD {}"
)


def provision(admin: str, passwords: Mapping[str, str], *, rotate: bool = False) -> None:
    """Safe to repeat. Roles that exist keep their passwords unless `rotate`.

    Raises `AlreadyProvisioned` for roles whose passwords we do not know, `StoreUnavailable`.
    """
    try:
        check_address(admin)
    except ValueError as error:
        raise NotProvisioned(
            f"The administrator's address is {error}.",
            fix="Write it as postgresql://USER:PASSWORD@HOST/postgres",
        ) from None
    try:
        with psycopg.connect(admin, autocommit=True, connect_timeout=10) as connection:
            _check_version(connection)
            _make_roles(connection, passwords, rotate=rotate)
            _make_database(connection, DATABASE)
        with psycopg.connect(make_conninfo(admin, dbname=DATABASE), autocommit=True) as inside:
            close_doors(inside, DATABASE)
            _add_vector(inside)
    except psycopg.OperationalError as error:
        if "authentication failed" in str(error):
            raise PasswordRefused from error
        raise StoreUnavailable(f"The database server does not answer: {_first(error)}") from error


def provisioned_addresses(admin: str, passwords: Mapping[str, str]) -> dict[str, str]:
    """The same server as the administrator's, as each of the roles; by the setting's name."""
    return {
        name: as_url(make_conninfo(admin, dbname=DATABASE, user=role, password=passwords[role]))
        for name, role in {"dsn": APP, "owner_dsn": OWNER, "engine_dsn": ENGINE}.items()
    }


def _check_version(connection: psycopg.Connection) -> None:
    if connection.info.server_version < _OLDEST:
        raise NotProvisioned(
            f"PostgreSQL {connection.info.server_version // 10000} is too old.",
            fix="Use PostgreSQL 16, 17 or 18 with pgvector 0.8 or later.",
        )


def _make_roles(
    connection: psycopg.Connection, passwords: Mapping[str, str], *, rotate: bool
) -> None:
    found = connection.execute(
        "SELECT rolname, rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = ANY(%s)",
        [[*_ROLES]],
    )
    there: dict[str, bool] = dict(found)
    if there and not rotate:
        raise AlreadyProvisioned(f"The server has the roles {', '.join(sorted(there))} already.")
    for role, mighty in there.items():
        if mighty:
            raise StoreRefused(
                f"The role {role} may bypass row-level security on this server.",
                fix=f"Take that away: ALTER ROLE {role} NOSUPERUSER NOBYPASSRLS",
            )
    for role in _ROLES:
        # Hashed here, so that the server never sees, nor logs, the password itself.
        hashed = connection.pgconn.encrypt_password(
            passwords[role].encode(), role.encode(), b"scram-sha-256"
        )
        verb = _CHANGE if role in there else _CREATE
        statement = verb.format(sql.Identifier(role), sql.Literal(hashed.decode()))
        connection.execute(statement)


def _make_database(connection: psycopg.Connection, database: str) -> None:
    found = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [database])
    if found.fetchone():
        return
    owner = sql.Identifier(OWNER)
    # An administrator who is no superuser must be in the role to give it a database.
    connection.execute(sql.SQL("GRANT {} TO CURRENT_USER").format(owner))
    connection.execute(
        sql.SQL("CREATE DATABASE {} OWNER {} TEMPLATE template0 ENCODING 'UTF8'").format(
            sql.Identifier(database), owner
        )
    )


def close_doors(inside: psycopg.Connection, database: str) -> None:
    """Nobody else connects, nobody makes tables in `public`, and names are looked up in ours."""
    name = sql.Identifier(database)
    inside.execute(sql.SQL("REVOKE ALL ON DATABASE {} FROM PUBLIC").format(name))
    inside.execute(
        sql.SQL("GRANT CONNECT ON DATABASE {} TO {}, {}").format(
            name, sql.Identifier(APP), sql.Identifier(ENGINE)
        )
    )
    inside.execute("REVOKE CREATE ON SCHEMA public FROM PUBLIC")
    for role in (OWNER, APP):
        inside.execute(
            sql.SQL("ALTER ROLE {} IN DATABASE {} SET search_path = portico, public").format(
                sql.Identifier(role), name
            )
        )


def _add_vector(inside: psycopg.Connection) -> None:
    try:
        inside.execute("CREATE EXTENSION IF NOT EXISTS vector")
    except (psycopg.errors.FeatureNotSupported, psycopg.errors.UndefinedFile) as error:
        raise NotProvisioned(
            "The server does not have the extension pgvector.",
            fix="Install pgvector 0.8 or later on the server, then run `db provision` again.",
        ) from error
    except psycopg.errors.InsufficientPrivilege as error:
        raise NotProvisioned(
            "This administrator may not install the extension pgvector.",
            fix="Have a superuser run, in the new database: CREATE EXTENSION vector. "
            "Then repeat this with --rotate.",
        ) from error


def _first(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
