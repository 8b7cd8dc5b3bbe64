"""The database, whether it is ours to run or not: provision, migrate, examine."""

import asyncio
import logging
import re
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from importlib.resources import files
from typing import ClassVar, Final, LiteralString

import psycopg
from psycopg import AsyncConnection, pq, sql
from psycopg.conninfo import make_conninfo
from psycopg.rows import DictRow, dict_row

from portico.adapters.postgres.addresses import (
    APP,
    DATABASE,
    ENGINE,
    OWNER,
    Addresses,
    as_url,
    check_address,
    without_password,
)
from portico.engine.core.errors import (
    AlreadyProvisioned,
    NotProvisioned,
    PasswordRefused,
    StoreBusy,
    StoreRefused,
    StoreUnavailable,
)
from portico.engine.core.store import (
    Applied,
    Migration,
    Source,
    StoreInfo,
    StoreStatus,
    TableSize,
    pending,
)
from portico.kernel.errors import PorticoError

_log: Final = logging.getLogger("portico.postgres")
_PATIENCE: Final = 300.0
"""Seconds: a database that was cut off may have much to replay."""
_PAUSE: Final = 0.2


async def until_it_accepts(
    address: str, *, patience: float = _PATIENCE, pause: float = _PAUSE
) -> None:
    """Returns at once if the server takes connections, and also if none answers. Raises
    `StoreUnavailable` when patience has ended."""
    if not _rejects(address):
        return
    _log.warning("the database starts, recovers or stops; waiting until it accepts connections")
    loop = asyncio.get_running_loop()
    deadline = loop.time() + patience
    while _rejects(address):
        if loop.time() >= deadline:
            raise StoreUnavailable(
                f"The database has not accepted connections for {patience:.0f} seconds: "
                "it starts, recovers or stops.",
                fix="See in its log how far it is; when it is ready, do the same again.",
            )
        await asyncio.sleep(pause)
    _log.warning("the database accepts connections")


def _rejects(address: str) -> bool:
    """By SQLSTATE 57P03, cannot_connect_now. A connection that fails tells its words alone, which
    are in the language of the server; libpq's ping looks at the code. It keeps the interpreter to
    itself, so a thread for it would help nobody."""
    conninfo = make_conninfo(address, connect_timeout=5)
    return pq.PGconn.ping(conninfo.encode()) == pq.Ping.REJECT


_LOCK: Final = 0x706F727469636F  # "portico": any number that nobody else locks
_SCHEMA_PAUSE: Final = 0.05
_NOT_LONG: Final[LiteralString] = "SET LOCAL lock_timeout = '2s'"
"""Whoever waits for a table holds up everybody who comes after."""
_LET_PASS: Final = 0.5
_TRIES: Final = 120
_NAME: Final = re.compile(r"(\d{4})_(\w+)\.sql")
_RECORD: Final[LiteralString] = """
    INSERT INTO portico.schema_migration (number, name, checksum)
    VALUES (%(number)s, %(name)s, %(checksum)s)
"""
_APPLIED: Final[LiteralString] = """
    SELECT number, name, checksum, applied_at FROM portico.schema_migration ORDER BY number
"""


def known_migrations() -> Sequence[Migration]:
    found = [
        Migration(int(name[1]), name[2], file.read_text(encoding="utf-8"))
        for file in files("portico.adapters.postgres.migrations").iterdir()
        if (name := _NAME.fullmatch(file.name))
    ]
    return sorted(found, key=lambda migration: migration.number)


