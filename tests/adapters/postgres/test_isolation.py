"""Two hundred spaces in one database, and nobody ever sees a row of another's."""

import random
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from uuid import UUID

import psycopg
import pytest

from portico.adapters.postgres.addresses import Addresses
from portico.adapters.postgres.keys import PostgresKeyRing, PostgresKeys
from portico.adapters.postgres.principals import PostgresPrincipals
from portico.adapters.postgres.space_settings import PostgresSpaceSettings
from portico.adapters.postgres.spaces import PostgresSpaces
from portico.adapters.postgres.transaction import Transactions, open_pool
from portico.guard.core.errors import KeyNotFound, PrincipalNotFound
from portico.kernel.ids import PrincipalId, SpaceId, uuid7
from portico.kernel.label import Label, Level
from portico.kernel.principal import Principal, PrincipalKind
from tests.adapters.postgres.bridge_town import BRIDGE_TABLES, fill_bridge
from tests.adapters.postgres.debate_town import DEBATE_TABLES, fill_debates
from tests.copies import Template

pytestmark = [pytest.mark.postgres, pytest.mark.timeout(240)]

SPACES = 200
PRINCIPALS, KEYS, SETTINGS, RECEIPTS = 25, 25, 25, 24
QUERIES = 2_000
NOW = datetime(2026, 1, 1, tzinfo=UTC)
TABLES = [
    "space",
    "principal",
    "api_key",
    "setting",
    "receipt",
    "run",
    "run_step",
    "run_signal",
    "stream",
    "event",
    "server",
    "tool",
    "embedding",
    "tool_call",
    "tool_result",
    "acquaintance",
    "tool_shape",
    "tool_flow",
    "tool_edge",
    "learnt_count",
    "policy_rule",
    "saved_workflow",
    "past_plan",
    "suggestion",
    "approval",
    "task_context",
    "audit_entry",
    "audit_head",
    "call_count",
    "budget",
    "budget_reservation",
    "token_subject",
    "login_client",
    "login",
    "login_attempt",
    "agent",
    "agent_version",
    "agent_run",
    "agent_turn",
    "agent_tool_use",
    "agent_said",
    *BRIDGE_TABLES,
    *DEBATE_TABLES,
]
RUNS = 5


@dataclass(frozen=True)
class Town:
    """Two hundred spaces with a hundred rows each, and who lives where."""

    addresses: Addresses
    people: dict[UUID, list[UUID]]
    keys: dict[UUID, list[str]]
    rows: int

    def somebody(self, chance: random.Random) -> Principal:
        space = chance.choice(list(self.people))
        return Principal(
            id=PrincipalId(chance.choice(self.people[space])),
            space=SpaceId(space),
            kind=PrincipalKind.PERSON,
            name="somebody",
            clearance=Label(Level.RESTRICTED),
        )


@pytest.fixture(scope="module", params=["embedded", "tcp"])
def town(request: pytest.FixtureRequest) -> Iterator[Town]:
    template: Template = request.getfixturevalue(f"{request.param}_template")
    with template.copy() as addresses:
        yield _built(addresses)


@pytest.fixture(scope="module")
def village(embedded_template: Template) -> Iterator[Town]:
    """Small enough to be asked once for each table."""
    with embedded_template.copy() as addresses:
        yield _built(addresses, spaces=5)


def _built(addresses: Addresses, spaces: int = SPACES) -> Town:
    chance = random.Random(7)
    people: dict[UUID, list[UUID]] = {}
    keys: dict[UUID, list[str]] = {}
    for _ in range(spaces):
        space = uuid7(NOW, chance.randbytes(8))
        people[space] = [uuid7(NOW, chance.randbytes(8)) for _ in range(PRINCIPALS)]
        keys[space] = [f"{chance.getrandbits(64):016x}"[:12] for _ in range(KEYS)]
    with psycopg.connect(str(addresses.owner)) as owner:
        for space, inhabitants in people.items():
            _fill(owner, space, inhabitants, keys[space])
        rows = sum(_count(owner, table) for table in TABLES)
    return Town(addresses, people, keys, rows)


