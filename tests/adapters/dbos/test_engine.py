"""Execute runs for as long as this process is known to live: dequeue, work, recovery."""

import asyncio
import contextlib
import tempfile
import threading
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import timedelta

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from portico.adapters.dbos import engine as dbos_worker
from portico.adapters.dbos.deferred_queue import DeferredQueue
from portico.adapters.dbos.engine import DbosWorker, take_one
from portico.adapters.dbos.tables import DbosTables
from portico.adapters.postgres.addresses import Addresses
from portico.adapters.postgres.embedded.programs import PostgresArchive, client_programs
from portico.adapters.postgres.engine import lease
from portico.adapters.postgres.engine.lease import Lease
from portico.adapters.postgres.engine.retention import PostgresRetention
from portico.adapters.postgres.transaction import EnginePool
from portico.engine.core.errors import StoreUnavailable
from portico.engine.core.retention import Keep
from portico.engine.core.runs import (
    Activation,
    QueueConfig,
    QueuedActivation,
    QueuePlacement,
    RunStatus,
)
from portico.engine.runs import Kind
from portico.kernel.durable import Durable
from portico.kernel.ids import RunId
from portico.kernel.json import JsonObject, JsonValue
from portico.testing.memory_store import BEGINNING, SeededEntropy
from tests.contracts.engines import Engine, dbos_engine
from tests.servers import reachable_folder

RARE = QueueConfig(name="rare", a_process=10, look=timedelta(hours=1))
NARROW = QueueConfig(name="narrow", a_process=1, look=timedelta(hours=1))
"""Nobody looks at them while a test lasts."""


@pytest.fixture
def may_end() -> asyncio.Event:
    return asyncio.Event()


@pytest.fixture
async def engine(embedded_database: Addresses, may_end: asyncio.Event) -> AsyncIterator[Engine]:
    async def work(_durable: Durable, _given: JsonObject) -> JsonValue:
        await may_end.wait()
        return "done"

    async with dbos_engine(
        embedded_database, [Kind(name="work", work=work)], [RARE, NARROW]
    ) as made:
        yield made


@pytest.mark.postgres
async def test_who_joins_a_line_does_not_wait_until_somebody_looks(
    engine: Engine, may_end: asyncio.Event
) -> None:
    may_end.set()

    run = await engine.started("work", place=QueuePlacement(queue=RARE.name))

    assert (await engine.over(run.id)).result == "done"


@pytest.mark.postgres
async def test_a_narrow_line_is_left_to_those_who_count(engine: Engine) -> None:
    run = await engine.started("work", place=QueuePlacement(queue=NARROW.name))
    await asyncio.to_thread(take_one, NARROW.name)

    assert (await engine.book.get(engine.ana, run.id)).status is RunStatus.QUEUED


@pytest.mark.postgres
async def test_a_line_that_nobody_knows_is_nobodys(engine: Engine) -> None:
    await asyncio.to_thread(take_one, "unknown")

    assert engine.running() == 0


@dataclass
class SlowDbos:
    """Begins when it is let; the one that there is in a process."""

    breaks: bool = False
    may_begin: threading.Event = field(default_factory=threading.Event)
    begins: threading.Event = field(default_factory=threading.Event)
    happened: list[str] = field(default_factory=list)

    def __call__(self, *, config: object) -> None:
        assert config

    def workflow(self, **_options: object) -> object:
        return lambda function: function

    def launch(self) -> None:
        self.begins.set()
        self.may_begin.wait(5)
        self.happened.append("begun")
        if self.breaks:
            raise OSError("the database has gone")

    def destroy(self, *, destroy_registry: bool) -> None:
        self.happened.append(f"ended {destroy_registry}")


@pytest.fixture
def dbos(monkeypatch: pytest.MonkeyPatch) -> SlowDbos:
    slow = SlowDbos()
    monkeypatch.setattr(dbos_worker, "DBOS", slow)
    return slow


async def nothing(_leg: Activation) -> None:
    raise AssertionError


def a_worker() -> DbosWorker:
    return DbosWorker("postgresql://engine@/x", "me", nothing, queues=[], pool_size=1)


@pytest.mark.parametrize("breaks", [False, True])
async def test_who_is_cancelled_while_it_begins_ends_it_afterwards(
    dbos: SlowDbos, *, breaks: bool
) -> None:
    dbos.breaks = breaks
    worker = a_worker()
    launching = asyncio.create_task(worker.launch())
    await asyncio.to_thread(dbos.begins.wait, 5)

    launching.cancel()
    await asyncio.wait([launching])
    closing = asyncio.create_task(worker.close())
    await asyncio.sleep(0.05)
    before = list(dbos.happened)
    dbos.may_begin.set()
    await closing

    assert launching.cancelled()
    assert before == []
    assert dbos.happened == ["begun", "ended True"]
    assert not worker.launched


