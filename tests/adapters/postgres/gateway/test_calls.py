"""What only the database can show of the record of calls: when it is written, and what is lost."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from portico.adapters.crypto import RingVault
from portico.adapters.postgres.addresses import Addresses
from portico.adapters.postgres.gateway.calls import PostgresCallHistory
from portico.adapters.postgres.gateway.results import PostgresResults
from portico.adapters.postgres.transaction import Transactions
from portico.adapters.system.clock import SystemClock, system_entropy
from portico.engine.core.errors import StoreUnavailable
from portico.gateway.core.calls import Call, CallId, CallOutcome, ResultId, StoredResult
from portico.gateway.core.catalog_snapshot import ToolRef
from portico.gateway.core.errors import ResultNotFound
from portico.guard.core.vault import VaultClosed, VaultKeys
from portico.kernel.effect import Effect
from portico.kernel.ids import PrincipalId, SpaceId, uuid7
from portico.kernel.principal import Principal
from portico.testing.secrets import ClosedVault

pytestmark = [pytest.mark.postgres]

CLOCK = SystemClock()


@dataclass(frozen=True)
class Room:
    history: PostgresCallHistory
    transactions: Transactions
    ana: Principal
    addresses: Addresses

    def call(self, **more: object) -> Call:
        now = CLOCK.now()
        call = Call(
            id=CallId.mint(now, system_entropy),
            principal=self.ana.id,
            ref=ToolRef("files", "read"),
            effect=Effect.LOCAL_READ,
            pin="p",
            arguments={},
            started_at=now,
            outcome=CallOutcome.DONE,
        )
        return replace(call, **more)  # type: ignore[arg-type] # fields

    @property
    def written(self) -> int:
        with psycopg.connect(str(self.addresses.owner)) as owner:
            row = owner.execute("SELECT count(*) FROM tool_call").fetchone()
        assert row is not None
        return int(row[0])

    async def wrote(self, count: int) -> bool:
        async with asyncio.timeout(30):
            while self.written < count:  # noqa: ASYNC110 # it is another process that writes
                await asyncio.sleep(0.02)
        return self.written == count


@pytest.fixture
def room(embedded_database: Addresses, transactions: Transactions, ana: Principal) -> Room:
    history = PostgresCallHistory(transactions, CLOCK, "one")
    return Room(history, transactions, ana, embedded_database)


@asynccontextmanager
async def running(history: PostgresCallHistory) -> AsyncIterator[None]:
    async with asyncio.TaskGroup() as group:
        task = group.create_task(history.run())
        yield
        task.cancel()


async def test_what_became_of_calls_is_written_after_a_moment(room: Room) -> None:
    async with running(room.history):
        for _ in range(3):
            await room.history.record(room.ana, room.call())

        assert await room.wrote(3)


async def test_what_is_kept_back_is_written_when_it_ends(room: Room) -> None:
    async with running(room.history):
        await asyncio.sleep(0)
        for _ in range(450):
            await room.history.record(room.ana, room.call())

    assert room.written == 450


async def test_nothing_is_written_twice_or_lost_when_its_writing_is_interrupted(
    room: Room,
) -> None:
    for _ in range(450):
        await room.history.record(room.ana, room.call())
    writing = asyncio.ensure_future(room.history.flush())
    await asyncio.sleep(0.005)

    writing.cancel()
    await asyncio.wait([writing])
    await room.history.flush()

    assert room.written == 450


async def test_one_that_is_refused_does_not_take_the_others_with_it(
    room: Room, caplog: pytest.LogCaptureFixture
) -> None:
    ghost = replace(room.ana, space=SpaceId(uuid7(CLOCK.now(), b"nobody's")))
    await room.history.record(room.ana, room.call())
    await room.history.record(room.ana, room.call(bytes_out=2**70))
    await room.history.record(ghost, room.call())
    await room.history.record(room.ana, room.call())

    await room.history.flush()

    assert room.written == 2
    assert caplog.text.count("a call could not be recorded") == 2


async def test_calls_of_several_principals_go_together(room: Room) -> None:
    bob = replace(room.ana, id=PrincipalId(uuid7(CLOCK.now(), b"somebody")))
    for caller in (room.ana, bob):
        await room.history.record(caller, room.call(principal=caller.id))

    found = await room.history.page(room.ana, of=bob.id, ref=None, before=None, limit=9)

    assert [call.principal for call in found] == [bob.id]
    assert room.written == 2


async def test_a_database_that_is_away_keeps_nothing_from_being_written_later(
    room: Room, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    away, stroke = asyncio.Event(), room.transactions.stroke

    async def failing(*arguments: Any) -> Any:
        if not away.is_set():
            away.set()
            raise StoreUnavailable("away")
        return await stroke(*arguments)

    monkeypatch.setattr(room.transactions, "stroke", failing)
    async with running(room.history):
        await room.history.record(room.ana, room.call())
        await away.wait()

        assert await room.wrote(1)
    assert "1 calls are not written yet" in caplog.text


async def test_whoever_comes_when_too_many_wait_is_told(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def failing(*_: object) -> object:
        raise StoreUnavailable("away")

    with monkeypatch.context() as patched:
        patched.setattr(room.transactions, "stroke", failing)
        call = room.call()
        for _ in range(9_999):
            await room.history.record(room.ana, call)
        with pytest.raises(StoreUnavailable):
            await room.history.record(room.ana, call)
    await room.history.flush()

    assert room.written == 1


async def test_a_result_whose_key_is_gone_is_not_there_any_more(room: Room) -> None:
    now, soon = CLOCK.now(), CLOCK.now() + timedelta(hours=1)
    vaults = [RingVault(VaultKeys.fresh(system_entropy)) for _ in range(2)]
    before, after = (PostgresResults(room.transactions, vault) for vault in vaults)
    result = ResultId.mint(now, system_entropy)
    await before.keep(room.ana, result, StoredResult(content="x"), soon)

    with pytest.raises(ResultNotFound):
        await after.get(room.ana, result, now)

    assert (await before.get(room.ana, result, now)).content == "x"


async def test_nothing_is_kept_by_a_machine_that_cannot_seal_it(room: Room) -> None:
    now, soon = CLOCK.now(), CLOCK.now() + timedelta(hours=1)
    closed = PostgresResults(room.transactions, ClosedVault())

    with pytest.raises(VaultClosed):
        await closed.keep(
            room.ana, ResultId.mint(now, system_entropy), StoredResult(content="x"), soon
        )

    with psycopg.connect(str(room.addresses.owner)) as owner:
        assert owner.execute("SELECT count(*) FROM tool_result").fetchone() == (0,)
