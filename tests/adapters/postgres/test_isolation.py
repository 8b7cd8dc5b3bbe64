"""Two hundred spaces in one database, and nobody ever sees a row of another's."""

import random
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime

import psycopg
import pytest

from portico.adapters.postgres.guard.keys import PostgresKeyRing, PostgresKeys
from portico.adapters.postgres.guard.principals import PostgresPrincipals
from portico.adapters.postgres.guard.spaces import PostgresSpaces, PostgresSpaceSettings
from portico.adapters.postgres.transaction import Transactions, open_pool
from portico.guard.core.errors import KeyNotFound, PrincipalNotFound
from portico.kernel.label import Label, Level
from tests.adapters.postgres.bridge_town import BRIDGE_TABLES
from tests.adapters.postgres.debate_town import DEBATE_TABLES
from tests.adapters.postgres.town import ROWS, Town, built, counted, enter
from tests.copies import Template

pytestmark = [pytest.mark.postgres]

QUERIES = 2_000
NOW = datetime(2026, 1, 1, tzinfo=UTC)
OWN = ["idempotency_record", "tool_result", "tool_usage", "suggestion", "login", "login_attempt"]
"""What is somebody's alone, also in their space."""
UNLABELLED = {"principal", "api_key", "taint_context"}
"""Whose level is what somebody is cleared for or has read, and hides nothing."""


@pytest.fixture(scope="module", params=["embedded", pytest.param("tcp", marks=pytest.mark.nightly)])
def town(request: pytest.FixtureRequest) -> Iterator[Town]:
    template: Template = request.getfixturevalue(f"{request.param}_template")
    with template.copy() as addresses:
        yield built(addresses, 200)


@pytest.fixture
async def transactions(town: Town) -> AsyncIterator[Transactions]:
    async with open_pool(town.addresses.app, 4) as pool:
        yield Transactions(pool)


def _random_query(chance: random.Random, tables: Sequence[str]) -> str:
    """One of many ways to ask for rows; each gives the space_id of what it found."""
    one, other = chance.choice(tables), chance.choice(tables)
    return chance.choice(
        [
            f"SELECT space_id FROM {one}",
            f"SELECT space_id FROM {one} WHERE true OR space_id IS NOT NULL",
            f"SELECT a.space_id FROM {one} a JOIN {other} b ON true LIMIT 500",
            f"SELECT b.space_id FROM {one} a RIGHT JOIN {other} b USING (space_id) LIMIT 500",
            f"SELECT space_id FROM (SELECT * FROM {one} ORDER BY random()) x LIMIT 50",
            f"WITH x AS MATERIALIZED (SELECT space_id FROM {one}) SELECT space_id FROM x",
            f"SELECT space_id FROM {one} UNION ALL SELECT space_id FROM {other}",
            f"SELECT DISTINCT space_id FROM {one}",
            f"SELECT space_id FROM {one} GROUP BY space_id HAVING count(*) > 0",
            f"SELECT (SELECT max(space_id::text)::uuid FROM {other}) FROM {one} LIMIT 20",
            f"SELECT space_id FROM {one} TABLESAMPLE SYSTEM (100)",
            f"SELECT space_id FROM ONLY {one} WHERE ctid > '(0,0)'",
            f"SELECT (x).space_id FROM (SELECT {one} AS x FROM {one}) y",
            f"SELECT (to_jsonb(x)->>'space_id')::uuid FROM (SELECT space_id FROM {one}) x",
            f"SELECT space_id FROM {one} x, LATERAL (SELECT 1 FROM {other} LIMIT 1) y",
            f"SELECT space_id FROM {one} WHERE space_id <> current_setting('portico.space')::uuid",
        ]
    )


