"""The story of bringing a database up to date."""

import asyncio

import pytest

from portico.engine.core.errors import SchemaEdited
from portico.engine.core.store import Migration
from portico.engine.store import MigrateStore
from portico.testing.engine import MemorySchema

ONE, TWO = (Migration(number, f"step {number}", f"SELECT {number}") for number in (1, 2))


@pytest.fixture
def schema() -> MemorySchema:
    return MemorySchema()


async def migrated(schema: MemorySchema, *known: Migration) -> list[int]:
    return [migration.number async for migration in MigrateStore(schema=schema, known=known)()]


@pytest.mark.requirement("engine:migrations:forward-only")
async def test_each_migration_is_applied_once_and_in_order(schema: MemorySchema) -> None:
    assert [await migrated(schema, *known) for known in ((ONE,), (TWO, ONE), (TWO, ONE))] == [
        [1],
        [2],
        [],
    ]
    assert [step.checksum for step in await schema.applied()] == [ONE.checksum, TWO.checksum]


@pytest.mark.requirement("engine:migrations:forward-only")
async def test_of_two_migrators_at_once_each_step_is_applied_by_one(schema: MemorySchema) -> None:
    done = await asyncio.gather(*(migrated(schema, ONE, TWO) for _ in range(3)))

    assert sorted(done) == [[], [], [1, 2]]


@pytest.mark.requirement("engine:migrations:checksum")
async def test_nothing_is_applied_on_top_of_an_edited_migration(schema: MemorySchema) -> None:
    await migrated(schema, ONE)

    with pytest.raises(SchemaEdited):
        await migrated(schema, Migration(1, "step 1", "SELECT 'something else'"), TWO)

    assert [step.number for step in await schema.applied()] == [1]
