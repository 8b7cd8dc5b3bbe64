"""A database of a development version, which had nineteen migrations, is refused and left alone."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Final

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from portico.adapters.postgres.addresses import OWNER, Addresses
from portico.adapters.postgres.checks import CheckSchema
from portico.adapters.postgres.embedded.programs import PostgresArchive
from portico.adapters.postgres.store import PostgresSchema, RemoteStore, known_migrations
from portico.engine.core.errors import BackupFailed, SchemaEdited
from portico.engine.core.store import State
from portico.engine.store import MigrateStore
from tests.installation import Installation, installation
from tests.servers import free_port, wheel

pytestmark = [pytest.mark.postgres]

SENTENCE: Final = "The database was made by a development version of Portico, and is not migrated."
ROWS: Final = """
    DELETE FROM portico.schema_migration;
    INSERT INTO portico.schema_migration (number, name, checksum)
    SELECT number, name, md5(name) FROM unnest(ARRAY[
        'ground_floor', 'engine_room', 'gateway', 'confinement', 'policy', 'approvals', 'audit',
        'limits', 'logins', 'sealed_results', 'waiting_runs', 'saved_workflows', 'learnt', 'graph',
        'suggestions', 'agents', 'bridge', 'debates', 'sessions'
    ]) WITH ORDINALITY AS old (name, number)
"""
NOTHING_ELSE: Final = """
    ALTER TABLE portico.schema_migration SET SCHEMA public;
    DROP SCHEMA portico CASCADE;
    CREATE SCHEMA portico;
    ALTER TABLE public.schema_migration SET SCHEMA portico;
    GRANT USAGE ON SCHEMA portico TO portico_app
"""
"""No table and no function is there under a name that this version knows."""


def changed(owner: str, *statements: str) -> None:
    with psycopg.connect(owner, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement.encode())


def tables(owner: str) -> list[str]:
    with psycopg.connect(owner) as connection:
        found = connection.execute(
            "SELECT tablename FROM pg_tables WHERE schemaname = 'portico' ORDER BY 1"
        )
        return [str(name) for (name,) in found]


@pytest.mark.requirement("postgres:schema:development")
async def test_it_is_refused_wherever_it_is_looked_at_and_nothing_is_changed(
    embedded_database: Addresses,
) -> None:
    owner = str(embedded_database.owner)
    changed(owner, ROWS)
    before = tables(owner)
    store = RemoteStore(embedded_database)
    migrate = MigrateStore(schema=PostgresSchema(owner), known=known_migrations())

    with pytest.raises(SchemaEdited, match=SENTENCE):
        await anext(migrate())
    with pytest.raises(SchemaEdited, match=SENTENCE):
        await store.status()
    found = await CheckSchema(lambda: store, lambda: migrate)(mend=True)

    assert (found.state, found.detail) == (State.BROKEN, SENTENCE)
    assert "portico init" in str(found.fix)
    assert tables(owner) == before


async def test_its_backup_does_not_replace_a_database_of_this_version(
    embedded_database: Addresses, tmp_path: Path
) -> None:
    owner = str(embedded_database.owner)
    archive = PostgresArchive(owner, wheel)
    await archive.back_up(tmp_path / "new.dump")
    changed(owner, ROWS)
    await archive.back_up(tmp_path / "old.dump")
    await archive.restore(tmp_path / "new.dump")

    with pytest.raises(BackupFailed, match="made by a development version of Portico"):
        await archive.restore(tmp_path / "old.dump")

    applied = await PostgresSchema(owner).applied()
    assert [each.name for each in applied] == [each.name for each in known_migrations()]


def owner_of(house: Installation) -> str:
    passwords = json.loads((house.home / "data" / "secrets" / "postgres.json").read_text())
    return make_conninfo(
        host=str(house.data.parent / "run"),
        user=OWNER,
        dbname="portico",
        password=passwords[OWNER],
    )


@pytest.mark.scenario
@pytest.mark.requirement("postgres:schema:development")
def test_each_command_says_so_and_what_to_do_and_that_works_when_it_is_typed() -> None:
    with installation() as house:
        assert house.run("db", "start").code == 0
        changed(owner_of(house), ROWS, NOTHING_ELSE)

        said = [
            house.run(*command)
            for command in (["serve"], ["init"], ["db", "migrate"], ["db", "status"], ["doctor"])
        ]
        new = replace(house, home=house.home.parent / "portico-new", port=free_port())
        new.home.mkdir(mode=0o711)
        made = new.run("init")
        status = new.run("db", "status", "--json")

        for each in said:
            assert each.code == 1
            text = " ".join(f"{each.out} {each.err}".split())
            assert SENTENCE in text
            assert "export PORTICO_HOME=~/portico-new, then portico init" in text
        assert (made.code, status.code) == (0, 4), made.err