async def test_one_that_never_begins_is_not_waited_for_forever(
    dbos: SlowDbos, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(dbos_worker, "_PATIENCE", 0.01)
    worker = a_worker()
    launching = asyncio.create_task(worker.launch())
    await asyncio.to_thread(dbos.begins.wait, 5)
    launching.cancel()
    await asyncio.wait([launching])

    await worker.close()

    assert dbos.happened == ["ended True"]
    assert "still starting" in caplog.text
    dbos.may_begin.set()


# What should never happen, and is put right all the same: runs that nobody put in line, legs that
# ended without their run, processes that go by one name.


async def quick(durable: Durable, _given: JsonObject) -> JsonValue:
    async def act(_key: str) -> JsonValue:
        return "done"

    return await durable.step("only", act)


async def waits(durable: Durable, _given: JsonObject) -> JsonValue:
    return await durable.wait_for_signal("answer")


@pytest.fixture
async def engine_upkeep(embedded_database: Addresses) -> AsyncIterator[Engine]:
    kinds = [Kind(name="quick", work=quick), Kind(name="waits", work=waits)]
    async with dbos_engine(embedded_database, kinds, []) as made:
        yield made


def owner_does(addresses: Addresses, statement: str) -> int:
    with psycopg.connect(str(addresses.owner), autocommit=True) as owner:
        return owner.execute(statement.encode()).rowcount


@pytest.mark.postgres
async def test_a_run_that_nobody_put_in_line_is_found(
    engine_upkeep: Engine, embedded_database: Addresses
) -> None:
    engine_upkeep.hold()
    run = await engine_upkeep.started("quick")
    engine_upkeep.line.forget()
    engine_upkeep.let_go()
    assert owner_does(embedded_database, _AGED) == 1

    assert (await engine_upkeep.over(run.id)).status is RunStatus.DONE


@pytest.mark.postgres
async def test_a_run_goes_on_in_a_database_that_has_lost_the_tables_of_the_line(
    engine_upkeep: Engine, embedded_database: Addresses
) -> None:
    """As one that was restored from a backup: those tables are in none."""
    run = await engine_upkeep.started("waits")
    await engine_upkeep.waiting(run.id)
    owner_does(embedded_database, "DELETE FROM dbos.workflow_status")

    await engine_upkeep.signal(engine_upkeep.ana, run.id, "answer", "here")

    assert (await engine_upkeep.over(run.id)).result == "here"


@pytest.mark.postgres
async def test_a_leg_that_ended_without_its_run_is_followed_by_another(
    engine_upkeep: Engine, embedded_database: Addresses
) -> None:
    run = await engine_upkeep.started("quick")
    await engine_upkeep.over(run.id)
    owner_does(
        embedded_database,
        "UPDATE portico.run SET status = 'running', finished_at = NULL, result = NULL,"
        " changed_at = now() - interval '1 minute'",
    )

    ended = await engine_upkeep.over(run.id)

    assert (ended.status, ended.leg) == (RunStatus.DONE, 2)


_LEASES = "SELECT pid FROM pg_stat_activity WHERE application_name LIKE 'portico lease%'"
_HELD = f"SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND pid IN ({_LEASES})"
_UNDER_WAY = "SELECT 1 FROM dbos.workflow_status WHERE status IN ('ENQUEUED', 'PENDING')"
_AGED = "UPDATE portico.run SET changed_at = now() - interval '1 minute'"


@pytest.mark.postgres
async def test_a_lease_is_had_by_one_and_known_to_be_lost(embedded_database: Addresses) -> None:
    address = str(embedded_database.engine)

    async with Lease(address, "one").held() as held:
        with pytest.raises(StoreUnavailable):
            async with Lease(address, "one").held():
                pass
        async with Lease(address, "other").held():
            pass
        losing = asyncio.ensure_future(held.lost())
        await asyncio.sleep(0.1)
        with psycopg.connect(str(embedded_database.admin), autocommit=True) as admin:
            admin.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE application_name = 'portico lease one'"
            )
        async with asyncio.timeout(30):
            await losing
    async with Lease(address, "one").held():
        pass