def _asked_at_random(
    town: Town, queries: int, tables: Sequence[str], enough: int | None = None
) -> tuple[int, int, int]:
    """How many queries were answered, with how many rows, how many of them another space's;
    no more are asked once those are `enough`."""
    chance = random.Random(11)
    asked = found = foreign = 0
    with psycopg.connect(town.addresses.app) as connection:
        for _ in range(queries):
            caller = town.somebody(chance)
            with connection.transaction(force_rollback=True):
                enter(connection, caller)
                try:
                    rows = connection.execute(_random_query(chance, tables).encode()).fetchall()
                except psycopg.errors.InsufficientPrivilege:
                    continue  # a whole row of api_key: its digest is not for the application
            asked += 1
            found += len(rows)
            foreign += sum(row[0] not in (None, caller.space.value) for row in rows)
            if enough is not None and foreign >= enough:
                break
    return asked, found, foreign


@pytest.mark.requirement("isolation:space:raw-queries")
def test_no_raw_query_of_the_application_finds_a_row_of_another_space(town: Town) -> None:
    asked, found, foreign = _asked_at_random(town, QUERIES, town.tables)

    assert town.rows >= 20_000
    assert {*BRIDGE_TABLES, *DEBATE_TABLES} < {*town.tables}
    assert asked > QUERIES * 0.9
    assert found > 4_000
    assert foreign == 0


def test_the_same_queries_do_find_foreign_rows_once_a_wall_is_down(
    embedded_template: Template,
) -> None:
    with embedded_template.copy() as addresses:
        village = built(addresses, 5)  # small enough to be asked for each table
        with psycopg.connect(str(addresses.owner), autocommit=True) as owner:
            for table in village.tables:
                owner.execute(f"ALTER TABLE {table} DISABLE ROW LEVEL SECURITY".encode())
                _, _, foreign = _asked_at_random(village, 60, [table], enough=1)
                owner.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY".encode())
                _, _, behind_it = _asked_at_random(village, 20, [table])

                assert foreign > 0, table
                assert behind_it == 0, table


@pytest.mark.requirement("isolation:space:no-context")
def test_without_a_space_every_table_is_empty_on_fresh_and_on_used_connections(town: Town) -> None:
    caller = replace(town.principal(), clearance=Label(Level.TEAM))

    for table in town.tables:
        with psycopg.connect(town.addresses.app) as connection:
            fresh = counted(connection, table)
            connection.commit()
            enter(connection, caller)
            inside = counted(connection, table)
            connection.commit()
            used = counted(connection, table)

        assert (fresh, used) == (0, 0), table
        assert inside > 0, table


@pytest.mark.requirement("isolation:space:writes")
def test_no_write_of_the_application_reaches_another_space(town: Town) -> None:
    chance = random.Random(17)
    planted = "INSERT INTO setting (space_id, name, value) VALUES (%s, 'planted', '1')"

    with psycopg.connect(town.addresses.app) as connection:
        for _ in range(200):
            me, them = town.somebody(chance), town.somebody(chance)
            if me.space == them.space:
                continue
            with connection.transaction(force_rollback=True):
                enter(connection, me)
                for statement in (
                    "UPDATE principal SET level = 0",
                    "UPDATE api_key SET revoked_at = now()",
                    "DELETE FROM setting",
                    "UPDATE server SET enabled = false",
                    "UPDATE tool_call SET outcome = 'done'",
                    "DELETE FROM tool",
                ):
                    assert connection.execute(statement.encode()).rowcount == ROWS
                for statement in ("UPDATE space SET name = 'mine'", "DELETE FROM space"):
                    assert connection.execute(statement.encode()).rowcount == 1
            with pytest.raises(psycopg.errors.InsufficientPrivilege), connection.transaction():
                enter(connection, me)
                connection.execute(planted, [them.space.value])


