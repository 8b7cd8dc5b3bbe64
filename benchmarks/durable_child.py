"""The processes under measurement in `just bench durable`, one measurement each."""

import asyncio
import json
import logging
import resource
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from statistics import median, quantiles
from typing import Any, Final, LiteralString

import httpx2
import psycopg
from psycopg.types.json import Json

from portico.adapters.dbos.run_queue import DbosRunQueue
from portico.adapters.dbos.system import configuration
from portico.adapters.inline import InlineBus, InlineRunQueue, InlineRuns
from portico.adapters.postgres.addresses import Addresses
from portico.adapters.postgres.bus import PostgresBus
from portico.adapters.postgres.checks import first_admin
from portico.adapters.postgres.engine.runs import PostgresRunQueries, PostgresRuns
from portico.adapters.postgres.guard.audit import PostgresAudit
from portico.adapters.postgres.transaction import Transactions, open_pool
from portico.adapters.system.clock import SystemClock, system_entropy
from portico.app.app_context import AppContext
from portico.app.engine import EngineOptions, event_log, working
from portico.app.shared_dependencies import SharedDependencies
from portico.engine.core.event_log import NewEntry
from portico.engine.core.runs import QueueConfig, RunStatus
from portico.engine.execution import RunActivation
from portico.engine.ports import Bus
from portico.engine.runs import Kind, Kinds, RunSpec, StartRun
from portico.guard.core.authentication import as_principal
from portico.kernel.durable import Durable
from portico.kernel.ids import uuid7
from portico.kernel.json import JsonObject, JsonValue
from portico.kernel.principal import Principal

_STEPS: Final = 10
_AT_ONCE: Final = 32
_TEXT: Final = "x" * 100
_CLOCK: Final = SystemClock()

_TABLE: Final[LiteralString] = """
    CREATE TABLE IF NOT EXISTS portico.bare_event (
        space_id uuid, topic text, number bigint, at timestamptz DEFAULT now(), event_id uuid,
        type text, principal_id uuid, level smallint, compartments text[], facts json,
        PRIMARY KEY (space_id, topic, number, at))
"""
_INSERT: Final[LiteralString] = """
    INSERT INTO portico.bare_event
           (space_id, topic, number, event_id, type, principal_id, level, compartments, facts)
    VALUES (%(space)s, %(topic)s, %(number)s, %(event)s, 'bench.event', %(by)s, 0, '{}', %(facts)s)
"""

Figures = dict[str, Any]


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


async def _one(_key: str) -> JsonValue:
    return _TEXT


async def _ten_steps(durable: Durable, _given: JsonObject) -> JsonValue:
    for number in range(_STEPS):
        await durable.step(f"step:{number}", _one)
    return None


def _figures(runs: int, seconds: float, cpu: float) -> Figures:
    steps = runs * _STEPS
    return {
        "steps_per_s": round(steps / seconds, 1),
        "cpu_ms_per_step": round(cpu / steps * 1000, 3),
    }


@asynccontextmanager
async def _outside(
    addresses: Addresses, bus: Bus
) -> AsyncIterator[tuple[SharedDependencies, Principal]]:
    admin = await first_admin(str(addresses.owner))
    if admin is None:
        raise RuntimeError("The installation has no admin.")
    async with open_pool(addresses.app, 8) as pool:
        transactions = Transactions(pool)
        made = SharedDependencies(
            transactions=transactions,
            bus=bus,
            audit=PostgresAudit(transactions, lambda *_: None),
            clock=_CLOCK,
            entropy=system_entropy,
        )
        yield made, as_principal(admin)


async def ours(addresses: Addresses, runs: int) -> Figures:
    bus, line = InlineBus(), DbosRunQueue(str(addresses.engine))
    kinds = Kinds([Kind(name="bench", work=_ten_steps)])
    wishes = EngineOptions(engine=str(addresses.engine), at_once=_AT_ONCE)
    async with _outside(addresses, bus) as (outside, admin):
        book = PostgresRunQueries(outside.transactions)
        start = StartRun(
            runs=PostgresRuns(
                outside.transactions,
                event_log(outside),
                bus=bus,
                clock=_CLOCK,
                entropy=system_entropy,
            ),
            queue=line,
            kinds=kinds,
            clock=_CLOCK,
            entropy=system_entropy,
        )

        async def all_done(wanted: int) -> None:
            """Of everything there is: the database may hold runs of an earlier round."""
            while len(await book.page(admin, **_DONE, limit=100_000)) < wanted:  # noqa: ASYNC110 # elsewhere
                await asyncio.sleep(0.02)

        before = len(await book.page(admin, **_DONE, limit=100_000))
        async with working(wishes, outside, kinds, line) as engine:
            await engine.ready.wait()
            await start(admin, RunSpec(kind="bench"))
            await all_done(before + 1)
            began, cpu = time.perf_counter(), _cpu()
            await _in_turns(runs, lambda: start(admin, RunSpec(kind="bench")))
            await all_done(before + 1 + runs)
            figures = _figures(runs, time.perf_counter() - began, _cpu() - cpu)
        await line.close()
    return {**figures, **await _inline()}


