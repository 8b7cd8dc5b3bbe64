"""The catalogue has no gap in its walls, and the test for that finds one when there is one."""

import psycopg
import pytest

from portico.adapters.postgres.addresses import Addresses
from portico.adapters.postgres.store import unsafe

pytestmark = [pytest.mark.postgres]


PAYLOADS = [
    ("run", "input"),
    ("run", "result"),
    ("run", "error"),
    ("run_step", "output"),
    ("run_step", "error"),
    ("run_signal", "payload"),
    ("event", "facts"),
    ("event_other", "facts"),
    ("idempotency_record", "body"),
    ("server", "launch"),
    ("server", "offers"),
    ("tool", "definition"),
    ("tool", "accepted_definition"),
    ("embedding", "vector"),
    ("tool_call", "arguments"),
    ("tool_call_other", "arguments"),
    ("tool_result", "sealed"),
]
"""What people and their work have written, and the engine hands on unread."""

WALL = "space_id = (SELECT nullif(current_setting('portico.space', true), '')::uuid)"
LACKS = "lacks forced row-level security"
GAPS = {
    "CREATE TABLE portico.forgotten (space_id uuid)": f"table forgotten {LACKS}",
    "CREATE TABLE portico.half (space_id uuid);"
    "ALTER TABLE portico.half ENABLE ROW LEVEL SECURITY": f"table half {LACKS}",
    "ALTER TABLE portico.setting NO FORCE ROW LEVEL SECURITY": f"table setting {LACKS}",
    "CREATE VIEW portico.window AS SELECT space_id FROM portico.principal": (
        "view window is not security_invoker"
    ),
    "CREATE MATERIALIZED VIEW portico.copy AS SELECT space_id FROM portico.principal": (
        "materialized view copy cannot have row-level security"
    ),
    "ALTER POLICY owner_door ON portico.setting TO public": (
        "the policy owner_door on setting opens a wall"
    ),
    "CREATE POLICY oops ON portico.principal USING (true)": (
        "the policy oops on principal opens a wall"
    ),
    f"ALTER POLICY space_wall ON portico.principal USING ({WALL} OR true)": (
        "the policy space_wall on principal opens a wall"
    ),
    "ALTER POLICY engine_door ON portico.run TO portico_engine, portico_app": (
        "the policy engine_door on run opens a wall"
    ),
    f"ALTER POLICY space_wall ON portico.message USING ({WALL} AND (NOT closed OR true))": (
        "the policy space_wall on message opens a wall"
    ),
    **{
        f"GRANT SELECT ({column}) ON portico.{table} TO portico_engine": (
            f"the role portico_engine may read {table}.{column}"
        )
        for table, column in PAYLOADS
    },
    "CREATE FUNCTION portico.loose() RETURNS int LANGUAGE sql SECURITY DEFINER AS 'SELECT 1'": (
        "the function loose runs as its owner without a fixed search_path"
    ),
}


@pytest.fixture(params=["embedded", "tcp"])
def database(request: pytest.FixtureRequest) -> Addresses:
    """The walls are looked at on both servers in the gate, too."""
    found: Addresses = request.getfixturevalue(f"{request.param}_database")
    return found


@pytest.mark.requirement("isolation:catalogue:forced")
async def test_every_table_is_walled_and_each_gap_in_the_walls_is_found(
    database: Addresses,
) -> None:
    assert await unsafe(database.app) == []

    with psycopg.connect(str(database.owner), autocommit=True) as owner:
        for number, change in enumerate(GAPS, start=1):
            owner.execute(change.encode())

            assert sorted(await unsafe(database.app)) == sorted([*GAPS.values()][:number]), change


async def test_a_role_that_could_become_another_is_found(database: Addresses) -> None:
    with psycopg.connect(str(database.admin), autocommit=True) as admin:
        admin.execute("GRANT portico_owner TO portico_app")
        try:
            found = await unsafe(database.app)
        finally:
            admin.execute("REVOKE portico_owner FROM portico_app")

    assert found == ["the role portico_app is a member of portico_owner"]


