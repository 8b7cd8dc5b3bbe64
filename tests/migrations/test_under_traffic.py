"""Every earlier database is migrated while its own version goes on writing.

The next version has one migration more, which needs tables that are written to.
"""

import asyncio
import threading
import time

import psycopg
import pytest

from portico.adapters.postgres.addresses import Addresses
from portico.adapters.postgres.store import PostgresSchema, known_migrations
from portico.engine.core.errors import StoreBusy
from portico.engine.core.store import Migration
from portico.engine.store import MigrateStore
from tests.migrations.fixture import FIXTURES, load_fixture
from tests.migrations.writers import Traffic, forms

pytestmark = [pytest.mark.postgres]

_WRITERS = 2
_IN_USE = "LOCK TABLE portico.principal IN ROW EXCLUSIVE MODE"
"""As whoever writes into it has it, until they commit."""
_SOME = 30

_NEXT = Migration(
    len(known_migrations()) + 1,
    "next",
    "ALTER TABLE portico.principal ADD COLUMN nickname text;"
    "ALTER TABLE portico.run ADD COLUMN note text NOT NULL DEFAULT ''",
)


@pytest.fixture(params=FIXTURES, ids=lambda path: path.stem)
def earlier(request: pytest.FixtureRequest, embedded_database: Addresses) -> Addresses:
    load_fixture(embedded_database, request.param)
    return embedded_database


def migrated(database: Addresses) -> int:
    async def all_of_them() -> int:
        schema = PostgresSchema(str(database.owner))
        migrate = MigrateStore(schema=schema, known=[*known_migrations(), _NEXT])
        return len([each async for each in migrate()])

    return asyncio.run(all_of_them())


@pytest.mark.requirement("postgres:schema:under-traffic")
def test_no_acknowledged_write_is_lost_while_an_earlier_database_is_migrated(
    earlier: Addresses,
) -> None:
    traffic = Traffic(earlier, forms(str(earlier.owner)))
    assert {"principal", "idempotency_record"} <= {form.table for form in traffic.forms}

    with traffic.flowing(_WRITERS):
        traffic.until(_SOME)
        assert migrated(earlier) > 0
        traffic.until(len(traffic.acknowledged) + _SOME)  # the earlier version still can

    assert traffic.lost() == []
    assert set(traffic.refused) <= {"DeadlockDetected", "LockNotAvailable"}, traffic.refused


@pytest.mark.requirement("postgres:schema:short-locks")
def test_a_migration_lets_others_pass_while_it_waits_for_a_lock(
    embedded_database: Addresses,
) -> None:
    """Whoever waits for a table in a line that does not move holds up everybody behind it."""
    with (
        psycopg.connect(str(embedded_database.owner)) as slow,
        psycopg.connect(str(embedded_database.owner)) as other,
    ):
        slow.execute(_IN_USE)
        migrating = threading.Thread(target=migrated, args=[embedded_database])
        migrating.start()
        _waits_for_a_lock(embedded_database)

        with other.transaction():
            other.execute("SET LOCAL statement_timeout = '20s'")
            other.execute(_IN_USE)

        assert migrating.is_alive()
        slow.rollback()
        migrating.join(60)
    assert not migrating.is_alive()
    assert migrated(embedded_database) == 0


def test_a_migration_that_never_gets_its_lock_says_so_and_has_changed_nothing(
    embedded_database: Addresses, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("portico.adapters.postgres.store._TRIES", 1)
    with psycopg.connect(str(embedded_database.owner)) as slow:
        slow.execute(_IN_USE)

        with pytest.raises(StoreBusy, match=f"{_NEXT.number:04} next"):
            migrated(embedded_database)

    assert migrated(embedded_database) == 1


def _waits_for_a_lock(database: Addresses) -> None:
    deadline = time.monotonic() + 30
    with psycopg.connect(str(database.admin), autocommit=True) as admin:
        while not admin.execute("SELECT 1 FROM pg_locks WHERE NOT granted").fetchone():
            assert time.monotonic() < deadline
            time.sleep(0.01)