def _fill(
    owner: psycopg.Connection, space: UUID, people: Sequence[UUID], keys: Sequence[str]
) -> None:
    first = people[0]
    owner.execute("INSERT INTO space VALUES (%s, 'a space', %s)", [space, NOW])
    with owner.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO principal (space_id, principal_id, kind, name, roles, level, created_at)"
            " VALUES (%s, %s, 'agent', %s, '{member}', 1, %s)",
            [(space, who, f"agent {n}", NOW) for n, who in enumerate(people)],
        )
        cursor.executemany(
            "INSERT INTO api_key (key_id, space_id, principal_id, purpose, name, digest, level,"
            " created_at) VALUES (%s, %s, %s, 'access', 'a key', %s, 1, %s)",
            [(key, space, first, b"\0" * 32, NOW) for key in keys],
        )
        cursor.executemany(
            "INSERT INTO setting (space_id, name, value) VALUES (%s, %s, to_jsonb(%s::text))",
            [(space, f"setting {n}", str(space)) for n in range(SETTINGS)],
        )
        cursor.executemany(
            "INSERT INTO receipt (space_id, principal_id, operation, key, fingerprint)"
            " VALUES (%s, %s, 'op', %s, 'f')",
            [(space, first, f"key {n}") for n in range(RECEIPTS)],
        )
        ids = [uuid7(NOW, key.encode()) for key in keys[:RUNS]]
        _fill_engine(cursor, space, first, ids)
        _fill_gateway(cursor, space, first, ids)
        _fill_approvals(cursor, space, first, ids)
        _fill_logins(cursor, space, first, ids)
        _fill_agents(cursor, space, first, ids)
        fill_bridge(cursor, space, first, ids)
        fill_debates(cursor, space, first, ids)
        cursor.executemany(
            "INSERT INTO policy_rule (space_id, name, ruling, tools, made_by, made_at)"
            " VALUES (%s, %s, 'deny', '{*}', 'somebody', %s)",
            [(space, f"rule-{number}", NOW) for number in range(RUNS)],
        )
        cursor.executemany(
            "INSERT INTO saved_workflow VALUES (%s, %s, '{}', '', 'pure', %s, 'agent 0', %s, %s)",
            [(space, f"workflow-{number}", first, NOW, NOW) for number in range(RUNS)],
        )
        cursor.executemany(
            "INSERT INTO task_context (space_id, context_id, principal_id, opened_at)"
            " VALUES (%s, %s, %s, %s)",
            [(space, each, first, NOW) for each in ids],
        )
        _fill_audit(cursor, space, len(ids))
        _fill_limits(cursor, space)


def _fill_limits(cursor: psycopg.Cursor, space: UUID) -> None:
    cursor.execute("INSERT INTO call_count VALUES (%s, 'tool:*', 0, '{0}')", [space])
    cursor.execute(
        "INSERT INTO budget (space_id, name, cap_tokens, cap_money, cap_time, cap_calls)"
        " VALUES (%s, 'run', 1, 1, '1s', 1)",
        [space],
    )
    cursor.execute(
        "INSERT INTO budget_reservation (space_id, budget, name, tokens, money, time, calls)"
        " VALUES (%s, 'run', 'step', 1, 1, '1s', 1)",
        [space],
    )


