"""Every column that the vault has sealed is found, sealed anew, and opens where it is read."""

import asyncio
from typing import LiteralString
from uuid import UUID

import psycopg
import pytest
from psycopg import sql

from portico.adapters.crypto import RingVault
from portico.adapters.postgres.addresses import Addresses
from portico.adapters.postgres.guard.logins import BEGUN_IN
from portico.adapters.postgres.guard.vault import SEALED, SealedRows, rotating_alone
from portico.gateway.core.calls import ResultId, sealed_with
from portico.guard.approvals import sealed_for
from portico.guard.core.oauth_logins import client_context, login_context
from portico.guard.core.vault import VaultKeys
from portico.kernel.ids import ApprovalId, Id, PrincipalId, SpaceId
from portico.testing.memory_store import SeededEntropy

pytestmark = [pytest.mark.postgres]

ENTROPY = SeededEntropy("columns")
OLD, NEW, STRANGE = (VaultKeys.fresh(ENTROPY) for _ in range(3))
BOTH = VaultKeys((*NEW.keys, *OLD.keys))
SPACE, WHO, SERVER, APPROVAL, RESULT = (
    UUID(int=number, version=4) for number in range(1 << 40, (1 << 40) + 5)
)


def test_every_sealed_column_of_the_database_is_named(embedded_database: Addresses) -> None:
    with psycopg.connect(str(embedded_database.owner)) as owner:
        found = owner.execute(
            "SELECT table_name FROM information_schema.columns"
            " WHERE table_schema = 'portico' AND column_name = 'sealed'"
        ).fetchall()

    assert {name for (name,) in found} == {column.table for column in SEALED}


LOGIN = login_context(SpaceId(SPACE), PrincipalId(WHO), Id(SERVER))
CONTEXTS = {
    "approval": sealed_for(ApprovalId(APPROVAL)),
    "login": LOGIN,
    "login_attempt": BEGUN_IN + LOGIN,
    "login_client": client_context(SpaceId(SPACE), Id(SERVER)),
    "tool_result": sealed_with(SpaceId(SPACE), PrincipalId(WHO), ResultId(RESULT)),
}


INSERTS: dict[str, LiteralString] = {
    "approval": """
        INSERT INTO approval (space_id, approval_id, principal_id, asker, asker_kind, context_id,
            action, tool, server, effect, pin, launch, hash, level, tainted, arguments, sealed,
            marks, before, rule, reason, asked_at, expires_at, run_id, status)
        VALUES (%(space)s, %(approval)s, %(who)s, 'ana', 'agent', %(approval)s, 'call', 'far.do',
            'far', 'unknown', 'p', 'l', repeat('0', 64), 1, false, '{}', %(sealed)s, '[]', '[]',
            'default', 'because', now(), now() + interval '1 day', %(approval)s, 'waiting')
    """,
    "login": """
        INSERT INTO login (space_id, principal_id, server_id, sealed)
        VALUES (%(space)s, %(who)s, %(server)s, %(sealed)s)
    """,
    "login_attempt": """
        INSERT INTO login_attempt (digest, space_id, principal_id, server_id, sealed, expires_at)
        VALUES (decode(repeat('00', 32), 'hex'), %(space)s, %(who)s, %(server)s, %(sealed)s, now())
    """,
    "login_client": """
        INSERT INTO login_client (space_id, server_id, settings, sealed)
        VALUES (%(space)s, %(server)s, '{}', %(sealed)s)
    """,
    "tool_result": """
        INSERT INTO tool_result (space_id, result_id, principal_id, sealed, expires_at)
        VALUES (%(space)s, %(result)s, %(who)s, %(sealed)s, now())
    """,
}


def filled(owner: psycopg.Connection, keys: VaultKeys) -> None:
    """A row of each, sealed in the context in which it is read."""
    owner.execute("INSERT INTO space VALUES (%s, 'a space', now())", [SPACE])
    owner.execute(
        "INSERT INTO principal (space_id, principal_id, kind, name, roles, level, created_at)"
        " VALUES (%s, %s, 'agent', 'ana', '{member}', 1, now())",
        [SPACE, WHO],
    )
    owner.execute(
        "INSERT INTO server (space_id, server_id, name, origin, launch, launch_pin, enabled,"
        " tools_accepted, offers, accepted_offers, created_at)"
        " VALUES (%s, %s, 'far', 'added', '{}', 'p', true, true, '{}', '{}', now())",
        [SPACE, SERVER],
    )
    ids = {"space": SPACE, "who": WHO, "server": SERVER, "approval": APPROVAL, "result": RESULT}
    for table, context in CONTEXTS.items():
        sealed = RingVault(keys).encrypt(table.encode(), context)
        owner.execute(INSERTS[table], {**ids, "sealed": sealed})


@pytest.fixture
def owner(embedded_database: Addresses) -> str:
    return str(embedded_database.owner)


async def test_everything_is_sealed_anew_and_opens_where_it_is_read(owner: str) -> None:
    with psycopg.connect(owner) as connection:
        filled(connection, OLD)
    rows = SealedRows(owner)
    assert await rows.tally() == {OLD.current.id: 5}

    known = [*BOTH.ids()]
    first = await rows.seal_anew(RingVault(BOTH), NEW.current.id, known, 1)
    rest = await rows.seal_anew(RingVault(BOTH), NEW.current.id, known, 1)

    assert (first, rest) == (5, 0)
    assert await rows.tally() == {NEW.current.id: 5}
    with psycopg.connect(owner) as connection:
        for table, context in CONTEXTS.items():
            query = sql.SQL("SELECT sealed FROM {}").format(sql.Identifier(table))
            [[sealed]] = connection.execute(query).fetchall()
            assert RingVault(NEW).decrypt(sealed, context) == table.encode()


async def test_what_a_strangers_key_has_sealed_is_left_alone_and_told(owner: str) -> None:
    with psycopg.connect(owner) as connection:
        filled(connection, STRANGE)
    rows = SealedRows(owner)

    assert await rows.seal_anew(RingVault(BOTH), NEW.current.id, [*BOTH.ids()], 100) == 0
    assert await rows.tally() == {STRANGE.current.id: 5}


async def test_one_rotates_at_a_time_and_the_next_waits(owner: str) -> None:
    order: list[str] = []

    async def rotate(name: str) -> None:
        async with rotating_alone(owner):
            order.append(f"{name} begins")
            with psycopg.connect(owner) as other:
                free = other.execute(
                    "SELECT pg_try_advisory_lock(hashtextextended('portico vault rotation', 0))"
                ).fetchone()
            order.append(f"{name} ends")
            assert free == (False,)

    await asyncio.gather(rotate("one"), rotate("two"))

    assert [each.split()[1] for each in order] == ["begins", "ends"] * 2
