"""A house with a log, a bus and tails, and readers who keep what they are sent."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

from portico.adapters.crypto import AesSivSeal
from portico.engine.core.errors import StoreUnavailable
from portico.engine.core.event_log import Entry, EphemeralEvent, NewEntry, Page, Positions
from portico.engine.event_log import Subscription, Tails
from portico.kernel.clock import Clock
from portico.kernel.ids import SpaceId
from portico.kernel.json import JsonObject
from portico.kernel.label import PUBLIC, Label, Level
from portico.kernel.principal import Principal
from portico.testing.engine import MemoryBus, MemoryEventLog
from portico.testing.guard import a_person, a_space
from portico.testing.memory_store import InMemoryStore, TickingClock

SECRET = Label(Level.RESTRICTED)
ANA = replace(a_person("ana"), clearance=SECRET)
LOW = replace(a_person("bob"), clearance=PUBLIC)
SEAL = AesSivSeal.from_pepper(b"pepper")
PATIENCE = 30.0


class FaultyLog(MemoryEventLog):
    """Counts how often it is read, and can be away or broken."""

    reads = 0
    away = False
    broken = False

    async def append(self, caller: Principal, entries: Sequence[NewEntry]) -> Sequence[int]:
        self._check()
        return await super().append(caller, entries)

    async def read(self, caller: Principal, topic: str, *, after: int, limit: int) -> Page:
        self.reads += 1
        self._check()
        return await super().read(caller, topic, after=after, limit=limit)

    def _check(self) -> None:
        if self.away:
            raise StoreUnavailable("gone")
        if self.broken:
            raise ZeroDivisionError


class DeafBus(MemoryBus):
    deaf = False

    def wake(self, space: SpaceId, topic: str) -> None:
        if not self.deaf:
            super().wake(space, topic)


class Lines:
    """The plainest wording: `cursor type` a line."""

    def told(self, happened: Entry | EphemeralEvent) -> bytes:
        return f" {happened.type} {json.dumps(happened.details)}\n".encode()

    def marked(self, cursor: str, told: bytes) -> bytes:
        return cursor.encode() + told

    def trimmed(self, topic: str) -> bytes:
        return f" reset {json.dumps({'topic': topic})}\n".encode()


@dataclass(frozen=True)
class Sent:
    cursor: str
    type: str
    facts: JsonObject


@dataclass(frozen=True)
class House:
    world: InMemoryStore
    bus: DeafBus
    log: FaultyLog
    tails: Tails

    async def tell(
        self, *types: str, topic: str = "t", label: Label = PUBLIC, who: Principal = ANA
    ) -> None:
        await self.log.append(
            who, [NewEntry(topic=topic, type=each, label=label) for each in types]
        )

    @asynccontextmanager
    async def reading(
        self, who: Principal = ANA, positions: Positions | None = None
    ) -> AsyncIterator["Reader"]:
        async with self.tails.follow(who, positions or {"t": 0}) as subscription:
            yield Reader(subscription)


class Reader:
    def __init__(self, subscription: Subscription) -> None:
        self.subscription = subscription
        self.sent: list[Sent] = []

    async def takes(self, count: int) -> Sequence[Sent]:
        """Waits for so many more."""
        wanted = len(self.sent) + count
        async with asyncio.timeout(PATIENCE):
            while len(self.sent) < wanted:
                await self.take_what_there_is()
                if len(self.sent) < wanted:
                    await self.subscription.stirred()
        return self.sent[wanted - count :]

    async def take_what_there_is(self) -> None:
        while told := await self.subscription.more():
            for line in told.decode().splitlines():
                found = re.fullmatch(r"(\S*) (\S+) (.*)", line)
                assert found is not None, line
                self.sent.append(Sent(found[1], found[2], json.loads(found[3])))

    async def is_left_alone(self) -> bool:
        """Nothing more comes, as far as can be seen in a moment."""
        before = len(self.sent)
        for _ in range(5):
            await asyncio.sleep(0.002)
            await self.take_what_there_is()
        return len(self.sent) == before

    @property
    def types(self) -> list[str]:
        return [sent.type for sent in self.sent]


def a_house(clock: Clock | None = None, look: float = 5.0) -> House:
    world, bus = InMemoryStore(), DeafBus()
    home = a_space()
    world.spaces[home.id] = home
    log = FaultyLog(world, bus, clock or TickingClock())
    tails = Tails(log=log, bus=bus, seal=SEAL, wording=Lines(), look=look)
    return House(world, bus, log, tails)
