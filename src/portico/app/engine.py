"""The engine room on its real doors: the journal, the line, and whoever carries runs out."""

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

from portico.adapters.dbos.engine import DbosEngine, DbosWorker, Upkeep
from portico.adapters.postgres.engine.event_log import PostgresEventLog
from portico.adapters.postgres.engine.journal import PostgresJournal
from portico.adapters.postgres.engine.lease import Lease
from portico.adapters.postgres.engine.retention import PostgresRetention
from portico.adapters.postgres.transaction import EnginePool
from portico.adapters.telemetry.observed_runs import ObservedJournal, observed_leg
from portico.app.shared_dependencies import SharedDependencies
from portico.engine.core.retention import Keep
from portico.engine.core.runs import QueueConfig
from portico.engine.execution import RunActivation
from portico.engine.ports import Journal, RunQueue
from portico.engine.retention import Retain
from portico.engine.runs import Kinds
from portico.kernel.clock import Entropy


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineOptions:
    """How one process takes part in carrying out runs."""

    engine: str
    at_once: int = 100
    queues: Sequence[QueueConfig] = ()
    """Besides the one that everything stands in which names no other."""
    dbos_pool: int = 5


_BESIDE: Final = 4
"""One in so many of those that run at once may have been begun without standing in line."""


def new_executor(entropy: Entropy) -> str:
    """A name that no other process has had: its lease is held under it, and its work is known by
    it. A name that came back would be taken for the one that died."""
    return f"{socket.gethostname()[:40]}-{os.getpid()}-{entropy(6).hex()}"


@asynccontextmanager
async def working(
    wishes: EngineOptions, outside: SharedDependencies, kinds: Kinds, line: RunQueue
) -> AsyncIterator[DbosEngine]:
    """Runs are carried out in this process for as long as this is open."""
    executor, beside = new_executor(outside.entropy), wishes.at_once // _BESIDE
    engine_pool = EnginePool(wishes.engine)
    async with engine_pool.pool:
        journal = PostgresJournal(
            executor=executor,
            engine=engine_pool,
            transactions=outside.transactions,
            log=event_log(outside),
            bus=outside.bus,
            clock=outside.clock,
            entropy=outside.entropy,
        )
        worker = DbosWorker(
            wishes.engine,
            executor,
            observed_leg(carrying_out(ObservedJournal(journal), outside, kinds)),
            queues=[QueueConfig(name="runs", a_process=wishes.at_once - beside), *wishes.queues],
            pool_size=wishes.dbos_pool,
            beside=beside,
        )
        upkeep = Upkeep(executor, engine_pool, worker, line)
        engine = DbosEngine(Lease(wishes.engine, executor), worker, upkeep)
        async with asyncio.TaskGroup() as group:
            going_on = group.create_task(engine.go_on())
            try:
                yield engine
            finally:
                going_on.cancel()


@asynccontextmanager
async def forgetting(engine: str) -> AsyncIterator[Callable[[Keep], Retain]]:
    pool = EnginePool(engine, 2)
    async with pool.pool:
        yield lambda keep: Retain(retention=PostgresRetention(pool), keep=keep)


def event_log(outside: SharedDependencies) -> PostgresEventLog:
    return PostgresEventLog(outside.transactions, outside.bus, outside.clock, outside.entropy)


def carrying_out(journal: Journal, outside: SharedDependencies, kinds: Kinds) -> RunActivation:
    return RunActivation(
        journal=journal, bus=outside.bus, kinds=kinds, clock=outside.clock, clean=outside.clean
    )
