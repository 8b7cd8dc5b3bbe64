"""Four processes under more load than they may have: together they stay within each limit, and
within five per cent of it."""

import asyncio
import os
import signal
import sys
import time
from asyncio.subprocess import PIPE, Process
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pytest

from portico.adapters.postgres.addresses import Addresses
from portico.adapters.postgres.guard.spaces import PostgresSpaces
from portico.adapters.postgres.transaction import Transactions, open_pool
from portico.guard.core.authentication import as_principal
from portico.guard.core.keys import ApiKey
from portico.kernel.principal import Principal
from portico.testing.guard import a_space, an_identity
from portico.testing.memory_store import SeededEntropy
from tests.contracts.doors import PEPPER, a_key
from tests.scenarios.limited_caller import Caller, Job

FULL_SIZE = bool(os.environ.get("PORTICO_PROOF"))
WINDOW = 60.0 if FULL_SIZE else 8.0
WINDOWS = 2.3
PROCESSES = 4
STARTING = 6.0
"""Seconds until the processes have surely loaded."""
TOLERANCE = 0.05
NEAR = 0.95
"""How much of a limit can be used at least. Looked at in long windows on a machine of its own only:
whoever calls comes to it only if there is time enough."""

RATES = {"burst.*": 1000, "even.*": 600, "few.*": 7, "idle.*": 400, "spare.*": 900}

pytestmark = [pytest.mark.scenario, pytest.mark.postgres, pytest.mark.timeout(300)]


@dataclass(frozen=True)
class Load:
    calls: Mapping[str, Sequence[float]]
    """When each call was let through, by its tool, in order."""
    begin: float
    end: float
    refused: int
    trips: int

    def __str__(self) -> str:
        """For whoever looks at a run."""
        found = [
            f"{tool}: {len(times)} calls, {self.least_in_a_window(tool)} to"
            f" {self.most_in_a_window(tool)} in {WINDOW:g} s"
            for tool, times in self.calls.items()
        ]
        return f"{'; '.join(found)}; refused {self.refused}, trips {self.trips}"

    def most_in_a_window(self, tool: str) -> int:
        times = self.calls[tool]
        return max(bisect_left(times, at + WINDOW) - place for place, at in enumerate(times))

    def too_many(self) -> list[str]:
        """Tools of which more were let through than may be."""
        return [tool for tool in self.calls if self.most_in_a_window(tool) > _most(tool)]

    def least_in_a_window(self, tool: str) -> int:
        """Over windows that begin anywhere, each longer by the tolerance."""
        times, long = self.calls[tool], WINDOW * (1 + TOLERANCE)
        starts = [self.begin + long * step / 50 for step in range(1000)]
        return min(
            bisect_left(times, start + long) - bisect_left(times, start)
            for start in starts
            if start + long <= self.end
        )


@pytest.fixture
async def caller(embedded_database: Addresses) -> Principal:
    space = a_space("limits")
    first = an_identity(space=space)
    key = ApiKey.mint(SeededEntropy("limits"))
    async with open_pool(embedded_database.app, 2) as pool:
        spaces = PostgresSpaces(Transactions(pool))
        await spaces.found(space, first, a_key(first, key), key.digest(PEPPER))
    return as_principal(first)


@pytest.mark.requirement("guard:limits:across-processes")
async def test_four_processes_stay_within_each_limit_and_close_to_it(
    embedded_database: Addresses, caller: Principal
) -> None:
    load = await _under_load(embedded_database.app, caller)

    sys.stdout.write(f"{load}\n")
    assert set(load.calls) == {"burst.call", "even.call", "few.call", "idle.call"}
    assert load.too_many() == []
    for tool in load.calls:
        assert not FULL_SIZE or load.least_in_a_window(tool) >= _most(tool) * NEAR, tool
    assert load.refused > 0


@pytest.mark.planted
async def test_each_process_by_itself_lets_too_many_through(
    embedded_database: Addresses, caller: Principal
) -> None:
    """A red run: what it is for that they count together."""
    load = await _under_load(embedded_database.app, caller, apart=True)

    assert {"burst.call", "few.call"} <= set(load.too_many())


async def test_nobody_is_refused_below_the_limit(
    embedded_database: Addresses, caller: Principal
) -> None:
    """Nine tenths of what may be, in bursts that are not in step with the slots."""
    every = WINDOW / (0.9 * RATES["spare.*"] / PROCESSES)
    callers = [[Caller("spare.call", every=every)]] * PROCESSES

    load = await _run(embedded_database.app, caller, callers, windows=1.2)

    assert load.refused == 0
    assert len(load.calls["spare.call"]) > RATES["spare.*"] * 0.5


async def _under_load(address: str, caller: Principal, *, apart: bool = False) -> Load:
    """One process holds a lease and goes idle, one is killed with whatever it holds."""
    busy = [
        Caller("burst.call", at_once=20),
        Caller("even.call", at_once=4, every=WINDOW / RATES["even.*"]),
        Caller("few.call", at_once=2),
    ]
    idles, goes_on = Caller("idle.call", most=1), Caller("idle.call", at_once=4)
    processes = [[*busy, idles], [*busy, idles], [*busy, goes_on], [*busy, goes_on]]
    return await _run(address, caller, processes, windows=WINDOWS, killed=1, apart=apart)


async def _run(
    address: str,
    caller: Principal,
    processes: Sequence[Sequence[Caller]],
    *,
    windows: float,
    killed: int | None = None,
    apart: bool = False,
) -> Load:
    """`apart`: each process knows its limits by names of their own."""
    begin = time.monotonic() + STARTING
    end = begin + windows * WINDOW
    jobs = [
        Job(
            address=address,
            space=str(caller.space.value),
            principal=str(caller.id.value),
            window=WINDOW,
            rates={f"{name}{'*' * number * apart}": most for name, most in RATES.items()},
            callers=[*callers],
            begin=begin,
            end=end,
        )
        for number, callers in enumerate(processes)
    ]
    running = [await _started(job) for job in jobs]
    async with asyncio.TaskGroup() as group:
        told = [group.create_task(process.communicate(job)) for process, job in running]
        if killed is not None:
            await asyncio.sleep(begin + 0.4 * WINDOW - time.monotonic())
            running[killed][0].send_signal(signal.SIGKILL)
    ends = [process.returncode for process, _ in running]
    assert ends == [-signal.SIGKILL if number == killed else 0 for number in range(len(ends))]
    return _load([task.result()[0].decode() for task in told], begin, end)


async def _started(job: Job) -> tuple[Process, bytes]:
    program = [sys.executable, "-m", "tests.scenarios.limited_caller"]
    return await asyncio.create_subprocess_exec(
        *program, stdin=PIPE, stdout=PIPE
    ), job.text().encode()


def _most(tool: str) -> int:
    return RATES[f"{tool.partition('.')[0]}.*"]


def _load(texts: Sequence[str], begin: float, end: float) -> Load:
    calls: defaultdict[str, list[float]] = defaultdict(list)
    refused = trips = 0
    for line in "".join(texts).splitlines():
        name, *numbers = line.split()
        if name == "end":
            refused, trips = refused + int(numbers[0]), trips + int(numbers[1])
        else:
            calls[name].append(float(numbers[0]))
    return Load({name: sorted(times) for name, times in calls.items()}, begin, end, refused, trips)