_DONE: Final[Any] = {"statuses": [RunStatus.DONE], "kind": "bench", "before": None}


async def bare(addresses: Addresses, runs: int) -> Figures:
    """The same steps as DBOS's own, from a queue of its own."""
    from dbos import DBOS

    async def one() -> str:
        return _TEXT

    async def ten_steps() -> None:
        for step in range(_STEPS):
            await DBOS.run_step_async({"name": f"step:{step}"}, one)

    DBOS(config=configuration(str(addresses.engine), f"bare-{time.time_ns()}", 8))
    workflow = DBOS.workflow(name="bare")(ten_steps)
    DBOS.launch()
    await DBOS.register_queue_async(
        "bare",
        worker_concurrency=_AT_ONCE,
        polling_interval_sec=QueueConfig(name="").look.total_seconds(),
    )
    warm = await DBOS.enqueue_workflow_async("bare", workflow)
    await warm.get_result(polling_interval_sec=0.02)
    began, cpu = time.perf_counter(), _cpu()
    handles: list[Any] = []

    async def enqueue() -> None:
        handles.append(await DBOS.enqueue_workflow_async("bare", workflow))

    await _in_turns(runs, enqueue)
    for handle in handles:
        await handle.get_result(polling_interval_sec=0.05)
    return _figures(runs, time.perf_counter() - began, _cpu() - cpu)


async def _in_turns(times: int, act: Callable[[], Awaitable[object]], at_once: int = 4) -> None:
    turns = asyncio.Semaphore(at_once)

    async def one() -> None:
        async with turns:
            await act()

    async with asyncio.TaskGroup() as group:
        for _ in range(times):
            group.create_task(one())


async def _inline(steps: int = 10_000) -> Figures:
    async def many(durable: Durable, _given: JsonObject) -> JsonValue:
        for number in range(steps):
            await durable.step(f"step:{number}", _one)
        return None

    bus = InlineBus()
    runs = InlineRuns(_CLOCK, system_entropy, bus)
    line = InlineRunQueue([QueueConfig(name="runs")], _CLOCK)
    kinds = Kinds([Kind(name="many", work=many)])
    run_leg = RunActivation(journal=runs, bus=bus, kinds=kinds, clock=_CLOCK)
    start = StartRun(runs=runs, queue=line, kinds=kinds, clock=_CLOCK, entropy=system_entropy)
    nobody = Principal(**_NOBODY)
    took = []
    async with line.working(run_leg, runs.due):
        for _ in range(5):
            cpu = _cpu()
            run = await start(nobody, RunSpec(kind="many"))
            while not (await runs.get(nobody, run.id)).status.over:  # noqa: ASYNC110 # elsewhere
                await asyncio.sleep(0.005)
            took.append((_cpu() - cpu) / steps * 1e6)
    began = time.perf_counter()
    for _ in range(steps):
        await _one("")
    plain = (time.perf_counter() - began) / steps * 1e6
    return {"inline_us_per_step": round(median(took), 2), "plain_await_us": round(plain, 3)}


async def events(addresses: Addresses, rounds: int, writers: int = 8, each: int = 300) -> Figures:
    bus = InlineBus()
    async with _outside(addresses, bus) as (outside, admin):
        log = event_log(outside)
        pairs = []
        for number in range(rounds):
            rate = await _written(
                writers,
                each,
                lambda w, n, r=number: log.append(  # type: ignore[misc] # bound
                    admin,
                    [
                        NewEntry(
                            topic=f"bench.{r}.{w}",
                            type="bench.event",
                            details={"n": n, "text": _TEXT},
                        )
                    ],
                ),
            )
            pairs.append((rate, await _bare_rate(addresses, admin, number, writers, each)))
    ratios = [one / other for one, other in pairs]
    return {
        "appended": writers * each * rounds,
        "append_per_s": round(median(one for one, _ in pairs), 1),
        "insert_per_s": round(median(other for _, other in pairs), 1),
        "ratio": round(median(ratios), 2),
        "ratios": [round(ratio, 2) for ratio in ratios],
    }