def _fill_engine(
    cursor: psycopg.Cursor, space: UUID, principal: UUID, runs: Sequence[UUID]
) -> None:
    cursor.executemany(
        "INSERT INTO run (space_id, run_id, principal_id, kind, fingerprint, level,"
        " clearance_level, queue, status, input, created_at)"
        " VALUES (%s, %s, %s, 'drill', 'f', 1, 1, 'runs', 'done', '{}', %s)",
        [(space, run, principal, NOW) for run in runs],
    )
    cursor.executemany(
        "INSERT INTO run_step (space_id, run_id, name, number, state, level, started_at)"
        " VALUES (%s, %s, 'a step', 1, 'done', 1, %s)",
        [(space, run, NOW) for run in runs],
    )
    cursor.executemany(
        "INSERT INTO run_signal (space_id, run_id, topic, level, principal_id, payload)"
        " VALUES (%s, %s, 'answer', 1, %s, '1')",
        [(space, run, principal) for run in runs],
    )
    cursor.executemany(
        "INSERT INTO stream (space_id, topic, level, last) VALUES (%s, %s, 1, 2)",
        [(space, f"run {n}") for n, _ in enumerate(runs)],
    )
    cursor.executemany(
        "INSERT INTO event (space_id, topic, number, event_id, type, level, facts)"
        " VALUES (%s, %s, %s, %s, 'run.done', 1, '{}')",
        [(space, f"run {n}", m, run) for n, run in enumerate(runs) for m in (1, 2)],
    )


def _fill_gateway(
    cursor: psycopg.Cursor, space: UUID, principal: UUID, ids: Sequence[UUID]
) -> None:
    cursor.executemany(
        "INSERT INTO server (space_id, server_id, name, origin, launch, launch_pin, enabled,"
        " tools_accepted, offers, accepted_offers, created_at)"
        " VALUES (%s, %s, %s, 'added', '{}', 'p', true, true, '{}', '{}', %s)",
        [(space, one, f"server-{n}", NOW) for n, one in enumerate(ids)],
    )
    cursor.executemany(
        "INSERT INTO tool (space_id, server_id, name, position, definition, pin, tokens, effect,"
        " gone) VALUES (%s, %s, 'read', 0, '{}', 'p', 1, 'unknown', false)",
        [(space, one) for one in ids],
    )
    cursor.executemany(
        "INSERT INTO embedding (space_id, model, content_key, vector) VALUES (%s, 'm', %s, '')",
        [(space, str(one)) for one in ids],
    )
    cursor.executemany(
        "INSERT INTO tool_call (space_id, call_id, started_at, principal_id, server, tool, effect,"
        " pin, arguments, incarnation, bytes_out)"
        " VALUES (%s, %s, %s, %s, 'server-0', 'read', 'unknown', 'p', '{}', 'one', 0)",
        [(space, one, NOW, principal) for one in ids],
    )
    cursor.executemany(
        "INSERT INTO tool_result (space_id, result_id, principal_id, sealed, expires_at)"
        " VALUES (%s, %s, %s, '', %s)",
        [(space, one, principal, NOW) for one in ids],
    )
    cursor.executemany(
        "INSERT INTO acquaintance (space_id, principal_id, server, tool, found_at)"
        " VALUES (%s, %s, %s, 'read', %s)",
        [(space, principal, f"server-{n}", NOW) for n, _ in enumerate(ids)],
    )
    cursor.executemany(
        "INSERT INTO tool_shape VALUES (%s, %s, 'read', 'p', 1, '{}')", [(space, i) for i in ids]
    )
    cursor.executemany(
        "INSERT INTO tool_flow VALUES (%s, %s, 'read', 'json.id', %s, 'write', 'id', 1)",
        [(space, one, ids[0]) for one in ids],
    )
    cursor.executemany(
        "INSERT INTO tool_edge VALUES (%s, 1, '{}', %s, 'read', %s, 'write', 'follows', 1, 1, %s)",
        [(space, one, ids[0], NOW) for one in ids],
    )
    cursor.executemany(
        "INSERT INTO learnt_count VALUES (%s, 1, '{}', 'k', %s, '{}', %s, 1, 1, %s)",
        [(space, one.bytes * 2, [one], NOW) for one in ids],
    )
    cursor.executemany(
        "INSERT INTO past_plan VALUES (%s, %s, %s, 1, '{}', 'tidy', '', '[]', 1, 0, 0, 0, %s)",
        [(space, one, principal, NOW) for one in ids],
    )
    cursor.executemany(
        "INSERT INTO suggestion (space_id, suggestion_id, principal_id, level, mode, raw,"
        " backing, confidence, past, result_id, made_at, expires_at)"
        " VALUES (%s, %s, %s, 1, 'suggestion', 0, 0.5, 0.5, '{}', %s, %s, %s)",
        [(space, one, principal, one, NOW, NOW) for one in ids],
    )