class Silent:
    """Between a client and its server; from some moment on it passes nothing on, and says
    nothing: a network that is gone."""

    def __init__(self, socket: str) -> None:
        self._socket = socket
        self.silent = False
        self._ends: list[asyncio.StreamWriter] = []

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, here = await asyncio.open_unix_connection(self._socket)
        self._ends += [writer, here]
        await asyncio.gather(self._pass(reader, here), self._pass(there, writer))

    async def close(self) -> None:
        for end in self._ends:
            end.close()
        for end in self._ends:
            with contextlib.suppress(ConnectionError):
                await end.wait_closed()

    async def _pass(self, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        while said := await source.read(65536):
            if not self.silent:
                target.write(said)
                await target.drain()


@pytest.mark.postgres
@pytest.mark.requirement("engine:fence:stops")
async def test_a_lease_that_is_not_answered_for_is_lost_before_the_server_lets_go_of_it(
    embedded_database: Addresses,
) -> None:
    parts = conninfo_to_dict(str(embedded_database.engine))
    proxy = Silent(f"{parts['host']}/.s.PGSQL.{parts['port']}")
    with tempfile.TemporaryDirectory() as folder:
        server = await asyncio.start_unix_server(proxy, f"{folder}/.s.PGSQL.5432")
        address = make_conninfo(str(embedded_database.engine), host=folder, port=5432)

        async with Lease(address, "cut off").held() as held:
            losing = asyncio.ensure_future(held.lost())
            await asyncio.sleep(0.2)
            proxy.silent = True
            await losing
            assert await asyncio.to_thread(owner_does, embedded_database, _HELD) == 1
        server.close()
        await proxy.close()

    assert lease._LOOK + lease._PATIENCE < 11, "the server lets go after eleven seconds"


@pytest.mark.postgres
async def test_legs_that_are_over_are_forgotten_whole(
    engine_upkeep: Engine, embedded_database: Addresses
) -> None:
    run = await engine_upkeep.started("quick")
    await engine_upkeep.over(run.id)
    await engine_upkeep.nothing_runs()
    while await asyncio.to_thread(owner_does, embedded_database, _UNDER_WAY):  # noqa: ASYNC110 # there
        await asyncio.sleep(0.02)
    owner_does(embedded_database, "UPDATE dbos.workflow_status SET updated_at = 0")
    pool = EnginePool(str(embedded_database.engine))

    async with pool.pool:
        gone = await PostgresRetention(pool).forget(Keep())

    assert gone.legs == 1
    for table in ("workflow_status", "workflow_input", "workflow_output"):
        assert owner_does(embedded_database, f"SELECT 1 FROM dbos.{table}") == 0


@pytest.mark.postgres
async def test_what_runs_has_ended_before_the_lease_is_let_go_of(
    embedded_database: Addresses,
) -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async def slow_to_end(durable: Durable, _given: JsonObject) -> JsonValue:
        async def act(_key: str) -> JsonValue:
            begun.set()
            try:
                await asyncio.Event().wait()
            finally:
                await asyncio.sleep(1)
                ended.set()
            return None

        return await durable.step("slow", act)

    async with dbos_engine(embedded_database, [Kind(name="s", work=slow_to_end)], []) as engine:
        await engine.started("s")
        async with asyncio.timeout(30):
            await begun.wait()
        assert owner_does(embedded_database, _HELD) == 1
        seen = asyncio.ensure_future(_until_free(embedded_database, ended))
        await asyncio.sleep(0)

    assert await seen


async def _until_free(addresses: Addresses, ended: asyncio.Event) -> bool:
    """Whether it had ended when the lease was free."""
    while await asyncio.to_thread(owner_does, addresses, _HELD):  # noqa: ASYNC110 # elsewhere
        await asyncio.sleep(0.02)
    return ended.is_set()


@pytest.mark.postgres
async def test_a_run_whose_database_is_restored_under_it_goes_on_from_what_was_restored(
    embedded_database: Addresses,
) -> None:
    reached = asyncio.Event()

    async def steady(durable: Durable, _given: JsonObject) -> JsonValue:
        async def act(key: str) -> JsonValue:
            await asyncio.sleep(0.2)
            if key.endswith(":3"):
                reached.set()
            return key.rpartition(":")[2]

        return [await durable.step(str(number), act) for number in range(15)]

    archive = PostgresArchive(str(embedded_database.owner), client_programs)
    with reachable_folder() as folder:
        async with dbos_engine(embedded_database, [Kind(name="s", work=steady)], []) as engine:
            run = await engine.started("s")
            async with asyncio.timeout(30):
                await reached.wait()
            await archive.back_up(folder / "b.dump")
            await asyncio.sleep(0.8)
            await archive.restore(folder / "b.dump")

            ended = await engine.over(run.id)
            steps = await engine.book.steps(engine.ana, run.id)

    assert ended.status is RunStatus.DONE
    assert [step.name for step in steps] == [str(number) for number in range(15)]


@pytest.mark.postgres
async def test_the_tables_of_the_line_are_made_once(embedded_database: Addresses) -> None:
    tables = DbosTables(str(embedded_database.owner))

    await tables.migrate()
    before = _companion(embedded_database)
    await tables.migrate()

    assert _companion(embedded_database) == before


def _companion(addresses: Addresses) -> object:
    with psycopg.connect(str(addresses.owner)) as owner:
        return owner.execute(
            "SELECT version, migrated_at FROM portico.component_version"
        ).fetchone()


class Noted:
    """A line that only remembers who was there."""

    def __init__(self) -> None:
        self.joined: list[QueuedActivation] = []
        self.left: list[Activation] = []

    async def join(self, turn: QueuedActivation) -> None:
        self.joined.append(turn)

    async def leave(self, leg: Activation) -> None:
        self.left.append(leg)


@pytest.mark.postgres
async def test_whoever_joins_before_there_is_a_line_is_put_there_when_it_comes() -> None:
    late, line = DeferredQueue(), Noted()
    legs = [Activation(RunId.mint(BEGINNING, SeededEntropy(n)), 1) for n in range(3)]
    turns = [QueuedActivation(leg, QueuePlacement()) for leg in legs]

    await late.join(turns[0])
    await late.join(turns[1])
    await late.leave(legs[1])
    await late.bring(line)
    await late.join(turns[2])
    await late.leave(legs[2])

    assert line.joined == [turns[0], turns[2]]
    assert line.left == [legs[2]]