async def _written(
    writers: int, each: int, write: Callable[[int, int], Awaitable[object]]
) -> float:
    """A second, by so many writers at once, each one after the other."""

    async def writer(number: int) -> None:
        for place in range(each):
            await write(number, place)

    began = time.perf_counter()
    await asyncio.gather(*(writer(number) for number in range(writers)))
    return writers * each / (time.perf_counter() - began)


async def _bare_rate(
    addresses: Addresses, admin: Principal, number: int, writers: int, each: int
) -> float:
    """The same row put into a table without walls, numbers or months."""
    connections = [
        await psycopg.AsyncConnection.connect(str(addresses.owner), autocommit=True)
        for _ in range(writers)
    ]
    await connections[0].execute(_TABLE)

    async def insert(writer: int, place: int) -> None:
        await connections[writer].execute(
            _INSERT,
            {
                "space": admin.space.value,
                "topic": f"bench.{number}.{writer}",
                "number": place,
                "event": uuid7(_CLOCK.now(), system_entropy(8)),
                "by": admin.id.value,
                "facts": Json({"n": place, "text": _TEXT}),
            },
        )

    rate = await _written(writers, each, insert)
    for connection in connections:
        await connection.close()
    return rate


async def news(addresses: Addresses, count: int) -> Figures:
    """From the end of an append here to the arrival at a client of another process's server."""
    ground = AppContext()
    key = ground.loaded.paths.key_file.read_text().strip()
    bus = PostgresBus(addresses.app, system_entropy)
    committed: dict[int, float] = {}
    arrived: dict[int, float] = {}
    async with _outside(addresses, bus) as (outside, admin), asyncio.TaskGroup() as group:
        spreading = group.create_task(bus.run())
        log = event_log(outside)
        await log.append(admin, [_news(0)])
        listening = group.create_task(
            _listen(f"{ground.server_url}/api/v1/events", key, arrived, count)
        )
        while 0 not in arrived:  # noqa: ASYNC110 # the first one says that it listens
            await asyncio.sleep(0.01)
        for number in range(1, count):
            await log.append(admin, [_news(number)])
            committed[number] = time.perf_counter()
            await asyncio.sleep(0.02)
        await listening
        spreading.cancel()
    took = sorted((arrived[number] - committed[number]) * 1000 for number in committed)
    return {
        "events": count,
        "p50_ms": round(median(took), 2),
        "p95_ms": round(quantiles(took, n=20)[-1], 2),
    }


def _news(number: int) -> NewEntry:
    return NewEntry(topic="bench.news", type="bench.news", details={"n": number})


async def _listen(url: str, key: str, arrived: dict[int, float], count: int) -> None:
    headers = {"Authorization": f"Bearer {key}", "Accept": "text/event-stream"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=None) as client,  # it lasts
        client.stream("GET", url, params={"topics": "bench.news"}) as answer,
    ):
        async for line in answer.aiter_lines():
            if line.startswith("data: ") and '"bench.news"' in line:
                arrived[json.loads(line[6:])["facts"]["n"]] = time.perf_counter()
                if len(arrived) == count:
                    return


def _nobody() -> Mapping[str, Any]:
    from portico.kernel.ids import PrincipalId, SpaceId
    from portico.kernel.principal import PrincipalKind

    now = _CLOCK.now()
    return {
        "id": PrincipalId.mint(now, system_entropy),
        "space": SpaceId.mint(now, system_entropy),
        "kind": PrincipalKind.WORKER,
        "name": "bench",
    }


_NOBODY: Final = _nobody()

if __name__ == "__main__":
    logging.disable(logging.ERROR)
    measurements: Mapping[str, Callable[[Addresses, int], Coroutine[Any, Any, Figures]]] = {
        "ours": ours,
        "bare": bare,
        "events": events,
        "news": news,
    }
    measure = measurements[sys.argv[1]]
    print(json.dumps(asyncio.run(measure(AppContext().store.addresses, int(sys.argv[2])))))
