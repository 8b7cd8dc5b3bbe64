"""A database that may be killed, somebody to start runs, and a way to see how they fare."""

import asyncio
import os
import signal
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psycopg

from portico.adapters.dbos.run_queue import DbosRunQueue
from portico.adapters.inline import InlineBus
from portico.adapters.postgres.addresses import Addresses
from portico.adapters.postgres.embedded.server import EmbeddedStore
from portico.adapters.postgres.engine.event_log import PostgresEventLog
from portico.adapters.postgres.engine.runs import PostgresRunQueries, PostgresRuns
from portico.adapters.postgres.guard.spaces import PostgresSpaces
from portico.adapters.postgres.transaction import Transactions, open_pool
from portico.adapters.system.clock import SystemClock, system_entropy
from portico.engine.core.errors import StoreUnavailable
from portico.engine.core.runs import Run
from portico.engine.runs import Kind, Kinds, RunSpec, StartRun
from portico.guard.core.authentication import as_principal
from portico.guard.spaces import InstallHome, SpaceSpec
from portico.kernel.durable import Durable
from portico.kernel.ids import RunId
from portico.kernel.json import JsonObject, JsonValue
from portico.kernel.principal import Principal
from portico.testing.guard import MemoryAudit
from tests.servers import embedded_store, migrate


async def _elsewhere(_durable: Durable, _given: JsonObject) -> JsonValue:
    raise AssertionError("Only workers carry runs out.")


@dataclass(slots=True)
class House:
    store: EmbeddedStore
    addresses: Addresses
    folder: Path
    start: StartRun
    book: PostgresRunQueries
    ana: Principal
    acknowledged: list[RunId] = field(default_factory=list)

    async def started(self, kind: str, key: str, given: JsonObject) -> None:
        """Asked for again and again, under the same key, until it is acknowledged."""
        while True:
            try:
                wish = RunSpec(kind=kind, input=given, key=key)
                run = await self.start(self.ana, wish)
            except StoreUnavailable:
                await asyncio.sleep(0.1)
            else:
                self.acknowledged.append(run.id)
                return

    def statuses(self) -> Counter[str]:
        with psycopg.connect(str(self.addresses.owner)) as owner:
            found = owner.execute("SELECT status, count(*) FROM portico.run GROUP BY 1")
            return Counter(dict(found.fetchall()))

    def holders(self) -> dict[str, str | None]:
        """Which process carries out which run, by ids."""
        with psycopg.connect(str(self.addresses.owner)) as owner:
            found = owner.execute("SELECT run_id, executor FROM portico.run")
            return {str(RunId(run)): executor for run, executor in found}

    async def all_over(self, patience: float) -> float:
        """Seconds until no run is left that is not over."""
        began = time.monotonic()
        while True:
            left = await asyncio.to_thread(self.left)
            if left == 0:
                return time.monotonic() - began
            assert time.monotonic() - began < patience, self.statuses()
            await asyncio.sleep(0.2)

    def left(self) -> int:
        """Runs that are not over."""
        over = {"done", "failed", "cancelled", "stuck"}
        return sum(count for status, count in self.statuses().items() if status not in over)

    async def runs(self, ids: Iterable[RunId]) -> list[Run]:
        return [await self.book.get(self.ana, run) for run in ids]

    def drop_lease(self, executor: str) -> int:
        """Ends the database's side of a lease, as a lost network would. How many there were."""
        with psycopg.connect(str(self.addresses.admin), autocommit=True) as admin:
            found = admin.execute(
                "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
                " WHERE application_name = left('portico lease ' || %s, 63)",
                [executor],
            ).fetchone()
            return 0 if found is None else int(found[0])

    def kill_database(self) -> None:
        pid = int(next(self.folder.glob("postgres/*/postmaster.pid")).read_text().split()[0])
        os.kill(pid, signal.SIGKILL)
        self.store.restart()


@asynccontextmanager
async def storm_house(folder: Path) -> AsyncIterator[House]:
    store = embedded_store(folder)
    await asyncio.to_thread(store.start_here, create=True)
    clock, bus = SystemClock(), InlineBus()
    try:
        addresses = store.addresses
        await asyncio.to_thread(migrate, str(addresses.owner))
        async with open_pool(addresses.app, 6) as pool:
            transactions = Transactions(pool)
            line = DbosRunQueue(str(addresses.engine))
            log = PostgresEventLog(transactions, bus, clock, system_entropy)
            start = StartRun(
                runs=PostgresRuns(transactions, log, bus=bus, clock=clock, entropy=system_entropy),
                queue=line,
                kinds=Kinds(Kind(name=name, work=_elsewhere) for name in ("four", "slow", "graph")),
                clock=clock,
                entropy=system_entropy,
            )
            install = InstallHome(
                spaces=PostgresSpaces(transactions),
                unit_of_work=transactions.begin,
                audit=MemoryAudit(),
                clock=clock,
                entropy=system_entropy,
                pepper=b"storm",
            )
            ana = as_principal((await install(SpaceSpec(name="home", admin="ana"))).admin)
            try:
                yield House(store, addresses, folder, start, PostgresRunQueries(transactions), ana)
            finally:
                await line.close()
    finally:
        store.server.release()
