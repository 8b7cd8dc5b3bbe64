"""A process that carries runs out and can be killed at any point, which it names as it comes to it.

Switches take a safeguard away, for the tests that show what it is for.
"""

import asyncio
import itertools
import json
import logging
import os
import random
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractContextManager, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from portico.adapters.dbos.engine import DbosEngine, DbosWorker, Upkeep
from portico.adapters.dbos.run_queue import DbosRunQueue
from portico.adapters.inline import InlineBus
from portico.adapters.postgres.engine.event_log import PostgresEventLog
from portico.adapters.postgres.engine.journal import PostgresJournal
from portico.adapters.postgres.engine.lease import Lease
from portico.adapters.postgres.transaction import EnginePool, Transactions, open_pool
from portico.adapters.system.clock import SystemClock, system_entropy
from portico.adapters.telemetry.observed_runs import ObservedJournal
from portico.app.engine import new_executor
from portico.engine.core.event_log import NewEntry
from portico.engine.core.runs import ClaimedActivation, QueueConfig, Step, StepState
from portico.engine.execution import RunActivation
from portico.engine.ports import Journal
from portico.engine.runs import Kind, Kinds
from portico.kernel.durable import Action, Begun, Durable
from portico.kernel.ids import RunId
from portico.kernel.json import JsonObject, JsonValue
from portico.kernel.principal import Principal
from tests.storm.graph import walk


@dataclass(frozen=True, slots=True, kw_only=True)
class Orders:
    """What a worker is told when it is started."""

    app: str
    engine: str
    oracle: Path
    conductor: Path
    at_once: int = 20
    lease: bool = True
    fence: bool = True
    names: bool = True
    pause: float = 0.3
    single_use: bool = True
    space: str = ""


class Wire:
    """A question to another process and its answer, one at a time."""

    def __init__(self, socket: Path) -> None:
        self._socket = socket
        self._turn = asyncio.Lock()
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def ask(self, **said: object) -> str:
        async with self._turn:
            if self._reader is None or self._writer is None:
                self._reader, self._writer = await asyncio.open_unix_connection(self._socket)
            self._writer.write(json.dumps(said).encode() + b"\n")
            await self._writer.drain()
            return (await self._reader.readline()).decode().strip()


@dataclass(frozen=True, slots=True)
class World:
    """What works have to do with: the outside, and whoever may kill them."""

    oracle: Wire
    conductor: Wire

    async def effect(self, run: RunId, step: str, key: str) -> None:
        said = {"run": str(run), "step": step, "key": key, "at": time.time()}
        await self.oracle.ask(**said)

    async def point(self, name: str, run: RunId, step: str) -> None:
        await self.conductor.ask(point=name, pid=os.getpid(), run=str(run), step=step)


class PointedJournal(ObservedJournal):
    """Names the moment after a step was noted; no other is noted before it is past."""

    def __init__(self, inner: Journal, world: World) -> None:
        super().__init__(inner)
        self._world = world
        self._turn = asyncio.Lock()

    async def finish(self, taken: ClaimedActivation, step: Step, told: NewEntry) -> bool:
        async with self._turn:
            noted = await super().finish(taken, step, told)
            if noted and step.state is not StepState.OPEN:
                await self._world.point("after checkpoint", taken.run.id, step.name)
            return noted


class Numbered:
    """A `Durable` whose steps are known by the order in which they come, not by their names."""

    def __init__(self, inner: Durable) -> None:
        self._inner = inner
        self._numbers = itertools.count()

    @property
    def run(self) -> RunId:
        return self._inner.run

    @property
    def leg(self) -> int:
        return self._inner.leg

    @property
    def again(self) -> bool:
        return self._inner.again

    @property
    def caller(self) -> Principal:
        return self._inner.caller

    async def step(self, name: str, action: Action, *, tries: int = 1) -> JsonValue:
        return await self._inner.step(str(next(self._numbers)), action, tries=tries)

    def start(self, name: str, action: Action, *, tries: int = 1) -> Begun:
        return self._inner.start(str(next(self._numbers)), action, tries=tries)

    async def wait_any(self, begun: Sequence[Begun]) -> Begun:
        return await self._inner.wait_any(begun)

    async def sleep(self, name: str, duration: timedelta) -> None:
        await self._inner.sleep(name, duration)

    async def wait_for_signal(
        self, topic: str, *, patience: timedelta | None = None, name: str | None = None
    ) -> JsonValue:
        return await self._inner.wait_for_signal(topic, patience=patience, name=name)

    def busy(self) -> AbstractContextManager[None]:
        return self._inner.busy()

    async def publish(self, name: str, type_: str, facts: JsonObject) -> None:
        await self._inner.publish(name, type_, facts)