@pytest.mark.requirement("isolation:space:repositories")
async def test_no_repository_gives_a_row_of_another_space(
    town: Town, transactions: Transactions
) -> None:
    chance = random.Random(19)
    keys, principals = PostgresKeys(transactions), PostgresPrincipals(transactions)
    spaces, decided = PostgresSpaces(transactions), PostgresSpaceSettings(transactions)
    ring = PostgresKeyRing(transactions)

    for _ in range(100):
        me, them = town.somebody(chance), town.somebody(chance)
        if me.space == them.space:
            continue
        their_key = chance.choice(town.keys[them.space.value])

        assert (await spaces.get(me)).id == me.space
        for found in (
            await principals.page(me, after=None, limit=200),
            await keys.page(me, of=None, after=None, limit=200),
        ):
            assert {each.space for each in found} == {me.space}
        assert await keys.page(me, of=them.id, after=None, limit=200) == []
        assert await decided.get(me, "t1") == str(me.space.value)
        with pytest.raises(KeyNotFound):
            await keys.get(me, their_key)
        with pytest.raises(PrincipalNotFound):
            await principals.get(me, them.id)
        assert not await keys.revoke(me, their_key, NOW)
        assert not await keys.expire(me, await keys.get(them, their_key), NOW)
        await keys.end_invitations(me, them.id, NOW)
        await ring.used(me, their_key, NOW)
        holder = await ring.find(their_key)
        assert holder is not None
        now = holder.key
        assert (now.revoked_at, now.expires_at, now.last_used_at) == (None, None, None)


async def test_an_export_holds_one_space_and_no_proof_of_any_key(
    town: Town, transactions: Transactions
) -> None:
    me = town.somebody(random.Random(23))

    rows = [row async for row in PostgresSpaces(transactions).export(me)]

    assert {row.values["space_id"] for row in rows} == {str(me.space.value)}
    assert {row.table for row in rows} >= {"space", "principal", "api_key", "setting"}
    content = {"attachment", "declassification"}  # known by what they hold, not by a key
    assert not any("digest" in row.values for row in rows if row.table not in content)
    with (
        psycopg.connect(town.addresses.app) as connection,
        pytest.raises(psycopg.errors.InsufficientPrivilege),
    ):
        enter(connection, me)
        connection.execute("SELECT digest FROM api_key")


def test_one_principal_does_not_see_what_is_another_s_alone_in_the_same_space(town: Town) -> None:
    for table in OWN:
        with psycopg.connect(town.addresses.app) as connection:
            seen = []
            for number in (0, 1):
                with connection.transaction():
                    enter(connection, town.principal(number=number))
                    seen.append(counted(connection, table))

        assert seen == [ROWS, 0], table


@pytest.mark.requirement("isolation:label:rows")
def test_what_is_above_a_clearance_is_not_there_and_cannot_be_written(town: Town) -> None:
    team = replace(town.principal(), clearance=Label(Level.TEAM))
    low, labelled = replace(team, clearance=Label(Level.PUBLIC)), _labelled(town)
    assert {"run", "run_step", "run_signal", "stream", "event", "message"} < {*labelled}

    shown: dict[str, tuple[int, ...]] = {}
    with psycopg.connect(town.addresses.app) as connection:
        for table in labelled:
            seen = []
            for who in (team, low):
                with connection.transaction():
                    enter(connection, who)
                    seen.append(counted(connection, table))
            shown[table] = tuple(seen)
        assert {table: seen for table, seen in shown.items() if not seen[0] or seen[1]} == {}
        with pytest.raises(psycopg.errors.InsufficientPrivilege), connection.transaction():
            enter(connection, low)
            connection.execute(
                "INSERT INTO stream (space_id, topic, level, last) VALUES (%s, 'planted', 1, 1)",
                [low.space.value],
            )
        with connection.transaction():
            connection.execute(
                "SELECT set_config('portico.space', %s, true)", [str(low.space.value)]
            )
            for table in labelled:  # without a level nothing that has a label is there
                assert counted(connection, table) == 0, table


def _labelled(town: Town) -> list[str]:
    """With a level of their own, or of what they are about."""
    with psycopg.connect(str(town.addresses.owner)) as owner:
        rows = owner.execute(
            "SELECT table_name FROM information_schema.columns"
            " WHERE table_schema = 'portico' AND column_name = 'level' ORDER BY 1"
        ).fetchall()
    return sorted({name for (name,) in rows if name in town.tables} - UNLABELLED | {*BRIDGE_TABLES})
