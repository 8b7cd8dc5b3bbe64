"""A backup holds everything, and a restore brings it back or changes nothing."""

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from portico.adapters.postgres.addresses import Addresses
from portico.adapters.postgres.embedded.programs import PostgresArchive, client_programs
from portico.adapters.postgres.store import PostgresSchema, known_migrations, unsafe
from portico.engine.core.errors import BackupFailed, SchemaAhead
from portico.engine.store import MigrateStore
from tests.migrations.test_schema import SCHEMA, dumped
from tests.servers import reachable_folder

pytestmark = [pytest.mark.postgres]


@pytest.fixture
def folder() -> Iterator[Path]:
    with reachable_folder() as made:
        yield made


def archive(database: Addresses) -> PostgresArchive:
    return PostgresArchive(str(database.owner), client_programs)


def fill(database: Addresses, name: str, spaces: int = 3) -> None:
    with psycopg.connect(str(database.owner)) as owner:
        owner.execute(
            "INSERT INTO space SELECT gen_random_uuid(), %s, now() FROM generate_series(1, %s)",
            [name, spaces],
        )


def names(database: Addresses) -> list[str]:
    with psycopg.connect(str(database.owner)) as owner:
        return [row[0] for row in owner.execute("SELECT name FROM space ORDER BY name")]


@pytest.mark.requirement("postgres:backup:restores")
async def test_a_restore_brings_back_the_rows_of_every_space_and_their_walls(
    database: Addresses, folder: Path
) -> None:
    fill(database, "kept")
    await archive(database).back_up(folder / "all.dump")
    with psycopg.connect(str(database.owner)) as owner:
        owner.execute("DELETE FROM space")
    fill(database, "later", 1)

    await archive(database).restore(folder / "all.dump")

    assert names(database) == ["kept", "kept", "kept"]
    assert await unsafe(database.app) == []
    with psycopg.connect(database.app) as app:
        assert app.execute("SELECT count(*) FROM space").fetchone() == (0,)


@pytest.mark.requirement("postgres:backup:way-back")
async def test_the_version_before_comes_back_by_the_backup_that_it_made(
    embedded_database: Addresses, folder: Path
) -> None:
    owner_address = str(embedded_database.owner)
    migrate = MigrateStore(schema=PostgresSchema(owner_address), known=known_migrations())
    fill(embedded_database, "kept")
    await archive(embedded_database).back_up(folder / "before.dump")
    with psycopg.connect(owner_address) as owner:
        owner.execute("CREATE TABLE portico.of_a_later_version (space_id uuid)")
        owner.execute("ALTER TABLE portico.principal RENAME COLUMN name TO called")
        owner.execute("INSERT INTO schema_migration VALUES (9999, 'later', 'x', now())")
    with pytest.raises(SchemaAhead):
        await anext(migrate())

    await archive(embedded_database).restore(folder / "before.dump")

    assert [each async for each in migrate()] == []
    assert names(embedded_database) == ["kept", "kept", "kept"]
    assert dumped(embedded_database) == SCHEMA.read_text()


async def test_a_backup_is_closed_to_others_and_leaves_no_half_of_itself(
    database: Addresses, folder: Path
) -> None:
    target = folder / "made" / "all.dump"

    await archive(database).back_up(target)

    assert target.stat().st_mode & 0o777 == 0o600
    assert [each.name for each in target.parent.iterdir()] == ["all.dump"]


async def test_a_restore_from_something_else_changes_nothing(
    database: Addresses, folder: Path
) -> None:
    fill(database, "kept")
    (folder / "junk").write_bytes(b"not a backup")

    with pytest.raises(BackupFailed, match="pg_restore failed"):
        await archive(database).restore(folder / "junk")

    assert names(database) == ["kept", "kept", "kept"]


async def test_a_restore_that_breaks_half_way_changes_nothing(
    database: Addresses, folder: Path
) -> None:
    fill(database, "kept", 2000)
    await archive(database).back_up(folder / "all.dump")
    whole = (folder / "all.dump").read_bytes()
    (folder / "cut.dump").write_bytes(whole[: len(whole) * 9 // 10])
    fill(database, "later", 1)

    with pytest.raises(BackupFailed):
        await archive(database).restore(folder / "cut.dump")

    assert len(names(database)) == 2001


async def test_the_password_is_not_among_the_arguments_that_everybody_can_read(
    database: Addresses, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []
    run = asyncio.create_subprocess_exec

    async def noting(*arguments: str | os.PathLike[str], **options: Any) -> object:
        seen.extend(map(str, arguments))
        return await run(*arguments, **options)

    monkeypatch.setattr(asyncio, "create_subprocess_exec", noting)
    password = conninfo_to_dict(str(database.owner))["password"]

    await archive(database).back_up(folder / "all.dump")

    assert seen
    assert not any(str(password) in argument for argument in seen)


async def test_a_backup_of_an_earlier_schema_takes_the_place_of_a_later_one(
    database: Addresses, folder: Path
) -> None:
    fill(database, "kept")
    await archive(database).back_up(folder / "all.dump")
    with psycopg.connect(str(database.owner)) as owner:
        owner.execute("CREATE TABLE later (space_id uuid REFERENCES space)")
        owner.execute("CREATE VIEW newer AS SELECT name FROM space")

    await archive(database).restore(folder / "all.dump")

    assert names(database) == ["kept", "kept", "kept"]
    with psycopg.connect(str(database.owner)) as owner:
        assert owner.execute("SELECT to_regclass('portico.later')").fetchone() == (None,)