class NoLease(Lease):
    """Says that it lives and holds nothing to show for it."""

    @asynccontextmanager
    async def held(self) -> AsyncIterator[Any]:
        yield self

    async def lost(self) -> None:
        await asyncio.Event().wait()


class NoFence(DbosEngine):
    """Goes on with what it has begun, whoever may have been given it since."""

    async def fence(self) -> None:
        """Nothing."""


def works(world: World, *, names: bool) -> Kinds:
    async def four_effects(durable: Durable, given: JsonObject) -> JsonValue:
        for number in range(4):
            step = f"effect:{number}"

            async def act(key: str, step: str = step) -> JsonValue:
                await world.point("before effect", durable.run, step)
                await world.effect(durable.run, step, key)
                await world.point("after effect", durable.run, step)
                return step

            await durable.step(step, act)
        return "all four"

    async def slow(durable: Durable, given: JsonObject) -> JsonValue:
        async def act(key: str) -> JsonValue:
            await asyncio.sleep(float(str(given["seconds"])))
            await world.effect(durable.run, "slow", key)
            return None

        return await durable.step("slow", act)

    async def graph(durable: Durable, given: JsonObject) -> JsonValue:
        async def act(step: str, key: str, inputs: Sequence[str]) -> JsonValue:
            await world.effect(durable.run, step, key)
            await asyncio.sleep(random.uniform(0.0, 0.03))
            return f"{step}({','.join(inputs)})"

        return await walk(durable if names else Numbered(durable), int(str(given["seed"])), act)

    return Kinds(
        Kind(name=name, work=work)
        for name, work in {"four": four_effects, "slow": slow, "graph": graph}.items()
    )


async def until_killed(
    orders: Orders,
    conductor: Wire,
    kinds: Callable[[Transactions, InlineBus], Kinds],
    noting: Callable[[Journal], Journal] = lambda journal: journal,
) -> None:
    clock, bus = SystemClock(), InlineBus()
    executor, engine = new_executor(system_entropy), EnginePool(orders.engine)
    async with open_pool(orders.app, 6) as pool, engine.pool:
        transactions = Transactions(pool)
        journal = PostgresJournal(
            executor=executor,
            engine=engine,
            transactions=transactions,
            log=PostgresEventLog(transactions, bus, clock, system_entropy),
            bus=bus,
            clock=clock,
            entropy=system_entropy,
        )
        run_leg = RunActivation(
            journal=noting(journal),
            bus=bus,
            kinds=kinds(transactions, bus),
            clock=clock,
            most_attempts=10_000,
        )
        queues = [QueueConfig(name="runs", a_process=orders.at_once)]
        worker = DbosWorker(orders.engine, executor, run_leg, queues=queues, pool_size=4)
        upkeep = Upkeep(executor, engine, worker, DbosRunQueue(orders.engine))
        lease = (Lease if orders.lease else NoLease)(orders.engine, executor)
        keeping = (DbosEngine if orders.fence else NoFence)(
            lease, worker, upkeep, pause=orders.pause
        )
        async with asyncio.TaskGroup() as group:
            group.create_task(keeping.go_on())
            await keeping.ready.wait()
            await conductor.ask(point="ready", pid=os.getpid(), executor=executor)


def main(orders: Orders) -> None:
    logging.disable(logging.CRITICAL)
    world = World(Wire(orders.oracle), Wire(orders.conductor))
    asyncio.run(
        until_killed(
            orders,
            world.conductor,
            lambda *_: works(world, names=orders.names),
            lambda journal: PointedJournal(journal, world),
        )
    )
