"""Starts workers, hears at which point each of them is, and kills them there."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from portico.adapters.postgres.addresses import Addresses
from tests.forks import FORKS
from tests.storm import worker

Said = dict[str, Any]
Verdict = Callable[[Said], bool]
"""Whether whoever said this dies here."""


@dataclass(slots=True)
class Conductor:
    """Answers each point with `go`, or not at all."""

    orders: Any
    """What each worker is told when it is started."""
    work: Callable[[Any], None] = worker.main
    verdict: Verdict = field(default=lambda _: False)
    restarts: bool = True
    points: Counter[str] = field(default_factory=Counter)
    kills: Counter[str] = field(default_factory=Counter)
    workers: dict[int, BaseProcess] = field(default_factory=dict)
    executors: dict[int, str] = field(default_factory=dict)
    heard: list[Said] = field(default_factory=list)

    def start(self, **changes: Any) -> int:
        process = FORKS.Process(target=self.work, args=[replace(self.orders, **changes)])
        process.daemon = True
        process.start()
        assert process.pid is not None
        self.workers[process.pid] = process
        return process.pid

    def start_all(self, count: int = 2) -> None:
        for _ in range(count):
            self.start()

    def kill_all(self) -> None:
        for pid in list(self.workers):
            self.kill(pid)

    def replace_workers(self, count: int = 2, **orders: Any) -> None:
        """By others, which are told something else."""
        self.kill_all()
        self.orders = replace(self.orders, **orders)
        self.start_all(count)

    def kill(self, pid: int) -> None:
        process = self.workers.pop(pid)
        os.kill(pid, signal.SIGKILL)
        process.join()

    async def attend(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while line := await reader.readline():
                said = json.loads(line)
                self.points[said["point"]] += 1
                self.heard.append(said)
                if said["point"] == "ready":
                    self.executors[said["pid"]] = said["executor"]
                elif said["pid"] in self.workers and self.verdict(said):
                    self.kills[said["point"]] += 1
                    self.kill(said["pid"])
                    if self.restarts:
                        self.start()
                    break
                writer.write(b"go\n")
                await writer.drain()
        writer.close()

    async def ready(self, count: int, patience: float = 120) -> None:
        deadline = time.monotonic() + patience
        while sum(pid in self.executors for pid in self.workers) < count:
            assert time.monotonic() < deadline
            assert all(process.is_alive() for process in self.workers.values())
            await asyncio.sleep(0.05)


class AtPoint:
    """Kills once, at the point of this number, or at the first that is like this one."""

    def __init__(self, number: int | None = None, *, point: str = "", what: str = "") -> None:
        self._number = number
        self._wanted = (point, what)
        self.seen: list[str] = []
        self.killed: Said | None = None

    def __call__(self, said: Said) -> bool:
        self.seen.append(f"{said['point']}: {said['what']}")
        here = self._number == len(self.seen) or (said["point"], said["what"]) == self._wanted
        if self.killed is not None or not here:
            return False
        self.killed = said
        return True


async def killed_at_points(
    conductor: Conductor, points: int, most: int, played: Callable[[str], Awaitable[Sequence[str]]]
) -> tuple[list[str], Counter[str]]:
    """What was wrong with each that was played, killed at so many of the points, evenly spread; and
    where each was killed."""
    found, killed = list[str](), Counter[str]()
    for number in range(1, points + 1, max(1, points // most)):
        conductor.verdict = executioner = AtPoint(number)
        wrong = await played(f"killed-at-{number}")
        found += [f"{executioner.killed}: {each}" for each in wrong]
        killed[executioner.killed["point"] if executioner.killed else "never"] += 1
    return found, killed


@asynccontextmanager
async def conducting(
    addresses: Addresses, folder: Path, work: Callable[[Any], None] = worker.main
) -> AsyncIterator[tuple[Conductor, Path]]:
    """With an oracle; gives its ledger as well."""
    ledger = folder / "ledger"
    orders = worker.Orders(
        app=addresses.app,
        engine=str(addresses.engine),
        oracle=folder / "oracle",
        conductor=folder / "conductor",
    )
    conductor = Conductor(orders, work)
    server = await asyncio.start_unix_server(conductor.attend, orders.conductor)
    oracle = subprocess.Popen(  # noqa: ASYNC220 # it blocks for a moment, and nobody waits
        [sys.executable, "-m", "tests.storm.oracle", orders.oracle, ledger],
        stdout=subprocess.PIPE,
    )
    assert oracle.stdout is not None
    oracle.stdout.readline()
    try:
        yield conductor, ledger
    finally:
        conductor.restarts = False
        conductor.kill_all()
        server.close()
        oracle.kill()
        oracle.wait()
        oracle.stdout.close()
