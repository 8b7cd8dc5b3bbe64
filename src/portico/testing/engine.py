"""The engine room's doors in memory."""

import asyncio
import json
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace

from portico.engine.core.errors import KeyReused, StoreBusy, StoreUnavailable
from portico.engine.core.idempotency import Answer, Claim, Receipt
from portico.engine.core.store import Applied, Finding, Migration, Source, StoreInfo, StoreStatus
from portico.kernel.clock import Clock
from portico.kernel.principal import Principal
from portico.testing.kernel import TickingClock
from portico.testing.world import KeptAnswer, MemoryWorld, RowRefused, all_or_nothing


class MemoryReceipts:
    """What the action writes through doors on the same world goes if the action fails."""

    def __init__(self, world: MemoryWorld) -> None:
        self._world = world
        self._turns: defaultdict[object, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def once(
        self, caller: Principal, claim: Claim, action: Callable[[], Awaitable[Answer]]
    ) -> Receipt:
        place = (caller.space, caller.id, claim.operation, claim.key)
        async with self._turns[place]:
            kept = self._world.receipts.get(place)
            if kept is not None:
                return _replayed(kept, claim)
            if place[:2] not in self._world.identities:
                raise RowRefused(f"There is no principal {caller.id} to give a receipt to.")
            with all_or_nothing():
                answer = await action()
                self._world.receipts[place] = KeptAnswer(claim.fingerprint, json.dumps(answer.kept))
            return Receipt(answer.first(), replayed=False)


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

    def __init__(self, found: Finding, mended: Finding | None = None) -> None:
        self._found = found
        self._mended = mended

    async def __call__(self, *, mend: bool) -> Finding:
        if mend and self._mended is not None:
            self._found = self._mended
        return self._found


def _replayed(kept: KeptAnswer, claim: Claim) -> Receipt:
    if kept.fingerprint != claim.fingerprint:
        raise KeyReused(claim.key)
    return Receipt(json.loads(kept.text), replayed=True)