def _fill_logins(
    cursor: psycopg.Cursor, space: UUID, principal: UUID, servers: Sequence[UUID]
) -> None:
    cursor.execute("INSERT INTO token_subject VALUES (%s, 'i', 's', %s)", [space, principal])
    cursor.executemany(
        "INSERT INTO login_client (space_id, server_id, settings) VALUES (%s, %s, '{}')",
        [(space, server) for server in servers],
    )
    cursor.executemany(
        "INSERT INTO login (space_id, principal_id, server_id, sealed) VALUES (%s, %s, %s, 'x')",
        [(space, principal, server) for server in servers],
    )
    cursor.executemany(
        "INSERT INTO login_attempt (digest, space_id, principal_id, server_id, sealed, expires_at)"
        " VALUES (%s, %s, %s, %s, 'x', %s)",
        [(space.bytes + server.bytes, space, principal, server, NOW) for server in servers],
    )


def _fill_approvals(
    cursor: psycopg.Cursor, space: UUID, principal: UUID, ids: Sequence[UUID]
) -> None:
    cursor.executemany(
        "INSERT INTO approval (space_id, approval_id, principal_id, asker, asker_kind, context_id,"
        " action, tool, server, effect, pin, launch, hash, level, tainted, arguments, sealed,"
        " marks, before, rule, reason, asked_at, expires_at, run_id, status)"
        " VALUES (%s, %s, %s, 'agent 0', 'agent', %s, 'call', 'a.b', 'a', 'unknown', 'p', 'l',"
        " %s, 1,"
        " false, '{}', '', '[]', '[]', 'r', 'why', %s, %s, %s, 'waiting')",
        [(space, one, principal, one, "0" * 64, NOW, NOW, one) for one in ids],
    )


def _fill_agents(cursor: psycopg.Cursor, space: UUID, principal: UUID, ids: Sequence[UUID]) -> None:
    cursor.executemany(
        "INSERT INTO agent VALUES (%s, %s, %s, %s, 1, '{}', 1, '{}', %s, 'agent 0', %s, %s)",
        [(space, one, principal, f"clerk-{n}", principal, NOW, NOW) for n, one in enumerate(ids)],
    )
    cursor.executemany(
        "INSERT INTO agent_version VALUES (%s, %s, 1, 1, '{}', '{}', %s, 'agent 0', %s)",
        [(space, one, principal, NOW) for one in ids],
    )
    cursor.executemany(
        "INSERT INTO agent_run (space_id, run_id, agent_id, agent_name, agent_version, started_by,"
        " acts_as, context_id, history, status, level, started_at, model, turns, tool_uses,"
        " input_tokens, output_tokens, cached_tokens, reported, money, answer, trace_id)"
        " VALUES (%s, %s, %s, 'clerk', 1, %s, %s, %s, '[]', 'running', 1, %s, 'a:b', 1, 1, 0, 0, 0,"
        " true, 0, '', %s)",
        [(space, one, one, principal, principal, one, NOW, "0" * 32) for one in ids],
    )
    cursor.executemany(
        "INSERT INTO agent_turn (space_id, run_id, number, level, model, attempts, heard, text,"
        " thought, calls, kept, input_tokens, output_tokens, cached_tokens, reported, counted,"
        " money, finish, started_at, took, notes, span_id)"
        " VALUES (%s, %s, 1, 1, 'a:b', 1, 1, 'hello', '', '[]', 'null', 0, 0, 0, true, 0, 0,"
        " 'stop', %s, '1s', '{}', %s)",
        [(space, one, NOW, "0" * 16) for one in ids],
    )
    cursor.executemany(
        "INSERT INTO agent_tool_use (space_id, run_id, turn, place, level, call, tool, arguments,"
        " text, failed, early, started_at, took, span_id)"
        " VALUES (%s, %s, 1, 0, 1, 'c', 'files.read', '{}', 'found', false, false, %s, '1s', %s)",
        [(space, one, NOW, "0" * 16) for one in ids],
    )
    cursor.executemany(
        "INSERT INTO agent_said VALUES (%s, %s, 1, 1, '{}', 'hello', %s, %s)",
        [(space, one, principal, NOW) for one in ids],
    )


