"""Workers are killed by the hundred, and the database with them, and nothing is lost or doubled."""

import asyncio
import math
import os
import random
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from portico.engine.core.runs import RunStatus
from tests.servers import reachable_folder
from tests.storm.conductor import Conductor, Said, conducting
from tests.storm.graph import BRANCHES, LENGTH, expected
from tests.storm.house import House, storm_house
from tests.storm.oracle import effects

FULL_SIZE = bool(os.environ.get("PORTICO_PROOF"))
RUNS = 10_000 if FULL_SIZE else 160
KILLS = 1_000 if FULL_SIZE else 24
DATABASE_KILLS = 20 if FULL_SIZE else 3
EACH_POINT = 100 if FULL_SIZE else 6
WORKERS = 4
IN_FLIGHT = 1_000 if FULL_SIZE else 60
GRAPHS = 3 if FULL_SIZE else 1
POINTS = ("before effect", "after effect", "after checkpoint")
PATIENCE = 1 if FULL_SIZE else 4
"""In the gate a deadline is four times as long: the machine is not ours alone."""

pytestmark = [
    pytest.mark.scenario,
    pytest.mark.postgres,
    pytest.mark.timeout(7200 if FULL_SIZE else 1500),
]


@pytest.fixture
def folder() -> Iterator[Path]:
    with reachable_folder() as made:
        yield made


@pytest.fixture
async def house(folder: Path) -> AsyncIterator[House]:
    async with storm_house(folder) as made:
        yield made