class PostgresSchema:
    """As the owner it can change the schema; as anybody else it can only be asked."""

    def __init__(self, address: str) -> None:
        self._address = address

    @asynccontextmanager
    async def locked(self) -> AsyncIterator[None]:
        """Asked for again and again: whoever waited for it inside a statement would be waited for
        by an index that is built beside the others' work, as a companion does it."""
        async with self._connected() as connection:
            while not await _taken(connection):  # noqa: ASYNC110 # others hold it elsewhere
                await asyncio.sleep(_SCHEMA_PAUSE)
            yield

    async def applied(self) -> Sequence[Applied]:
        async with self._connected() as connection:
            there = await connection.execute(
                "SELECT to_regclass('portico.schema_migration') IS NOT NULL AS found"
            )
            row = await there.fetchone()
            if row is None or not row["found"]:
                return []
            return [Applied(**row) for row in await (await connection.execute(_APPLIED)).fetchall()]

    async def apply(self, migration: Migration) -> None:
        """Tried again and again, with a pause in which others pass. Raises `StoreBusy`."""
        for _ in range(_TRIES):
            try:
                await self._try(migration)
            except (psycopg.errors.LockNotAvailable, psycopg.errors.DeadlockDetected):
                await asyncio.sleep(_LET_PASS)
            else:
                return
        raise StoreBusy(
            f"The migration {migration.number:04} {migration.name} did not get the tables to "
            "itself: somebody has used them for minutes without an end.",
            fix="Nothing of it was done. End long transactions (a backup, a query by hand), or "
            "stop the servers, then: portico db migrate",
        )

    async def _try(self, migration: Migration) -> None:
        async with self._connected() as connection, connection.transaction():
            await connection.execute(_NOT_LONG)
            await connection.execute(migration.sql.encode())
            await connection.execute(
                _RECORD,
                {
                    "number": migration.number,
                    "name": migration.name,
                    "checksum": migration.checksum,
                },
            )

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[AsyncConnection[DictRow]]:
        try:
            connection = await AsyncConnection[DictRow].connect(
                self._address, autocommit=True, row_factory=dict_row, connect_timeout=10
            )
        except psycopg.OperationalError as error:
            raise _explained(error) from error
        async with connection:
            yield connection


async def _taken(connection: AsyncConnection[DictRow]) -> bool:
    found = await connection.execute("SELECT pg_try_advisory_lock(%s) AS taken", [_LOCK])
    row = await found.fetchone()
    return row is not None and bool(row["taken"])


def _explained(error: psycopg.OperationalError) -> PorticoError:
    text = str(error).strip().splitlines()[-1]
    if "authentication failed" in text:
        return PasswordRefused()
    if "does not exist" in text:
        return NotProvisioned(f"The database is not set up for us: {text}")
    return StoreUnavailable(f"The database does not answer: {text}")


# What an operator wants to know of the database: version, shape, size, and whether it is safe.