def _fill_audit(cursor: psycopg.Cursor, space: UUID, entries: int) -> None:
    cursor.executemany(
        "INSERT INTO audit_entry VALUES (%s, %s, %s, '{}', %s)",
        [(space, number + 1, NOW, bytes(32)) for number in range(entries)],
    )
    cursor.execute("INSERT INTO audit_head VALUES (%s, %s, %s)", [space, entries, bytes(32)])


def _count(connection: psycopg.Connection, table: str) -> int:
    row = connection.execute(f"SELECT count(*) FROM {table}".encode()).fetchone()
    assert row is not None
    return int(row[0])


def _enter(connection: psycopg.Connection, caller: Principal) -> None:
    connection.execute(
        "SELECT set_config('portico.space', %s, true), set_config('portico.principal', %s, true),"
        " set_config('portico.level', %s, true)",
        [str(caller.space.value), str(caller.id.value), str(int(caller.clearance.level))],
    )


def _random_query(chance: random.Random) -> str:
    """One of many ways to ask for rows; each gives the space_id of what it found."""
    one, other = chance.choice(TABLES), chance.choice(TABLES)
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


@pytest.mark.requirement("isolation:space:raw-queries")
def test_no_raw_query_of_the_application_finds_a_row_of_another_space(town: Town) -> None:
    asked, found, foreign = _asked_at_random(town, QUERIES)

    assert town.rows >= 20_000
    assert asked > QUERIES * 0.9
    assert found > 10_000
    assert foreign == 0


@pytest.mark.parametrize("table", TABLES)
def test_the_same_queries_do_find_foreign_rows_once_a_wall_is_down(
    village: Town, table: str
) -> None:
    with psycopg.connect(str(village.addresses.owner), autocommit=True) as owner:
        owner.execute(f"ALTER TABLE {table} DISABLE ROW LEVEL SECURITY".encode())
        try:
            _, _, foreign = _asked_at_random(village, 600, enough=1)
        finally:
            owner.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY".encode())
        _, _, behind_it = _asked_at_random(village, 20)

    assert foreign > 0
    assert behind_it == 0


def _asked_at_random(town: Town, queries: int, enough: int | None = None) -> tuple[int, int, int]:
    """How many queries were answered, with how many rows, how many of them another space's;
    no more are asked once those are `enough`."""
    chance = random.Random(11)
    asked = found = foreign = 0
    with psycopg.connect(town.addresses.app) as connection:
        for _ in range(queries):
            caller = town.somebody(chance)
            with connection.transaction(force_rollback=True):
                _enter(connection, caller)
                try:
                    rows = connection.execute(_random_query(chance).encode()).fetchall()
                except psycopg.errors.InsufficientPrivilege:
                    continue  # a whole row of api_key: its digest is not for the application
            asked += 1
            found += len(rows)
            foreign += sum(row[0] not in (None, caller.space.value) for row in rows)
            if enough is not None and foreign >= enough:
                break
    return asked, found, foreign


