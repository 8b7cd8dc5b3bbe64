"""The schema is the sum of its migrations, and every earlier database can be brought to it."""

import re
import subprocess
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from portico.adapters.postgres import migrations
from portico.adapters.postgres.addresses import Addresses, without_password
from portico.adapters.postgres.store import PostgresSchema, known_migrations, unsafe
from portico.engine.core.errors import SchemaAhead, SchemaEdited
from portico.engine.store import MigrateStore
from tests.migrations.fixture import FIXTURES, load_fixture
from tests.servers import wheel

pytestmark = [pytest.mark.postgres]

SCHEMA = Path(str(migrations.__file__)).parent.parent / "schema.sql"


def dumped(database: Addresses) -> str:
    """The schema as PostgreSQL writes it, without what differs from run to run."""
    password = conninfo_to_dict(str(database.owner))["password"]
    text = subprocess.run(
        [
            wheel(18)["pg_dump"],
            "--schema-only",
            "--schema=portico",
            f"--dbname={without_password(str(database.owner))}",
        ],
        env={"PGPASSWORD": str(password)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    kept = [
        line
        for line in text.splitlines()
        if not line.startswith(("--", "\\restrict", "\\unrestrict", "SET ", "SELECT pg_catalog."))
    ]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip() + "\n"


def migrating(database: Addresses) -> MigrateStore:
    return MigrateStore(schema=PostgresSchema(str(database.owner)), known=known_migrations())


@pytest.mark.requirement("postgres:schema:sum-of-migrations")
def test_the_committed_schema_is_the_sum_of_the_migrations(
    embedded_database: Addresses, request: pytest.FixtureRequest
) -> None:
    now = dumped(embedded_database)

    if request.config.getoption("--write-schema"):
        SCHEMA.write_text(now)

    assert SCHEMA.read_text() == now


async def test_what_is_migrated_is_left_alone_and_a_strange_migration_is_noticed(
    embedded_database: Addresses,
) -> None:
    """Those that are known are numbered without gaps."""
    numbers = [migration.number for migration in known_migrations()]
    assert numbers == list(range(1, len(numbers) + 1))
    migrate = migrating(embedded_database)
    assert [migration async for migration in migrate()] == []

    for strange, error in (
        ("INSERT INTO schema_migration VALUES (9999, 'later', 'x', now())", SchemaAhead),
        ("DELETE FROM schema_migration WHERE number = 9999", None),
        ("UPDATE schema_migration SET checksum = 'other' WHERE number = 1", SchemaEdited),
    ):
        with psycopg.connect(str(embedded_database.owner)) as owner:
            owner.execute(strange.encode())
        if error is not None:
            with pytest.raises(error):
                await anext(migrate())


@pytest.fixture(params=FIXTURES, ids=lambda path: path.stem)
def earlier(request: pytest.FixtureRequest, embedded_database: Addresses) -> Addresses:
    load_fixture(embedded_database, request.param)
    return embedded_database


@pytest.mark.requirement("postgres:schema:upgrades")
async def test_every_earlier_database_comes_to_this_schema_with_its_rows(
    earlier: Addresses,
) -> None:
    migrate = migrating(earlier)
    before = counted(earlier)

    _ = [migration async for migration in migrate()]

    assert dumped(earlier) == SCHEMA.read_text()
    assert await unsafe(earlier.app) == []
    assert all(
        before[table] > 0 for table in ("space", "principal", "api_key", "idempotency_record")
    )
    assert counted(earlier) == {**dict.fromkeys(counted(earlier), 0), **before}


def counted(database: Addresses) -> dict[str, int]:
    """How many rows each table has that holds rows of spaces."""
    with psycopg.connect(str(database.owner)) as owner:
        tables = owner.execute(
            "SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid"
            " WHERE c.relnamespace = 'portico'::regnamespace AND c.relkind IN ('r', 'p')"
            " AND NOT c.relispartition AND a.attname = 'space_id' AND NOT a.attisdropped"
        ).fetchall()
        counts: dict[str, int] = {}
        for (table,) in tables:
            row = owner.execute(f"SELECT count(*) FROM {table}".encode()).fetchone()
            counts[table] = 0 if row is None else int(row[0])
    return counts