async def test_a_table_that_the_application_owns_is_found(database: Addresses) -> None:
    with psycopg.connect(str(database.admin), autocommit=True) as admin:
        admin.execute("CREATE TABLE public.mine (n int)")
        admin.execute("ALTER TABLE public.mine OWNER TO portico_app")

    assert await unsafe(database.app) == ["the role portico_app owns mine"]


def test_every_walled_table_has_the_same_policies_in_the_form_that_is_evaluated_once(
    database: Addresses,
) -> None:
    with psycopg.connect(str(database.owner)) as owner:
        rows = owner.execute(
            "SELECT tablename, policyname, roles, qual, with_check FROM pg_policies"
            " WHERE schemaname = 'portico' AND policyname <> 'engine_door'"
            " AND permissive = 'PERMISSIVE'"
        ).fetchall()
        tables = owner.execute(
            "SELECT table_name FROM information_schema.columns"
            " WHERE table_schema = 'portico' AND column_name = 'space_id'"
        ).fetchall()

    by_table: dict[str, dict[str, tuple[str, str]]] = {}
    for table, policy, roles, qual, check in rows:
        by_table.setdefault(table, {})[policy] = (qual, check)
        assert roles == (["portico_owner"] if policy == "owner_door" else ["public"])
    assert set(by_table) == {row[0] for row in tables}
    for policies in by_table.values():
        assert set(policies) == {"space_wall", "owner_door"}
        qual, check = policies["space_wall"]
        assert qual == check
        assert "( SELECT (NULLIF(current_setting('portico.space'" in qual


def test_a_policy_that_only_narrows_what_is_let_in_is_no_gap(database: Addresses) -> None:
    with psycopg.connect(str(database.owner)) as owner:
        rows = owner.execute(
            "SELECT tablename, cmd, with_check FROM pg_policies"
            " WHERE schemaname = 'portico' AND permissive = 'RESTRICTIVE' AND cmd = 'INSERT'"
        ).fetchall()

    by_mark = {row[0] for row in rows if row[2] == "mark_covered(level, compartments)"}
    assert by_mark >= {"project", "memory", "attachment", "lease", "work_item"}
    assert {row[0] for row in rows} - by_mark == {"debate_persona"}


COUNTED = [
    "SELECT last_seq FROM portico.conversation",
    "SELECT said FROM portico.conversation",
    "SELECT newest FROM portico.conversation",
    "SELECT seen FROM portico.participant",
    "SELECT last_seq FROM portico.participant",
    "SELECT apart FROM portico.participant",
    "SELECT label FROM portico.message",
    "SELECT words FROM portico.message",
    "SELECT seq FROM portico.mention",
    "SELECT seq FROM portico.read_message",
    "SELECT seq FROM portico.embedding_progress",
    "SELECT embedding FROM portico.message_vector",
    "INSERT INTO portico.message (space_id) VALUES (NULL)",
    "UPDATE portico.message SET body = ''",
    "DELETE FROM portico.message",
    "SELECT portico.bridge_label_number(NULL, NULL, NULL)",
    "SELECT portico.bridge_forget('1 day', 1)",
    "SELECT portico.bridge_forget_memory('1 day', 1)",
]
"""What is counted over all labels is nothing for the application."""
UNDONE = [
    "DELETE FROM portico.tool_call",
    "UPDATE portico.tool_call SET arguments = 'null'",
    "UPDATE portico.tool_call SET principal_id = space_id",
    "DELETE FROM portico.tool_result",
]
"""The record of calls cannot be undone by it."""


def test_the_application_has_no_right_to_what_is_not_its_to_see_or_to_undo(
    database: Addresses,
) -> None:
    with psycopg.connect(database.app, autocommit=True) as app:
        for query in (*COUNTED, *UNDONE):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                app.execute(query.encode())