@pytest.mark.requirement("isolation:space:no-context")
@pytest.mark.parametrize("table", TABLES)
def test_without_a_space_every_table_is_empty_on_fresh_and_on_used_connections(
    town: Town, table: str
) -> None:
    space = next(iter(town.people))
    caller = _principal(space, town.people[space][0])

    with psycopg.connect(town.addresses.app) as connection:
        fresh = _visible(connection, table)
        connection.commit()
        _enter(connection, caller)
        inside = _visible(connection, table)
        connection.commit()
        used = _visible(connection, table)

    assert (fresh, used) == (0, 0)
    assert inside > 0


def _visible(connection: psycopg.Connection, table: str) -> int:
    row = connection.execute(f"SELECT count(space_id) FROM {table}".encode()).fetchone()
    assert row is not None
    return int(row[0])


@pytest.mark.requirement("isolation:space:writes")
def test_no_write_of_the_application_reaches_another_space(town: Town) -> None:
    chance = random.Random(17)

    with psycopg.connect(town.addresses.app) as connection:
        for _ in range(200):
            me, them = town.somebody(chance), town.somebody(chance)
            if me.space == them.space:
                continue
            with connection.transaction(force_rollback=True):
                _enter(connection, me)
                assert _touched(connection, "UPDATE space SET name = 'mine'") == 1
                assert _touched(connection, "UPDATE principal SET level = 0") == PRINCIPALS
                assert _touched(connection, "UPDATE api_key SET revoked_at = now()") == KEYS
                assert _touched(connection, "DELETE FROM setting") == SETTINGS
                assert _touched(connection, "UPDATE server SET enabled = false") == RUNS
                assert _touched(connection, "UPDATE tool_call SET outcome = 'done'") == RUNS
                assert _touched(connection, "DELETE FROM tool") == RUNS
                assert _touched(connection, "DELETE FROM space") == 1
            with pytest.raises(psycopg.errors.InsufficientPrivilege), connection.transaction():
                _enter(connection, me)
                connection.execute(
                    "INSERT INTO setting (space_id, name, value) VALUES (%s, 'planted', '1')",
                    [them.space.value],
                )


def _touched(connection: psycopg.Connection, statement: str) -> int:
    return connection.execute(statement.encode()).rowcount


@pytest.fixture
async def transactions(town: Town) -> AsyncIterator[Transactions]:
    async with open_pool(town.addresses.app, 4) as pool:
        yield Transactions(pool)


@pytest.mark.requirement("isolation:space:repositories")
async def test_no_repository_gives_a_row_of_another_space(
    town: Town, transactions: Transactions
) -> None:
    chance = random.Random(19)
    keys, principals = PostgresKeys(transactions), PostgresPrincipals(transactions)
    spaces, decided = PostgresSpaces(transactions), PostgresSpaceSettings(transactions)

    for _ in range(100):
        me, them = town.somebody(chance), town.somebody(chance)
        if me.space == them.space:
            continue
        their_key = chance.choice(town.keys[them.space.value])

        assert (await spaces.get(me)).id == me.space
        assert {each.space for each in await principals.page(me, after=None, limit=200)} == {
            me.space
        }
        assert {each.space for each in await keys.page(me, of=None, after=None, limit=200)} == {
            me.space
        }
        assert await keys.page(me, of=them.id, after=None, limit=200) == []
        assert await decided.get(me, "setting 1") == str(me.space.value)
        with pytest.raises(KeyNotFound):
            await keys.get(me, their_key)
        with pytest.raises(PrincipalNotFound):
            await principals.get(me, them.id)
        assert not await keys.revoke(me, their_key, NOW)
        theirs = await keys.get(them, their_key)
        assert not await keys.expire(me, theirs, NOW)
        await keys.end_invitations(me, them.id, NOW)
        await PostgresKeyRing(transactions).used(me, their_key, NOW)
        holder = await PostgresKeyRing(transactions).find(their_key)
        assert holder is not None
        assert (holder.key.revoked_at, holder.key.expires_at, holder.key.last_used_at) == (
            None,
            None,
            None,
        )


