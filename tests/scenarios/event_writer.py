"""A process that tells events into shared topics: python -m tests.scenarios.event_writer < JSON"""

import asyncio
import json
import random
import sys
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Final, LiteralString
from uuid import UUID

from psycopg.errors import UniqueViolation
from psycopg.types.json import Json

from portico.adapters.postgres.bus import PostgresBus
from portico.adapters.postgres.engine.event_log import PostgresEventLog
from portico.adapters.postgres.transaction import Transactions, open_pool
from portico.adapters.system.clock import SystemClock, system_entropy
from portico.engine.core.event_log import NewEntry
from portico.kernel.ids import PrincipalId, SpaceId, uuid7
from portico.kernel.label import Label, Level
from portico.kernel.principal import Principal, PrincipalKind

# How one would do it without thinking: the next number is one more than the highest that is seen.
_WITHOUT_THE_LOCK: Final[LiteralString] = """
    INSERT INTO portico.event (space_id, topic, number, event_id, type, principal_id, level, facts)
    SELECT %(space)s, %(topic)s, coalesce(max(number), 0) + 1, %(event)s, 'storm.told',
           %(principal)s, 0, %(facts)s
      FROM portico.event WHERE space_id = %(space)s AND topic = %(topic)s
    RETURNING number
"""
_RAISE_LAST: Final[LiteralString] = """
    UPDATE portico.stream SET last = greatest(last, %(number)s)
     WHERE space_id = %(space)s AND topic = %(topic)s
"""


@dataclass(frozen=True)
class Job:
    address: str
    space: str
    principal: str
    writer: int
    count: int
    topics: list[str]
    locked: bool = True
    every: float = 0.0
    """Seconds between two; 0 is as fast as it can."""

    @property
    def caller(self) -> Principal:
        return Principal(
            id=PrincipalId(UUID(self.principal)),
            space=SpaceId(UUID(self.space)),
            kind=PrincipalKind.WORKER,
            name=f"writer {self.writer}",
            clearance=Label(Level.RESTRICTED),
        )

    def text(self) -> str:
        return json.dumps(asdict(self))


class Writer:
    def __init__(self, job: Job, transactions: Transactions, bus: PostgresBus) -> None:
        self._job = job
        self._transactions = transactions
        self._bus = bus
        self._log = PostgresEventLog(transactions, bus, SystemClock(), system_entropy)
        self._chance = random.Random(job.writer)

    async def write(self) -> None:
        told = 0
        began = asyncio.get_running_loop().time()
        while told < self._job.count:
            together = 1 if self._job.every else self._chance.randint(1, 5)
            numbers = range(told, min(told + together, self._job.count))
            topic = self._chance.choice(self._job.topics)
            await (self._tell if self._job.locked else self._tell_anyhow)(topic, numbers)
            told = numbers.stop
            await asyncio.sleep(
                max(began + told * self._job.every - asyncio.get_running_loop().time(), 0)
            )

    async def _tell(self, topic: str, numbers: range) -> None:
        async with self._transactions.begin(self._job.caller):
            entries = [
                NewEntry(topic=topic, type="storm.told", details=self._facts(number))
                for number in numbers
            ]
            await self._log.append(self._job.caller, entries)
            await self._hesitate()

    async def _tell_anyhow(self, topic: str, numbers: range) -> None:
        """Two that give the same number within one microsecond are the only ones that the table
        itself keeps apart: the later one asks again, and the other faults are still to be found."""
        while True:
            with suppress(UniqueViolation):
                return await self._tell_without_lock(topic, numbers)

    async def _tell_without_lock(self, topic: str, numbers: range) -> None:
        caller = self._job.caller
        values = {"space": caller.space.value, "topic": topic, "principal": caller.id.value}
        async with self._transactions.begin(caller) as connection:
            for number in numbers:
                event = uuid7(SystemClock().now(), system_entropy(8))
                told = {**values, "event": event, "facts": Json(self._facts(number))}
                row = await (await connection.execute(_WITHOUT_THE_LOCK, told)).fetchone()
            await self._hesitate()
        async with self._transactions.begin(caller) as connection:
            last = {**values, "number": row["number"] if row else 0}
            await connection.execute(_RAISE_LAST, last)
        self._bus.wake(caller.space, topic)

    async def _hesitate(self) -> None:
        if not self._job.every and self._chance.random() < 0.2:
            await asyncio.sleep(self._chance.uniform(0, 0.005))

    def _facts(self, number: int) -> dict[str, int]:
        return {"writer": self._job.writer, "n": number}


async def main(job: Job) -> None:
    bus = PostgresBus(job.address, system_entropy)
    async with open_pool(job.address, 2) as pool:
        running = asyncio.create_task(bus.run())
        await Writer(job, Transactions(pool), bus).write()
        await asyncio.sleep(0.2)  # lets the last of it be said
        running.cancel()
        await asyncio.wait([running])


if __name__ == "__main__":
    asyncio.run(main(Job(**json.loads(sys.stdin.read()))))
