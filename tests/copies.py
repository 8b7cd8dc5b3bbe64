"""A migrated database for each test that wants one, without making one for each."""

import itertools
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo

from portico.adapters.postgres.addresses import Addresses
from portico.adapters.postgres.store import close_doors
from tests.servers import migrate

_numbers = itertools.count()

_END_ALL = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = %s"
_TABLES = (
    "SELECT format('%I.%I', nspname, relname) FROM pg_class"
    " JOIN pg_namespace n ON n.oid = relnamespace"
    " WHERE relkind = 'r' AND nspname IN ('portico', 'dbos') ORDER BY 1"
)
_CATALOGUE = (
    *("pg_class", "pg_attribute", "pg_attrdef", "pg_type", "pg_proc", "pg_policy", "pg_trigger"),
    *("pg_constraint", "pg_index", "pg_namespace", "pg_rewrite", "pg_extension", "pg_inherits"),
    *("pg_default_acl", "pg_event_trigger", "pg_largeobject_metadata", "pg_sequence"),
)
"""Every change of a schema adds a row to one of them, or takes one away."""
_RESTART = (
    "SELECT setval(format('%I.%I', schemaname, sequencename), start_value, false)"
    " FROM pg_sequences WHERE last_value IS NOT NULL"
)
_SETTINGS = (
    "SELECT md5(string_agg(s::text, ',' ORDER BY s)) FROM pg_db_role_setting s"
    " JOIN pg_database d ON d.oid = setdatabase WHERE datname = current_database()"
)
_MANY = 4_000_000
"""Bytes: whoever wrote more is slower to empty than to copy."""


def never_flushed(admin: str) -> None:
    """Of use while the machine stays up: whoever tests what outlives it starts a server alone."""
    with psycopg.connect(admin, autocommit=True) as connection:
        connection.execute("ALTER SYSTEM SET fsync = off")
        connection.execute("SELECT pg_reload_conf()")


class Template:
    """A migrated database, copied for each test that wants one of its own. A copy that a test has
    left as it was made, but for rows, is emptied and given to the next: that takes milliseconds,
    where making one takes a second."""

    def __init__(self, addresses: Addresses) -> None:
        self._addresses = addresses
        self._spare: dict[str, _Rows] = {}
        migrate(str(addresses.owner))

    @contextmanager
    def copy(self) -> Iterator[Addresses]:
        name, rows = self._spare.popitem() if self._spare else self._make()
        try:
            yield self._addresses_of(name)
        finally:
            with psycopg.connect(self._admin("postgres"), autocommit=True) as connection:
                connection.execute(_END_ALL, (name,))
            if rows.emptied(self._admin(name)):
                self._spare[name] = rows
            else:
                self._drop(name)

    def _make(self) -> "tuple[str, _Rows]":
        name = f"copy_{os.getpid()}_{next(_numbers)}"
        create = sql.SQL(
            "CREATE DATABASE {} TEMPLATE portico OWNER portico_owner STRATEGY file_copy"
        )
        with psycopg.connect(self._admin("postgres"), autocommit=True) as connection:
            connection.execute(create.format(sql.Identifier(name)))
        with psycopg.connect(self._admin(name), autocommit=True) as inside:
            close_doors(inside, name)
        return name, _Rows(self._admin(name))

    def _drop(self, name: str) -> None:
        drop = sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name))
        with psycopg.connect(self._admin("postgres"), autocommit=True) as connection:
            connection.execute(drop)

    def _admin(self, name: str) -> str:
        return make_conninfo(str(self._addresses.admin), dbname=name)

    def _addresses_of(self, name: str) -> Addresses:
        return Addresses(
            app=make_conninfo(self._addresses.app, dbname=name),
            owner=make_conninfo(str(self._addresses.owner), dbname=name),
            engine=make_conninfo(str(self._addresses.engine), dbname=name),
            admin=self._admin(name),
        )


class _Rows:
    """What a fresh copy has in it, and how one gets back to that."""

    def __init__(self, admin: str) -> None:
        with psycopg.connect(admin, autocommit=True) as inside:
            self._tables = [str(each) for (each,) in inside.execute(_TABLES)]
            filled = set(self._filled(inside))
            self._kept = [each for each in self._tables if each in filled]
            self._print = self._fingerprint(inside)

    def emptied(self, admin: str) -> bool:
        """False if it cannot be: its schema, or a row that was there from the start, is another."""
        with psycopg.connect(admin, autocommit=True) as inside:
            if self._fingerprint(inside) != self._print:
                return False
            written = [each for each in self._filled(inside) if each not in self._kept]
            if sum(self._bytes(inside, each) for each in written) > _MANY:
                return False
            inside.execute("SET session_replication_role = replica")  # no trigger, no key
            for table in written:
                inside.execute(f"DELETE FROM {table}".encode())
            inside.execute(_RESTART)
        return True

    def _filled(self, inside: psycopg.Connection) -> list[str]:
        asked = " UNION ALL ".join(
            f"SELECT '{each}' WHERE EXISTS (SELECT FROM {each})" for each in self._tables
        )
        return [str(each) for (each,) in inside.execute(asked.encode())]

    def _fingerprint(self, inside: psycopg.Connection) -> Sequence[object]:
        catalogue = (
            f"SELECT md5(string_agg(concat(xmin, ctid), ',' ORDER BY ctid)) FROM {each}"
            for each in _CATALOGUE
        )
        kept = (f"SELECT md5(string_agg(t::text, ',' ORDER BY t)) FROM {t} t" for t in self._kept)
        return inside.execute(
            " UNION ALL ".join([*catalogue, *kept, _SETTINGS]).encode()
        ).fetchall()

    def _bytes(self, inside: psycopg.Connection, table: str) -> int:
        found = inside.execute("SELECT pg_table_size(%s::regclass)", (table,)).fetchone()
        return int(found[0]) if found else 0
