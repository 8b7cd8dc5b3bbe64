"""What the engine room may rely on of `Schema`."""

import asyncio

import psycopg
import pytest

from portico.adapters.postgres.addresses import Addresses
from portico.adapters.postgres.store import PostgresSchema, known_migrations
from portico.engine.core.store import Applied, Migration, pending
from portico.engine.ports import Schema
from portico.testing.engine import MemorySchema
from portico.testing.memory_store import BEGINNING
from tests.contracts.doors import REFUSED

KNOWN = known_migrations()
NEXT = Migration(9001, "an_attic", "CREATE TABLE portico.attic (box integer)")
AFTER = Migration(9002, "a_roof", "ALTER TABLE portico.attic ADD COLUMN roof text")


@pytest.fixture
def schema(addresses: Addresses | None) -> Schema:
    if addresses is None:
        return MemorySchema([Applied(m.number, m.name, m.checksum, BEGINNING) for m in KNOWN])
    return PostgresSchema(str(addresses.owner))


@pytest.mark.requirement("engine:migrations:forward-only")
async def test_what_was_applied_once_is_remembered_with_its_checksum_and_in_order(
    schema: Schema,
) -> None:
    before = await schema.applied()
    assert pending(KNOWN, before) == []

    await schema.apply(NEXT)
    with pytest.raises(REFUSED):
        await schema.apply(Migration(9001, "another_attic", "CREATE TABLE portico.attic_2 ()"))
    await schema.apply(AFTER)

    *earlier, attic, roof = await schema.applied()
    assert earlier == [*before]
    assert [(step.number, step.name, step.checksum) for step in (attic, roof)] == [
        (9001, "an_attic", NEXT.checksum),
        (9002, "a_roof", AFTER.checksum),
    ]


@pytest.mark.requirement("engine:migrations:forward-only")
async def test_one_migrator_at_a_time(schema: Schema) -> None:
    inside: list[int] = []
    most = 0

    async def migrate(who: int) -> None:
        nonlocal most
        async with schema.locked():
            inside.append(who)
            most = max(most, len(inside))
            await schema.applied()
            await asyncio.sleep(0)
            inside.remove(who)

    await asyncio.gather(*(migrate(who) for who in range(4)))

    assert most == 1
    with pytest.raises(OSError, match="the disk is full"):
        async with schema.locked():
            raise OSError("the disk is full")
    async with schema.locked():
        assert await schema.applied()


@pytest.mark.postgres
@pytest.mark.requirement("engine:migrations:forward-only")
async def test_a_migration_that_fails_half_way_leaves_nothing(
    embedded_database: Addresses,
) -> None:
    """Only a real database runs them, and so only it can fail."""
    schema = PostgresSchema(str(embedded_database.owner))
    before = await schema.applied()
    broken = Migration(9001, "broken", "CREATE TABLE portico.half (); SELECT 1 / 0")

    with pytest.raises(psycopg.errors.DivisionByZero):
        await schema.apply(broken)

    assert await schema.applied() == before
    await schema.apply(Migration(9001, "mended", "CREATE TABLE portico.half ()"))