_INFO: Final[LiteralString] = """
    SELECT pg_database_size(current_database()) AS size,
           (SELECT count(*) FROM pg_stat_activity WHERE datname = current_database())
               AS connections,
           (SELECT array_agg(extname || ' ' || extversion ORDER BY extname) FROM pg_extension)
               AS extensions
"""
_TABLES: Final[LiteralString] = """
    SELECT relname AS name, n_live_tup AS rows, pg_total_relation_size(relid) AS size
      FROM pg_stat_user_tables WHERE schemaname = 'portico' ORDER BY relname
"""
_UNSAFE: Final[LiteralString] = """
    SELECT 'table ' || c.relname || ' lacks forced row-level security' AS problem
      FROM pg_class c
     WHERE c.relnamespace = 'portico'::regnamespace AND c.relkind IN ('r', 'p')
       AND EXISTS (SELECT FROM pg_attribute a
                    WHERE a.attrelid = c.oid AND a.attname = 'space_id' AND NOT a.attisdropped)
       AND NOT (c.relrowsecurity AND c.relforcerowsecurity)
    UNION ALL
    SELECT 'view ' || c.relname || ' is not security_invoker'
      FROM pg_class c
     WHERE c.relnamespace = 'portico'::regnamespace AND c.relkind = 'v'
       AND NOT coalesce('security_invoker=true' = ANY(c.reloptions), false)
    UNION ALL
    SELECT 'materialized view ' || c.relname || ' cannot have row-level security'
      FROM pg_class c
     WHERE c.relnamespace = 'portico'::regnamespace AND c.relkind = 'm'
    UNION ALL
    SELECT 'the role portico_app owns ' || c.relname
      FROM pg_class c JOIN pg_roles r ON r.oid = c.relowner WHERE r.rolname = 'portico_app'
    UNION ALL
    SELECT 'the role portico_app owns the schema ' || n.nspname
      FROM pg_namespace n JOIN pg_roles r ON r.oid = n.nspowner WHERE r.rolname = 'portico_app'
    UNION ALL
    SELECT 'the role portico_app owns the function ' || p.proname
      FROM pg_proc p JOIN pg_roles r ON r.oid = p.proowner WHERE r.rolname = 'portico_app'
    UNION ALL
    SELECT 'the role ' || rolname || ' may bypass row-level security'
      FROM pg_roles
     WHERE rolname IN ('portico_app', 'portico_engine', 'portico_owner')
       AND (rolsuper OR rolbypassrls)
    UNION ALL
    SELECT 'the role ' || m.rolname || ' is a member of ' || r.rolname
      FROM pg_roles r, pg_roles m
     WHERE r.rolname IN ('portico_owner', 'portico_app', 'portico_engine')
       AND m.rolname IN ('portico_app', 'portico_engine') AND m.oid <> r.oid
       AND pg_has_role(m.oid, r.oid, 'MEMBER')
    UNION ALL
    SELECT 'the policy ' || p.policyname || ' on ' || p.tablename || ' opens a wall'
      FROM pg_policies p
     WHERE p.schemaname = 'portico'
       AND NOT (p.policyname = 'owner_door' AND p.roles = '{portico_owner}')
       AND NOT (p.policyname = 'engine_door' AND p.roles = '{portico_engine}')
       AND p.permissive = 'PERMISSIVE'
       AND NOT (p.policyname = 'space_wall' AND p.permissive = 'PERMISSIVE' AND p.cmd = 'ALL'
                AND p.qual = p.with_check AND starts_with(ltrim(p.qual, '('), %(wall)s)
                AND p.qual !~* '\\mor\\M')
    UNION ALL
    SELECT 'the role portico_engine may read ' || c.relname || '.' || a.attname
      FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND NOT a.attisdropped
     WHERE c.relnamespace = 'portico'::regnamespace AND c.relkind IN ('r', 'p')
       AND a.atttypid IN ('json'::regtype, 'jsonb'::regtype, 'bytea'::regtype)
       AND has_column_privilege('portico_engine', c.oid, a.attnum, 'SELECT')
    UNION ALL
    SELECT 'the function ' || p.proname || ' runs as its owner without a fixed search_path'
      FROM pg_proc p
     WHERE p.pronamespace = 'portico'::regnamespace AND p.prosecdef
       AND NOT EXISTS (SELECT FROM unnest(p.proconfig) c WHERE c LIKE 'search\\_path=%%')
"""

_WALL: Final = (
    "space_id = ( SELECT (NULLIF(current_setting('portico.space'::text, true), ''::text))::uuid"
)
"""How every policy begins, as PostgreSQL writes it; one that is longer only narrows it (AND)."""


async def server_version(address: str) -> str | None:
    """None if no server answers. Raises `PasswordRefused` if one does and does not want us."""
    try:
        async with await AsyncConnection.connect(address, connect_timeout=5) as connection:
            number = connection.info.server_version
    except psycopg.OperationalError as error:
        if "authentication failed" in str(error):
            raise PasswordRefused from error
        return None
    return f"{number // 10000}.{number % 10000}"


async def survey(address: str, status: StoreStatus) -> StoreInfo:
    """Raises `StoreUnavailable`."""
    try:
        connection = await AsyncConnection[DictRow].connect(
            address, row_factory=dict_row, autocommit=True
        )
    except psycopg.OperationalError as error:
        raise StoreUnavailable("The database does not answer.") from error
    async with connection:
        facts = await (await connection.execute(_INFO)).fetchone()
        tables = [TableSize(**row) for row in await (await connection.execute(_TABLES)).fetchall()]
    return StoreInfo(status=status, tables=tables, **facts or {})