def test_the_application_may_make_nothing_of_its_own(database: Addresses) -> None:
    with psycopg.connect(database.app, autocommit=True) as app:
        for statement in (
            "CREATE TABLE portico.mine (n int)",
            "CREATE TABLE public.mine (n int)",
            "CREATE SCHEMA mine",
            "CREATE ROLE mine",
            "SET ROLE portico_owner",
            "ALTER TABLE setting DISABLE ROW LEVEL SECURITY",
            "COPY (SELECT 1) TO PROGRAM 'true'",
            "SELECT pg_read_file('/etc/hostname')",
        ):
            with pytest.raises(psycopg.Error):
                app.execute(statement.encode())


WRITTEN = [
    "SELECT * FROM portico.space",
    "SELECT * FROM portico.principal",
    "SELECT key_id FROM portico.api_key",
    "SELECT value FROM portico.setting",
    "SELECT portico.find_api_key('k')",
    "SELECT name FROM portico.run_step",
    "SELECT topic FROM portico.run_signal",
    "SELECT number FROM portico.event_other",
    "SELECT name FROM portico.server",
    "SELECT name FROM portico.tool",
    "SELECT server FROM portico.tool_call",
    "SELECT error FROM portico.tool_call",
    "SELECT call_id FROM portico.tool_call_other",
    "SELECT principal_id FROM portico.tool_result",
    "SELECT found_for FROM portico.tool_usage",
    *(f"SELECT {column} FROM portico.{table}" for table, column in PAYLOADS),
]


@pytest.mark.requirement("isolation:engine:no-payload")
@pytest.mark.requirement("engine:roles:ids-only")
def test_the_engine_reads_nothing_that_people_wrote(database: Addresses) -> None:
    with psycopg.connect(str(database.engine), autocommit=True) as engine:
        for query in WRITTEN:
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                engine.execute(query.encode())


def test_the_engine_makes_and_drops_months_of_nothing_but_a_log(database: Addresses) -> None:
    with psycopg.connect(str(database.engine), autocommit=True) as engine:
        for log in ("space", "principal", "event_other", "tool_call; DROP TABLE x"):
            for function in ("prepare_months(%s, 2)", "drop_months(%s, now())"):
                with pytest.raises(psycopg.errors.RaiseException, match="is not kept by months"):
                    engine.execute(f"SELECT portico.{function}".encode(), [log])


def test_the_engine_sees_which_runs_and_topics_there_are(database: Addresses) -> None:
    with psycopg.connect(str(database.engine), autocommit=True) as engine:
        for query in (
            "SELECT space_id, run_id, status FROM portico.run",
            "SELECT space_id, topic, first, last FROM portico.stream",
            "SELECT space_id, topic, number, at FROM portico.event",
            "SELECT space_id, key, created_at FROM portico.idempotency_record",
            "SELECT space_id, call_id, started_at FROM portico.tool_call",
            "SELECT space_id, result_id, expires_at FROM portico.tool_result",
        ):
            assert engine.execute(query.encode()).fetchall() == []


def test_every_walled_table_goes_with_its_space(database: Addresses) -> None:
    with psycopg.connect(str(database.owner)) as owner:
        left_behind = owner.execute(
            """
            SELECT c.relname FROM pg_class c
             WHERE c.relnamespace = 'portico'::regnamespace AND c.relkind IN ('r', 'p')
               AND c.relname <> 'space'
               AND EXISTS (SELECT FROM pg_attribute a
                            WHERE a.attrelid = c.oid AND a.attname = 'space_id')
               AND NOT EXISTS (SELECT FROM pg_constraint k
                                WHERE k.conrelid = c.oid AND k.contype = 'f'
                                  AND k.confdeltype = 'c' AND k.convalidated)
            """
        ).fetchall()

    assert left_behind == []
