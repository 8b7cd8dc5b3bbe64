"""The engine room with everything in memory: one clock that stands still until it is turned."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

from portico.adapters.inline import InlineBus, InlineRunQueue, InlineRuns
from portico.engine.core.event_log import Entry
from portico.engine.core.runs import (
    Activation,
    Cleaning,
    QueueConfig,
    QueuePlacement,
    Run,
    RunStatus,
    Step,
    as_it_is,
)
from portico.engine.execution import RunActivation
from portico.engine.ports import Journal
from portico.engine.runs import (
    CancelRun,
    ForkRun,
    Kind,
    Kinds,
    ListRuns,
    ResumeRun,
    RunSpec,
    ShowRun,
    SignalRun,
    StartForPeople,
    StartRun,
    WaitForRun,
)
from portico.guard.core.authentication import as_principal
from portico.guard.core.principals import Role
from portico.kernel.durable import Work
from portico.kernel.ids import RunId
from portico.kernel.json import JsonObject, JsonValue
from portico.kernel.principal import Principal
from portico.testing.engine import MemoryEventLog
from portico.testing.guard import MemoryTaskContexts, a_space, an_identity
from portico.testing.memory_store import InMemoryStore, SeededEntropy, TickingClock

ANA = as_principal(an_identity("ana"))
BEN = as_principal(an_identity("ben"))
OLGA = as_principal(an_identity("olga", roles=[Role.OPERATOR]))
VERA = as_principal(an_identity("vera", roles=[Role.VIEWER]))
LONG = timedelta(hours=1)


async def nothing(_durable: object, _given: JsonObject) -> JsonValue:
    return None


class Room:
    def __init__(
        self,
        *kinds: Kind,
        work: Work = nothing,
        queues: Sequence[QueueConfig] = (QueueConfig(name="runs"),),
        clean: Cleaning = as_it_is,
    ) -> None:
        self.clean = clean
        self.clock = TickingClock(step=timedelta(0))
        self.entropy = SeededEntropy("engine room")
        self.bus = InlineBus()
        self.world = InMemoryStore()
        self.world.spaces[ANA.space] = a_space()
        self.log = MemoryEventLog(self.world, self.bus, self.clock)
        self.runs = InlineRuns(self.clock, self.entropy, self.bus, self.log)
        self.line = InlineRunQueue(queues, self.clock)
        self.kinds = Kinds([Kind(name="work", work=work, for_people=True), *kinds])
        runs, bus = self.runs, self.bus
        making: dict[str, Any] = {"clock": self.clock, "entropy": self.entropy}
        led: dict[str, Any] = {"runs": runs, "queue": self.line}
        self.start_run = StartRun(kinds=self.kinds, **led, **making)
        self.contexts = MemoryTaskContexts(self.world)
        self.start_for_people = StartForPeople(start_run=self.start_run, contexts=self.contexts)
        self.cancel_run = CancelRun(book=runs, bus=bus, **led)
        self.resume_run = ResumeRun(book=runs, **led)
        self.fork_run = ForkRun(book=runs, **led, **making)
        self.signal_run = SignalRun(book=runs, bus=bus, contexts=self.contexts, **led)
        self.list_runs = ListRuns(book=runs)
        self.show_run = ShowRun(book=runs, contexts=self.contexts)
        self.wait_for_run = WaitForRun(book=runs, bus=bus)

    def run_leg(self, journal: Journal | None = None, *, most_attempts: int = 100) -> RunActivation:
        return RunActivation(
            journal=journal or self.runs,
            bus=self.bus,
            kinds=self.kinds,
            clock=self.clock,
            most_attempts=most_attempts,
            clean=self.clean,
        )

    @asynccontextmanager
    async def working(self, journal: Journal | None = None) -> AsyncIterator[None]:
        async with self.line.working(self.run_leg(journal), self.runs.due):
            yield

    async def start(
        self,
        kind: str = "work",
        caller: Principal = ANA,
        place: QueuePlacement | None = None,
        **given: JsonValue,
    ) -> RunId:
        return (await self.start_run(caller, RunSpec(kind=kind, input=given, placement=place))).id

    async def leg(self, run: RunId, journal: Journal | None = None) -> Run:
        """Carry out the leg that it stands in line with, here and now."""
        await self.run_leg(journal)(Activation(run, (await self.seen(run)).leg))
        return await self.seen(run)

    async def ran(self) -> Run:
        """A run of the first kind, as far as one leg takes it."""
        return await self.leg(await self.start())

    async def crash(self, run: RunId, after: asyncio.Event, journal: Journal | None = None) -> None:
        """Carry it out until something has happened, and then be gone."""
        leg = Activation(run, (await self.seen(run)).leg)
        carrying = asyncio.ensure_future(self.run_leg(journal)(leg))
        waiting = asyncio.ensure_future(after.wait())
        await asyncio.wait([carrying, waiting], return_when=asyncio.FIRST_COMPLETED)
        assert not carrying.done()
        carrying.cancel()
        await asyncio.wait([carrying])

    async def seen(self, run: RunId) -> Run:
        return await self.runs.get(OLGA, run)

    async def until(self, run: RunId, status: RunStatus) -> Run:
        while (found := await self.seen(run)).status is not status:  # noqa: ASYNC110 # seen only from outside
            await asyncio.sleep(0.002)
        return found

    async def steps(self, run: RunId) -> Sequence[Step]:
        return await self.runs.steps(OLGA, run)

    async def told(self, run: RunId) -> Sequence[Entry]:
        return (await self.log.read(OLGA, str(run), after=0, limit=10_000)).entries