class Executioner:
    """Kills at each kind of point in turn, the next time after a while that somebody is there."""

    def __init__(self, kills: int, passages: int) -> None:
        self._left = kills
        self._chance = random.Random(5)
        self._pause = passages * 6 // (kills * 5)  # so that it lasts for six tenths of the work
        self._next = iter(POINTS * (kills // len(POINTS) + 1))
        self._wanted = next(self._next)
        self._skip = 20

    @property
    def left(self) -> int:
        return self._left

    def __call__(self, said: Said) -> bool:
        if said["point"] != self._wanted or not self._left:
            return False
        if self._skip > 0:
            self._skip -= 1
            return False
        self._left -= 1
        self._wanted = next(self._next)
        self._skip = self._chance.randrange(self._pause)
        return True


async def _start_all(house: House, count: int) -> None:
    turns = asyncio.Semaphore(4)

    async def one(number: int) -> None:
        async with turns:
            await house.started("four", f"run {number}", {})

    async with asyncio.TaskGroup() as group:
        for number in range(count):
            group.create_task(one(number))


async def _storm(
    house: House, folder: Path, *, runs: int, kills: int, database_kills: int
) -> tuple[Conductor, Counter[str], float]:
    """How it was conducted, what the outside saw, and how long after it the last run ended."""
    async with conducting(house.addresses, folder) as (conductor, ledger):
        executioner = Executioner(kills, passages=runs * 4)
        conductor.verdict = executioner
        conductor.start_all(WORKERS)
        async with asyncio.TaskGroup() as group:
            group.create_task(_start_all(house, runs))
            group.create_task(_kill_database(house, database_kills))
        while executioner.left and await asyncio.to_thread(house.left):  # noqa: ASYNC110 # elsewhere
            await asyncio.sleep(0.2)
        took = await house.all_over(60 * PATIENCE)
        return conductor, Counter(each["key"] for each in effects(ledger)), took


async def _kill_database(house: House, times: int) -> None:
    for _ in range(times):
        await asyncio.sleep(1.5)
        await asyncio.to_thread(house.kill_database)


@pytest.mark.requirement("engine:storm:nothing-lost")
@pytest.mark.parametrize(
    "database_kills",
    [
        pytest.param(0, id="workers", marks=pytest.mark.nightly),
        pytest.param(DATABASE_KILLS, id="and database"),
    ],
)
async def test_no_effect_is_lost_or_doubled_in_a_storm_of_kills(
    house: House, folder: Path, database_kills: int, capsys: pytest.CaptureFixture[str]
) -> None:
    runs, kills = (RUNS, KILLS) if not database_kills else (RUNS // 4, KILLS // 4)
    began = time.monotonic()

    conductor, seen, took = await _storm(
        house, folder, runs=runs, kills=kills, database_kills=database_kills
    )

    raw = sum(seen.values())
    with capsys.disabled():
        print(
            f"\nstorm: {runs} runs of 4 effects, {dict(conductor.kills)} kills of workers, "
            f"{database_kills} of the database in {time.monotonic() - began:.0f} s; "
            f"{raw} effects seen, {raw - len(seen)} of them repeated under the same key; "
            f"all over {took:.1f} s after the storm"
        )
    assert len(house.acknowledged) == runs
    ended = await house.runs(house.acknowledged)
    assert Counter(run.status for run in ended) == {RunStatus.DONE: runs}
    wanted = {f"{run}:effect:{number}" for run in house.acknowledged for number in range(4)}
    assert set(seen) == wanted
    # A worker that dies leaves at most one unfinished step of each run that it had.
    interrupted = (kills + database_kills * WORKERS) * conductor.orders.at_once
    assert raw - len(seen) <= interrupted
    assert sum(conductor.kills.values()) == kills
    assert all(conductor.kills[point] >= kills // 5 for point in POINTS)
    assert all(conductor.kills[point] >= EACH_POINT for point in POINTS) or database_kills


@pytest.mark.requirement("engine:takeover:prompt")
async def test_the_work_of_a_worker_that_never_comes_back_goes_on_elsewhere(
    house: House, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with conducting(house.addresses, folder) as (conductor, _):
        conductor.restarts = False
        conductor.start_all(3)
        await conductor.ready(3)
        for number in range(36):
            await house.started("slow", f"slow {number}", {"seconds": 300})
        while sum(holder is not None for holder in house.holders().values()) < 36:  # noqa: ASYNC110 # elsewhere
            await asyncio.sleep(0.05)
        doomed = max(
            conductor.workers,
            key=lambda pid: [*house.holders().values()].count(conductor.executors[pid]),
        )
        orphans = [r for r, by in house.holders().items() if by == conductor.executors[doomed]]

        conductor.kill(doomed)
        died = time.monotonic()
        again: dict[str, float] = {}
        while len(again) < len(orphans):
            holders = house.holders()
            now = time.monotonic() - died
            for run in orphans:
                if run not in again and holders[run] not in (None, conductor.executors[doomed]):
                    again[run] = now
            assert now < 60
            await asyncio.sleep(0.05)

    took = sorted(again.values())
    late = took[int(len(took) * 0.95) - 1]
    with capsys.disabled():
        print(f"\ntakeover: {len(orphans)} runs, p95 {late:.1f} s, last {took[-1]:.1f} s")
    assert len(orphans) >= 10
    assert late <= 5 * PATIENCE


@pytest.mark.requirement("engine:flight:a-thousand")
async def test_a_thousand_runs_are_in_flight_at_once(
    house: House, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with conducting(house.addresses, folder) as (conductor, ledger):
        conductor.orders = replace(conductor.orders, at_once=IN_FLIGHT // WORKERS)
        conductor.start_all(WORKERS)
        await conductor.ready(WORKERS)
        began, most = time.monotonic(), 0
        async with asyncio.TaskGroup() as group:
            for number in range(IN_FLIGHT):
                group.create_task(house.started("slow", f"slow {number}", {"seconds": 60}))
            while most < IN_FLIGHT:
                most = max(most, await asyncio.to_thread(lambda: house.statuses()["running"]))
                assert time.monotonic() - began < 60 * PATIENCE, most
                await asyncio.sleep(0.2)
        took = time.monotonic() - began
        sizes = [psutil.Process(pid).memory_info().rss / 1e6 for pid in conductor.workers]
        await house.all_over(90 * PATIENCE)
        seen = Counter(each["key"] for each in effects(ledger))

    with capsys.disabled():
        print(f"\nin flight: {most} runs after {took:.0f} s, {max(sizes):.0f} MB a worker at most")
    assert len(seen) == IN_FLIGHT
    assert set(seen.values()) == {1}


class AfterEveryStep:
    """Kills once after each step of each run was noted; remembers when that was."""

    def __init__(self) -> None:
        self.done: dict[tuple[str, str], float] = {}
        self.kills = 0

    def __call__(self, said: Said) -> bool:
        place = (said["run"], said["step"])
        if said["point"] != "after checkpoint" or place in self.done:
            return False
        self.done[place] = time.time()
        self.kills += 1
        return True

    def repeated(self, seen: Sequence[Said]) -> Sequence[Said]:
        """What was begun although it had been noted before."""
        return [
            each
            for each in seen
            if each["at"] > self.done.get((each["run"], each["step"]), math.inf)
        ]


async def _graphs(
    house: House, folder: Path, seeds: Sequence[int], *, names: bool = True
) -> tuple[AfterEveryStep, list[Said]]:
    """Each walked by workers that die after every one of its steps. What was done, in order."""
    async with conducting(house.addresses, folder) as (conductor, ledger):
        killing = AfterEveryStep()
        conductor.verdict = killing
        conductor.orders = replace(conductor.orders, names=names)
        conductor.start_all()
        for seed in seeds:
            await house.started("graph", f"graph {seed}", {"seed": seed})
        await house.all_over(300 * PATIENCE)
        return killing, effects(ledger)


@pytest.mark.requirement("engine:graph:never-swaps")
async def test_a_graph_killed_after_each_of_its_steps_gives_the_same_and_repeats_nothing(
    house: House, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    seeds = range(GRAPHS)

    killing, seen = await _graphs(house, folder, seeds)

    with capsys.disabled():
        print(f"\ngraph: {killing.kills} kills, {len(seen)} steps begun in {len(seeds)} runs")
    assert killing.kills == len(seeds) * BRANCHES * LENGTH
    assert killing.kills >= 100 or not FULL_SIZE
    for run in await house.runs(house.acknowledged):
        assert run.status is RunStatus.DONE
        assert run.result == expected(int(str(run.input["seed"])))
    assert killing.repeated(seen) == []


@pytest.mark.nightly
@pytest.mark.planted
async def test_the_same_graph_goes_wrong_once_steps_are_known_by_their_order(
    house: House, folder: Path
) -> None:
    """A red run: what the names of steps are for."""
    await _graphs(house, folder, [1, 3], names=False)

    ended = await house.runs(house.acknowledged)
    assert any(run.result != expected(int(str(run.input["seed"]))) for run in ended)


async def _slow_runs(
    house: House, folder: Path, *, fence: bool = True, lease: bool = True
) -> Counter[str]:
    """Ten slow effects begun by a worker that then loses its lease for a while, beside another
    worker; how often the outside saw each."""
    async with conducting(house.addresses, folder) as (conductor, ledger):
        conductor.orders = replace(conductor.orders, fence=fence, lease=lease, pause=5.0)
        first = conductor.start()
        await conductor.ready(1)
        for number in range(10):
            await house.started("slow", f"slow {number}", {"seconds": 6})
        while None in house.holders().values():  # noqa: ASYNC110 # it changes in another process
            await asyncio.sleep(0.05)
        conductor.start()
        await conductor.ready(2)
        assert house.drop_lease(conductor.executors[first]) == lease
        await asyncio.sleep(20)
        return Counter(each["key"] for each in effects(ledger))


@pytest.mark.requirement("engine:fence:stops")
async def test_a_worker_that_lost_its_lease_stops_before_it_does_what_another_does(
    house: House, folder: Path
) -> None:
    seen = await _slow_runs(house, folder)

    await house.all_over(60)
    assert len(seen) == 10
    assert set(seen.values()) == {1}


@pytest.mark.nightly
@pytest.mark.planted
async def test_without_the_fence_both_of_them_do_it(house: House, folder: Path) -> None:
    """A red run: what the fence is for."""
    seen = await _slow_runs(house, folder, fence=False)

    assert max(seen.values()) > 1


@pytest.mark.nightly
@pytest.mark.planted
async def test_without_a_lease_the_living_are_taken_for_dead(house: House, folder: Path) -> None:
    """A red run: what the lease is for. They take each other's work away as often as they look."""
    seen = await _slow_runs(house, folder, lease=False)

    assert max(seen.values(), default=0) > 1 or len(seen) < 10
