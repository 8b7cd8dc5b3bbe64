"""Setting up a PostgreSQL of the user's own."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo

from portico.adapters.postgres.addresses import DATABASE, new_passwords
from portico.adapters.postgres.store import provision, provisioned_addresses, unsafe
from portico.adapters.system.clock import system_entropy
from portico.engine.core.errors import (
    AlreadyProvisioned,
    NotProvisioned,
    StoreRefused,
    StoreUnavailable,
)
from tests.servers import free_port, migrate, tcp_server

pytestmark = [pytest.mark.postgres]


@pytest.fixture(scope="module", params=[pytest.param(16, marks=pytest.mark.nightly), 18])
def server(request: pytest.FixtureRequest) -> Iterator[str]:
    with tcp_server(request.param) as address:
        yield address


@pytest.fixture
def admin(server: str) -> Iterator[str]:
    """Of one in which nothing is provisioned."""
    yield server
    with psycopg.connect(server, autocommit=True) as superuser:
        superuser.execute(f"DROP DATABASE IF EXISTS {DATABASE} WITH (FORCE)".encode())
        for (role,) in superuser.execute(_ROLES).fetchall():
            superuser.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(role)))
        superuser.execute("ALTER SYSTEM RESET ALL")
        superuser.execute("SELECT pg_reload_conf()")


_ROLES = (
    "SELECT rolname FROM pg_roles WHERE rolname NOT LIKE 'pg\\_%' AND rolname <> current_user"
    " ORDER BY rolcreaterole"
)


async def test_it_makes_roles_database_and_extension_and_all_is_safe(admin: str) -> None:
    """Strangers are shut out, and no role is taken over that could see through the walls."""
    passwords = new_passwords(system_entropy).by_role
    stranger = make_conninfo(admin, user="stranger", password="stranger", dbname=DATABASE)
    with psycopg.connect(admin, autocommit=True) as superuser:
        superuser.execute("CREATE ROLE stranger LOGIN PASSWORD 'stranger'")

    provision(admin, passwords)

    made = provisioned_addresses(admin, passwords)
    with psycopg.connect(made["owner_dsn"]) as owner:
        assert owner.execute("SELECT extname FROM pg_extension ORDER BY 1").fetchall() == [
            ("plpgsql",),
            ("vector",),
        ]
    await _migrated_and_safe(made)
    with pytest.raises(psycopg.OperationalError, match="permission denied for database"):
        psycopg.connect(stranger)

    for right in ("SUPERUSER", "BYPASSRLS"):
        with psycopg.connect(admin, autocommit=True) as superuser:
            superuser.execute(f"ALTER ROLE portico_app {right}".encode())
        with pytest.raises(StoreRefused) as refusal:
            provision(admin, passwords, rotate=True)
        assert "ALTER ROLE portico_app" in str(refusal.value.fix)
        with psycopg.connect(admin, autocommit=True) as superuser:
            superuser.execute(f"ALTER ROLE portico_app NO{right}".encode())


async def _migrated_and_safe(made: dict[str, str]) -> None:
    await asyncio.to_thread(migrate, made["owner_dsn"])
    assert await unsafe(made["dsn"]) == []
    with psycopg.connect(made["dsn"]) as app:
        assert app.execute("SELECT count(*) FROM space").fetchone() == (0,)


def test_roles_that_exist_are_left_alone_unless_told_otherwise(admin: str) -> None:
    first, second = (new_passwords(system_entropy).by_role for _ in range(2))
    provision(admin, first)

    with pytest.raises(AlreadyProvisioned) as refusal:
        provision(admin, second)

    assert "--rotate" in str(refusal.value.fix)
    with psycopg.connect(provisioned_addresses(admin, first)["dsn"]):
        pass
    provision(admin, second, rotate=True)
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        psycopg.connect(provisioned_addresses(admin, first)["dsn"])
    with psycopg.connect(provisioned_addresses(admin, second)["dsn"]):
        pass
    with psycopg.connect(admin) as superuser:
        count = "SELECT count(*) FROM pg_database WHERE datname = %s"
        assert superuser.execute(count, [DATABASE]).fetchone() == (1,)


async def test_an_administrator_who_is_no_superuser_needs_help_with_the_extension_only(
    admin: str,
) -> None:
    with psycopg.connect(admin, autocommit=True) as superuser:
        superuser.execute("CREATE ROLE chief LOGIN CREATEROLE CREATEDB PASSWORD 'chief'")
    chief = make_conninfo(admin, user="chief", password="chief")
    passwords = new_passwords(system_entropy).by_role

    with pytest.raises(NotProvisioned) as refusal:
        provision(chief, passwords)
    assert "CREATE EXTENSION vector" in str(refusal.value.fix)
    with psycopg.connect(make_conninfo(admin, dbname=DATABASE), autocommit=True) as superuser:
        superuser.execute("CREATE EXTENSION vector")
    provision(chief, passwords, rotate=True)

    await _migrated_and_safe(provisioned_addresses(chief, passwords))


def test_the_server_is_never_told_a_password_in_clear(admin: str) -> None:
    passwords = new_passwords(system_entropy).by_role
    with psycopg.connect(admin, autocommit=True) as superuser:
        superuser.execute("ALTER SYSTEM SET log_statement = 'all'")
        superuser.execute("SELECT pg_reload_conf()")

    provision(admin, passwords)

    with psycopg.connect(admin) as superuser:
        folder = superuser.execute("SHOW data_directory").fetchone()
    assert folder is not None
    log = Path(folder[0]).parent.joinpath("log").read_text()
    assert "CREATE ROLE" in log
    assert not any(password in log for password in passwords.values())


def test_a_server_that_does_not_answer_is_told_as_such() -> None:
    with pytest.raises(StoreUnavailable):
        provision(
            f"postgresql://postgres@127.0.0.1:{free_port()}/postgres",
            new_passwords(system_entropy).by_role,
        )
