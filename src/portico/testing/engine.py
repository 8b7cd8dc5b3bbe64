"""The engine's ports in memory: runs, the event log, the bus."""

import asyncio
import json
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace

from portico.adapters.inline import InlineBus
from portico.engine.core.errors import (
    KeyReused,
    StoreBusy,
    StoreUnavailable,
    TopicNotFound,
    TopicRefused,
)
from portico.engine.core.event_log import Entry, NewEntry, Page
from portico.engine.core.idempotency import Claim, StoredResponse, WriteOutcome
from portico.engine.core.store import (
    Applied,
    CheckResult,
    Migration,
    Source,
    StoreInfo,
    StoreStatus,
)
from portico.engine.ports import Bus
from portico.kernel.clock import Clock, Entropy
from portico.kernel.ids import EventId, SpaceId
from portico.kernel.label import join
from portico.kernel.principal import Principal
from portico.testing.memory_store import (
    InMemoryStore,
    RowRefused,
    SeededEntropy,
    StoredAnswer,
    Stream,
    TickingClock,
    all_or_nothing,
)


class MemoryReceipts:
    """What the action writes through doors on the same world goes if the action fails."""

    def __init__(self, world: InMemoryStore) -> None:
        self._world = world
        self._turns: defaultdict[object, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def once(
        self, caller: Principal, claim: Claim, action: Callable[[], Awaitable[StoredResponse]]
    ) -> WriteOutcome:
        place = (caller.space, caller.id, claim.operation, claim.key)
        async with self._turns[place]:
            kept = self._world.receipts.get(place)
            if kept is not None:
                return _replayed(kept, claim)
            if place[:2] not in self._world.identities:
                raise RowRefused(f"There is no principal {caller.id} to give a receipt to.")
            with all_or_nothing():
                answer = await action()
                self._world.receipts[place] = StoredAnswer(
                    claim.fingerprint, json.dumps(answer.stored)
                )
            return WriteOutcome(answer.first(), replayed=False)


class MemorySchema:
    """Remembers which migrations it was given; it does not run them."""

    def __init__(self, applied: Sequence[Applied] = (), clock: Clock | None = None) -> None:
        self._applied = {step.number: step for step in applied}
        self._clock = clock or TickingClock()
        self._turn = asyncio.Lock()

    @asynccontextmanager
    async def locked(self) -> AsyncIterator[None]:
        async with self._turn:
            yield

    async def applied(self) -> Sequence[Applied]:
        return [self._applied[number] for number in sorted(self._applied)]

    async def apply(self, migration: Migration) -> None:
        if migration.number in self._applied:
            raise RowRefused(f"The migration {migration.number} is applied already.")
        self._applied[migration.number] = Applied(
            migration.number, migration.name, migration.checksum, self._clock.now()
        )


class MemoryStore:
    """A database that starts when it is told to; `others` are processes that use it too."""

    def __init__(self, *, running: bool = False, others: int = 0) -> None:
        self.others = others
        self.unsafe_things: list[str] = []
        self._kept = running
        self._status = StoreStatus(source=Source.EMBEDDED, address="memory", running=running)

    async def start(
        self, *, create: bool, keep: bool = False, progress: Callable[[str], None]
    ) -> None:
        progress("making the database" if create else "starting the database")
        self._kept = self._kept or keep
        self._status = replace(self._status, running=True)

    async def release(self) -> None:
        self._status = replace(self._status, running=self._kept or self.others > 0)

    async def stop(self, *, force: bool) -> bool:
        if self.others and not force:
            raise StoreBusy(f"{self.others} other Portico processes are using it.")
        stopped, self._kept, self.others = self._status.running, False, 0
        self._status = replace(self._status, running=False)
        return stopped

    async def status(self) -> StoreStatus:
        return self._status

    async def info(self) -> StoreInfo:
        if not self._status.running:
            raise StoreUnavailable("The database does not answer.")
        return StoreInfo(status=self._status, size=0, connections=1)

    async def unsafe(self) -> Sequence[str]:
        return self.unsafe_things


class ScriptedCheck:
    """Finds what it was told to find, and something else once it was asked to mend it."""

    def __init__(self, found: CheckResult, mended: CheckResult | None = None) -> None:
        self._found = found
        self._mended = mended

    async def __call__(self, *, mend: bool) -> CheckResult:
        if mend and self._mended is not None:
            self._found = self._mended
        return self._found


def _replayed(kept: StoredAnswer, claim: Claim) -> WriteOutcome:
    if kept.fingerprint != claim.fingerprint:
        raise KeyReused(claim.key)
    return WriteOutcome(json.loads(kept.text), replayed=True)


class MemoryBus(InlineBus):
    """The bus of one process, which is what a test is."""


class MemoryEventLog:
    def __init__(
        self,
        world: InMemoryStore,
        bus: Bus | None = None,
        clock: Clock | None = None,
        entropy: Entropy | None = None,
    ) -> None:
        self._world = world
        self._bus = bus or MemoryBus()
        self._clock = clock or TickingClock()
        self._entropy = entropy or SeededEntropy("events")

    async def append(self, caller: Principal, entries: Sequence[NewEntry]) -> Sequence[int]:
        with all_or_nothing():
            numbers = [self._append(caller, entry) for entry in entries]
        for entry in entries:
            self._bus.wake(caller.space, entry.topic)
        return numbers

    async def read(self, caller: Principal, topic: str, *, after: int, limit: int) -> Page:
        stream = self._world.streams.get((caller.space, topic))
        if stream is None or not caller.clearance.covers(stream.label):
            raise TopicNotFound(topic)
        start = 0 if after > stream.last else after
        kept = range(max(start + 1, stream.first), stream.last + 1)
        entries = (self._world.events[caller.space, topic, number] for number in kept)
        found = [entry for entry in entries if caller.clearance.covers(entry.label)][:limit]
        full = len(found) == limit > 0
        return Page(
            entries=found,
            position=found[-1].number if full else stream.last,
            first=stream.first,
            more=full,
        )

    def trim(self, space: SpaceId, topic: str, first: int) -> None:
        """Forget what came before `first`, as retention does."""
        stream = self._world.streams[space, topic]
        self._world.streams[space, topic] = replace(stream, first=first)
        self._world.events.drop(lambda place, _: place[:2] == (space, topic) and place[2] < first)

    def _append(self, caller: Principal, new: NewEntry) -> int:
        place = (caller.space, new.topic)
        if caller.space not in self._world.spaces:
            raise RowRefused(f"There is no space {caller.space}.")
        stream = self._world.streams.get(place) or Stream(new.topic_label, 1, 0)
        label = join([stream.label, new.label])
        if not caller.clearance.covers(label):
            raise TopicRefused
        number = stream.last + 1
        self._world.streams[place] = replace(stream, last=number)
        self._world.events[*place, number] = Entry(
            topic=new.topic,
            number=number,
            id=EventId.mint(self._clock.now(), self._entropy),
            type=new.type,
            at=self._clock.now(),
            by=caller.id,
            label=label,
            details=new.details,
        )
        return number
