"""What only the database can show of the audit: who may write it, and what holds its chain."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import psycopg
import pytest

from portico.adapters.postgres.addresses import Addresses
from portico.adapters.postgres.guard.audit import PostgresAudit, PostgresAuditLog
from portico.adapters.postgres.guard.keys import PostgresKeys
from portico.adapters.postgres.transaction import Part, Transactions
from portico.engine.core.errors import StoreUnavailable
from portico.guard.core.audit import AuditEntry, Fault, Head, Link, verify
from portico.kernel.ids import PrincipalId, SpaceId
from portico.kernel.principal import Principal
from portico.testing.memory_store import BEGINNING, SeededEntropy
from tests.adapters.postgres.conftest import Install

pytestmark = [pytest.mark.postgres]

BEFORE = 3
"""Entries that a space is born with."""


def an_entry(subject: str = "files.read", **more: Any) -> AuditEntry:
    return AuditEntry(action="call.allowed", subject=subject, **more)


@dataclass
class Room:
    audit: PostgresAudit
    log: PostgresAuditLog
    transactions: Transactions
    addresses: Addresses
    ana: Principal
    bob: Principal
    """Of another space."""
    seen: list[tuple[SpaceId, Head, int]] = field(default_factory=list)

    async def chain(self, of: Principal) -> list[Link]:
        head = await self.log.head(of)
        pieces = self.log.stream(of, last_number=head.number + 10)
        return [link async for piece in pieces for link in piece]

    def as_app(self, caller: Principal, statement: str, *values: object) -> Sequence[Any]:
        with psycopg.connect(self.addresses.app) as connection:
            connection.execute(
                "SELECT set_config('portico.space', %s, true),"
                " set_config('portico.principal', %s, true)",
                [str(caller.space.value), str(caller.id.value)],
            )
            return connection.execute(statement.encode(), values).fetchall()

    def as_owner(self, statement: str, *values: object) -> None:
        with psycopg.connect(str(self.addresses.owner)) as connection:
            connection.execute(statement.encode(), values)


@pytest.fixture
async def room(embedded_database: Addresses, transactions: Transactions, install: Install) -> Room:
    seen: list[tuple[SpaceId, Head, int]] = []
    audit = PostgresAudit(transactions, lambda *told: seen.append(told))
    ana, bob = [await install(transactions, name, audit) for name in ("one", "other")]
    log = PostgresAuditLog(transactions, audit.flush)
    return Room(audit, log, transactions, embedded_database, ana, bob, seen)


@asynccontextmanager
async def running(audit: PostgresAudit) -> AsyncIterator[None]:
    async with asyncio.TaskGroup() as group:
        task = group.create_task(audit.run())
        yield
        task.cancel()


FORBIDDEN = [
    "INSERT INTO audit_entry SELECT space_id, number + 1, at, entry, hash FROM audit_entry"
    " ORDER BY number DESC LIMIT 1 RETURNING 1",
    "UPDATE audit_entry SET entry = 'x' RETURNING 1",
    "UPDATE audit_entry SET hash = hash RETURNING 1",
    "DELETE FROM audit_entry RETURNING 1",
    "TRUNCATE audit_entry",
    "INSERT INTO audit_head SELECT space_id, number, hash FROM audit_head RETURNING 1",
    "UPDATE audit_head SET number = 0 RETURNING 1",
    "DELETE FROM audit_head RETURNING 1",
    "TRUNCATE audit_head",
    "SELECT 1 FROM audit_head FOR UPDATE",
    "ALTER TABLE audit_entry DISABLE ROW LEVEL SECURITY",
    "DROP FUNCTION portico.append_audit(text[])",
    "CREATE OR REPLACE FUNCTION portico.append_audit(acts text[], OUT number bigint,"
    " OUT hash bytea) LANGUAGE sql AS $$ SELECT 1::bigint, ''::bytea $$",
]
NO_ACTS = [
    '{},"at":"1999-01-01T00:00:00.000000Z","by":"x","number":1,"space":"y"}',
    '{}} {"act":{}',
    "not json",
    "[]",
    '"text"',
    "null",
    "",
    None,
]


@pytest.mark.requirement("audit:append:only-by-function")
async def test_the_application_can_only_add_to_it_and_whole_acts(room: Room) -> None:
    """None that reaches beyond itself into what the function adds."""
    for statement in FORBIDDEN:
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            room.as_app(room.ana, statement)
    for act in NO_ACTS:
        acts = ['{"action":"a"}', act]
        with pytest.raises(psycopg.errors.DataError):
            room.as_app(room.ana, "SELECT * FROM append_audit(%s::text[])", acts)

    chain = await room.chain(room.ana)
    assert verify(chain, room.ana.space).sound
    assert len(chain) == BEFORE


async def test_who_where_and_when_are_not_the_caller_s_to_say(room: Room) -> None:
    forged = '{"action":"a","by":"somebody","number":99,"space":"elsewhere"}'

    [(number, hash_)] = room.as_app(room.ana, "SELECT * FROM append_audit(ARRAY[%s])", forged)

    chain = await room.chain(room.ana)
    assert (number, hash_) == (BEFORE + 1, chain[-1].hash)
    assert chain[-1].text.decode().startswith(f'{{"act":{forged},"at":"20')
    assert f'"by":"{room.ana.id.value}","number":{BEFORE + 1}' in chain[-1].text.decode()
    assert verify(chain, room.ana.space).sound


async def test_without_a_space_or_a_principal_nothing_is_added(room: Room) -> None:
    with psycopg.connect(room.addresses.app) as connection:
        for setting in ("portico.space", "portico.principal"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege), connection.transaction():
                connection.execute(
                    "SELECT set_config(%s, %s, true)", [setting, str(room.ana.space.value)]
                )
                connection.execute("SELECT append_audit(ARRAY['{}'])")


async def test_many_at_once_are_one_chain_in_few_writes(room: Room) -> None:
    """Also of two processes."""
    other = PostgresAudit(room.transactions, lambda *_: None)
    people = [
        replace(room.ana, id=PrincipalId.mint(BEGINNING, SeededEntropy(str(n)))) for n in range(4)
    ]
    callers = [*people * 25, *[room.bob] * 20]

    await asyncio.gather(
        *(room.audit.note(who, an_entry(f"t.{n}")) for n, who in enumerate(callers))
    )

    for whose, count in ((room.ana, 100), (room.bob, 20)):
        chain = await room.chain(whose)
        assert verify(chain, whose.space).sound
        assert len(chain) == BEFORE + count
    texts = [link.text.decode() for link in await room.chain(room.ana)]
    assert [sum(str(who.id.value) in text for text in texts) for who in people] == [25] * 4
    assert len(room.seen) - 2 < 20

    await asyncio.gather(
        *(audit.note(room.ana, an_entry()) for _ in range(50) for audit in (room.audit, other))
    )
    chain = await room.chain(room.ana)
    assert len(chain) == BEFORE + 200
    assert verify(chain, room.ana.space).sound


async def test_what_is_noted_ahead_is_written_and_on_the_disk_with_what_comes_next(
    room: Room,
) -> None:
    await room.audit.note_ahead(room.ana, an_entry("ahead"))
    [(begun,)] = room.as_app(room.ana, "SELECT pg_current_wal_insert_lsn()")

    await room.audit.settle()

    assert b'"ahead"' in (await room.chain(room.ana))[-1].text
    assert room.as_app(room.ana, "SELECT pg_current_wal_flush_lsn() >= %s", begun) == [(True,)]


async def test_whoever_stops_waiting_does_not_stop_the_others(room: Room) -> None:
    noting = [asyncio.ensure_future(room.audit.note(room.ana, an_entry())) for _ in range(20)]
    await asyncio.sleep(0.001)
    noting[0].cancel()
    await asyncio.wait(noting)

    assert [each.exception() for each in noting[1:]] == [None] * 19
    assert BEFORE + 19 <= len(await room.chain(room.ana)) <= BEFORE + 20


async def test_what_is_called_off_before_it_goes_is_not_written(room: Room) -> None:
    first = asyncio.ensure_future(room.audit.note(room.ana, an_entry("first")))
    await asyncio.sleep(0)
    second = asyncio.ensure_future(room.audit.note(room.ana, an_entry("second")))
    await asyncio.sleep(0)
    second.cancel()
    await asyncio.wait([first, second])
    await room.audit.note(room.ana, an_entry("third"))

    assert [b"second" in it.text for it in await room.chain(room.ana)] == [False] * (BEFORE + 2)


@pytest.mark.requirement("audit:act:together")
async def test_an_entry_is_written_with_its_act_or_not_at_all(room: Room) -> None:
    keys = PostgresKeys(room.transactions)
    [key] = await keys.page(room.ana, of=None, after=None, limit=5)

    class Failed(Exception):
        pass

    with pytest.raises(Failed):
        async with room.transactions.begin(room.ana):
            await keys.revoke(room.ana, key.id, BEGINNING)
            await room.audit.note(room.ana, an_entry())
            raise Failed
    assert len(await room.chain(room.ana)) == BEFORE

    async with room.transactions.begin(room.ana):
        await keys.revoke(room.ana, key.id, BEGINNING)
        await room.audit.note(room.ana, an_entry())
        with pytest.raises(Failed):
            async with room.transactions.begin(room.ana):
                await room.audit.note(room.ana, an_entry("taken back"))
                raise Failed
    chain = await room.chain(room.ana)
    assert len(chain) == BEFORE + 1
    assert room.seen[-1] == (room.ana.space, Head(chain[-1].number, chain[-1].hash), 1)


async def test_an_entry_in_another_s_transaction_is_still_one_s_own(room: Room) -> None:
    async with room.transactions.begin(room.bob):
        await room.audit.note(room.ana, an_entry())
        await room.audit.note(room.bob, an_entry())

    for whose in (room.ana, room.bob):
        chain = await room.chain(whose)
        assert len(chain) == BEFORE + 1
        assert f'"by":"{whose.id.value}"'.encode() in chain[-1].text


async def test_what_is_noted_early_in_a_transaction_holds_nobody_up(room: Room) -> None:
    """The head is locked at the very end: two transactions may note in any order."""
    async with asyncio.timeout(30), room.transactions.begin(room.ana):
        await room.audit.note(room.ana, an_entry("first"))
        other = asyncio.ensure_future(room.audit.note(room.ana, an_entry("second")))
        await other

    assert [b"second" in it.text for it in (await room.chain(room.ana))[BEFORE:]] == [True, False]


async def test_reads_are_written_behind_and_at_the_end(room: Room) -> None:
    async with running(room.audit):
        await asyncio.sleep(0)
        for number in range(450):
            room.audit.note_behind(room.ana if number % 2 else room.bob, an_entry())

    room.audit.note_behind(room.ana, an_entry("late"))
    [late] = await room.log.page(room.ana, before=None, limit=1)
    assert b"late" in late.text
    assert len(await room.chain(room.ana)) == BEFORE + 226
    assert verify(await room.chain(room.bob), room.bob.space).sound


async def test_while_the_database_is_away_reads_are_kept_and_all_else_is_refused(
    room: Room,
) -> None:
    away = AwayAtFirst(room.transactions)
    audit = PostgresAudit(away, lambda *_: None)

    with pytest.raises(StoreUnavailable):
        await audit.note(room.ana, an_entry())
    for number in range(10_000):
        audit.note_behind(room.ana if number % 2 else room.bob, an_entry())
    with pytest.raises(StoreUnavailable):
        audit.note_behind(room.ana, an_entry())
    with pytest.raises(StoreUnavailable):
        await audit.flush()
    away.back = True
    await audit.flush()

    assert len(await room.chain(room.ana)) == BEFORE + 5_000
    assert len(await room.chain(room.bob)) == BEFORE + 5_000


async def test_what_was_written_is_not_written_again_because_another_space_s_was_not(
    room: Room,
) -> None:
    away = AwayAtFirst(room.transactions)
    away.back, away.lost = True, room.bob.space
    audit = PostgresAudit(away, lambda *_: None)
    audit.note_behind(room.ana, an_entry())
    audit.note_behind(room.bob, an_entry())

    with pytest.raises(StoreUnavailable):
        await audit.flush()
    away.lost = None
    await audit.flush()

    assert len(await room.chain(room.ana)) == BEFORE + 1
    assert len(await room.chain(room.bob)) == BEFORE + 1


class AwayAtFirst(Transactions):
    def __init__(self, there: Transactions) -> None:
        super().__init__(there._pool)
        self.back = False
        self.lost: SpaceId | None = None

    async def stroke(self, caller: Principal, *parts: Part) -> Sequence[Sequence[Any]]:
        if not self.back or caller.space == self.lost:
            raise StoreUnavailable("It is away.")
        return await super().stroke(caller, *parts)


async def test_who_owns_the_database_can_change_it_and_is_found_out(room: Room) -> None:
    for number in range(6):
        await room.audit.note(room.ana, an_entry(str(number)))
    before = await room.log.head(room.ana)

    room.as_owner(
        "UPDATE audit_entry SET entry = replace(entry, 'files', 'filed') WHERE space_id = %s"
        " AND number = 2",
        room.ana.space.value,
    )
    room.as_owner(
        "UPDATE audit_entry SET entry = replace(entry, 'call', 'tale') WHERE space_id = %s"
        " AND number = 5",
        room.ana.space.value,
    )
    room.as_owner(
        "DELETE FROM audit_entry WHERE space_id = %s AND number IN (7, 9)", room.ana.space.value
    )

    verdict = verify(await room.chain(room.ana), room.ana.space, heads=[before])
    assert [(it.fault, it.number) for it in verdict.findings] == [
        (Fault.CHANGED, 5),
        (Fault.MISSING, 7),
        (Fault.CHANGED, 8),
        (Fault.TRUNCATED, 9),
    ]