async def unsafe(address: str) -> list[str]:
    """What in the catalogue would let one space see another; empty is what it must be."""
    async with await AsyncConnection[DictRow].connect(address, row_factory=dict_row) as connection:
        return [
            row["problem"]
            for row in await (await connection.execute(_UNSAFE, {"wall": _WALL})).fetchall()
        ]


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


Progress = Callable[[str], None]


class PostgresStore(ABC):
    source: Source
    heals: ClassVar[bool]
    """Whether it is ours to bring back after a crash."""

    @property
    @abstractmethod
    def addresses(self) -> Addresses:
        """Raises `NotProvisioned` before there is a database."""

    @abstractmethod
    def start_here(self, *, create: bool, progress: Progress = lambda _: None) -> None:
        """As `start`, but in the calling thread: a starting server has other things to do."""

    @abstractmethod
    async def start(
        self, *, create: bool, keep: bool = False, progress: Progress = lambda _: None
    ) -> None: ...

    @abstractmethod
    def restart(self) -> None: ...

    @abstractmethod
    async def release(self) -> None: ...

    @abstractmethod
    async def stop(self, *, force: bool = False) -> bool: ...

    async def until_it_accepts(self) -> None:
        """Wait for one that runs and takes nobody yet. Raises `StoreUnavailable`."""
        await until_it_accepts(self.addresses.app)

    async def settle(self) -> bool:
        """Stop one of ours that nobody uses any more; whether there was one."""
        return False

    @property
    def owner_address(self) -> str:
        """Raises `NotProvisioned` on a worker that was not told it."""
        if self.addresses.owner is None:
            raise NotProvisioned(
                "This needs the database's owner, whose address is not set.",
                fix="Set it for this command: PORTICO_DATABASE__OWNER_DSN=postgresql://…",
            )
        return self.addresses.owner

    async def status(self) -> StoreStatus:
        app = self.addresses.app
        version = await server_version(app)
        if version is None:
            return StoreStatus(source=self.source, address=without_password(app), running=False)
        applied = await PostgresSchema(app).applied()
        return StoreStatus(
            source=self.source,
            address=without_password(app),
            running=True,
            server_version=version,
            applied=len(applied),
            pending=len(pending(known_migrations(), applied)),
        )

    async def info(self) -> StoreInfo:
        status = await self.status()
        if not status.running:
            raise StoreUnavailable(
                "The database is not running.",
                fix="Start it: portico serve, or for itself alone: portico db start",
            )
        return await survey(self.addresses.owner or self.addresses.app, status)

    async def unsafe(self) -> Sequence[str]:
        return await unsafe(self.addresses.app)


class RemoteStore(PostgresStore):
    """A server of somebody else's, reached by its address."""

    source = Source.DSN
    heals = False

    def __init__(self, addresses: Addresses) -> None:
        self._addresses = addresses

    @property
    def addresses(self) -> Addresses:
        return self._addresses

    def start_here(self, *, create: bool, progress: Progress = lambda _: None) -> None:
        """Nothing to start."""

    async def start(
        self,
        *,
        create: bool,  # noqa: ARG002 # the same question
        keep: bool = False,  # noqa: ARG002 # likewise
        progress: Progress = lambda _: None,  # noqa: ARG002 # likewise
    ) -> None:
        """Nothing to start; but it may be starting by itself."""
        await self.until_it_accepts()

    def restart(self) -> None:
        """Not ours to start."""

    async def release(self) -> None:
        """Nothing to stop."""

    async def stop(self, *, force: bool = False) -> bool:  # noqa: ARG002 # the same question
        raise StoreRefused(
            "This database was not started by Portico.",
            fix="Stop it with the means of whoever runs it.",
        )