async def test_an_export_holds_one_space_and_no_proof_of_any_key(
    town: Town, transactions: Transactions
) -> None:
    me = town.somebody(random.Random(23))

    rows = [row async for row in PostgresSpaces(transactions).export(me)]

    assert {row.values["space_id"] for row in rows} == {str(me.space.value)}
    assert {row.table for row in rows} >= {"space", "principal", "api_key", "setting"}
    content = {"attachment", "declassification"}  # known by what they hold, not by a key
    assert not any("digest" in row.values for row in rows if row.table not in content)


def test_the_application_cannot_read_what_proves_a_key(town: Town) -> None:
    with (
        psycopg.connect(town.addresses.app) as connection,
        pytest.raises(psycopg.errors.InsufficientPrivilege),
    ):
        _enter(connection, town.somebody(random.Random(29)))
        connection.execute("SELECT digest FROM api_key")


@pytest.mark.parametrize("table", ["receipt", "tool_result", "acquaintance", "suggestion"])
def test_one_principal_does_not_see_what_is_another_s_alone_in_the_same_space(
    town: Town, table: str
) -> None:
    space = next(iter(town.people))
    first, second = town.people[space][:2]

    with psycopg.connect(town.addresses.app) as connection:
        seen = []
        for who in (first, second):
            with connection.transaction():
                _enter(connection, _principal(space, who))
                seen.append(_visible(connection, table))

    assert seen == [RECEIPTS if table == "receipt" else RUNS, 0]


def _principal(space: UUID, who: UUID) -> Principal:
    return Principal(
        id=PrincipalId(who),
        space=SpaceId(space),
        kind=PrincipalKind.AGENT,
        name="one",
        clearance=Label(Level.TEAM),
    )


def test_every_walled_table_is_among_those_that_are_searched(town: Town) -> None:
    with psycopg.connect(str(town.addresses.owner)) as owner:
        walled = owner.execute(
            "SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid"
            " WHERE c.relnamespace = 'portico'::regnamespace AND c.relkind IN ('r', 'p')"
            " AND NOT c.relispartition AND a.attname = 'space_id' AND NOT a.attisdropped"
        ).fetchall()

    assert {row[0] for row in walled} == set(TABLES)


@pytest.mark.requirement("isolation:label:rows")
@pytest.mark.parametrize(
    "table", ["run", "run_step", "run_signal", "stream", "event", *BRIDGE_TABLES]
)
def test_what_is_above_a_clearance_is_not_there_and_cannot_be_written(
    town: Town, table: str
) -> None:
    space = next(iter(town.people))
    cleared = _principal(space, town.people[space][0])
    low = replace(cleared, clearance=Label(Level.PUBLIC))

    with psycopg.connect(town.addresses.app) as connection:
        seen = []
        for who in (cleared, low):
            with connection.transaction():
                _enter(connection, who)
                seen.append(_visible(connection, table))
        with pytest.raises(psycopg.errors.InsufficientPrivilege), connection.transaction():
            _enter(connection, low)
            connection.execute(
                "INSERT INTO stream (space_id, topic, level, last) VALUES (%s, 'planted', 1, 1)",
                [space],
            )

    assert seen[0] > 0
    assert seen[1] == 0


@pytest.mark.requirement("isolation:label:rows")
def test_without_a_level_nothing_that_has_a_label_is_there(town: Town) -> None:
    space = next(iter(town.people))

    with psycopg.connect(town.addresses.app) as connection:
        connection.execute("SELECT set_config('portico.space', %s, true)", [str(space)])
        seen = [_visible(connection, table) for table in ("run", "stream", "event")]

    assert seen == [0, 0, 0]
