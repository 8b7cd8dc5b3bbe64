"""A process that calls as often as it may: python -m tests.scenarios.limited_caller < JSON

It prints a line for each call that was let through, with the time by the clock that all processes
of a machine share, and at its end one with how often it was refused and asked the database.
"""

import asyncio
import json
import os
import sys
import time
from collections import Counter
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from portico.adapters.postgres.guard.rules import PostgresCallLimits
from portico.adapters.postgres.transaction import Transactions, open_pool
from portico.guard.core.access_request import AccessRequest, ActionTarget
from portico.guard.core.errors import LimitReached
from portico.guard.core.rate_limits import CallRates, Slots
from portico.kernel.effect import Effect
from portico.kernel.ids import PrincipalId, SpaceId
from portico.kernel.label import Label, Level
from portico.kernel.principal import Principal, PrincipalKind


@dataclass(frozen=True)
class Caller:
    """Of one tool: so many at once, each with a pause, until so many calls or the end."""

    tool: str
    at_once: int = 1
    every: float = 0.0
    most: int = sys.maxsize


@dataclass(frozen=True)
class Job:
    address: str
    space: str
    principal: str
    window: float
    rates: dict[str, int]
    """Calls in a window, by wildcards over tools."""
    callers: list[Caller]
    begin: float
    end: float

    def text(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def read(cls, text: str) -> "Job":
        told: dict[str, Any] = json.loads(text)
        told["callers"] = [Caller(**each) for each in told["callers"]]
        return cls(**told)


class Calling:
    def __init__(self, job: Job, limits: PostgresCallLimits) -> None:
        self._job = job
        self._limits = limits
        self._let_through: Counter[Caller] = Counter()
        self.refused = 0

    async def call(self, caller: Caller) -> None:
        while time.monotonic() < self._job.end and self._let_through[caller] < caller.most:
            try:
                act = self._act(caller.tool)
                await self._limits.take_own(act)
                await self._limits.take_shared(act)
            except LimitReached as error:
                self.refused += 1
                await asyncio.sleep(min(error.retry_after.total_seconds(), self._job.window))
            else:
                self._let_through[caller] += 1
                os.write(1, f"{caller.tool} {time.monotonic()}\n".encode())
                await asyncio.sleep(caller.every)

    def _act(self, tool: str) -> AccessRequest:
        principal = Principal(
            id=PrincipalId(UUID(self._job.principal)),
            space=SpaceId(UUID(self._job.space)),
            kind=PrincipalKind.AGENT,
            name="caller",
            clearance=Label(Level.TEAM),
        )
        aim = ActionTarget(
            tool=tool, server=tool.partition(".")[0], effect=Effect.EXTERNAL_WRITE, pin="0" * 64
        )
        return AccessRequest(caller=principal, target=aim)


async def main(job: Job) -> None:
    async with open_pool(job.address, 2) as pool:
        limits = PostgresCallLimits(
            Transactions(pool),
            CallRates(tools=job.rates),
            slots=Slots(timedelta(seconds=job.window)),
        )
        calling = Calling(job, limits)
        await asyncio.sleep(max(job.begin - time.monotonic(), 0))
        async with asyncio.TaskGroup() as group:
            for caller in job.callers:
                for _ in range(caller.at_once):
                    group.create_task(calling.call(caller))
    os.write(1, f"end {calling.refused} {limits.trips}\n".encode())


if __name__ == "__main__":
    asyncio.run(main(Job.read(sys.stdin.read())))
