"""A whole engine room for a contract: in memory, or DBOS on a real database."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

from portico.adapters.dbos.run_queue import DbosRunQueue
from portico.adapters.inline import InlineBus, InlineRunQueue, InlineRuns
from portico.adapters.postgres.addresses import Addresses
from portico.adapters.postgres.engine.runs import PostgresRunQueries, PostgresRuns
from portico.adapters.postgres.guard.spaces import PostgresSpaces
from portico.adapters.postgres.transaction import Transactions, open_pool
from portico.adapters.system.clock import SystemClock, system_entropy
from portico.app.engine import EngineOptions, event_log, working
from portico.app.shared_dependencies import SharedDependencies
from portico.engine.core.runs import (
    Activation,
    QueueConfig,
    QueuedActivation,
    QueuePlacement,
    Run,
    RunStatus,
)
from portico.engine.execution import RunActivation
from portico.engine.ports import Bus, RunQueries, RunQueue, Runs
from portico.engine.runs import (
    CancelRun,
    ForkRun,
    Kind,
    Kinds,
    ResumeRun,
    RunSpec,
    SignalRun,
    StartRun,
)
from portico.guard.core.authentication import as_principal
from portico.guard.core.principals import Role
from portico.guard.spaces import InstallHome, SpaceSpec
from portico.kernel.ids import RunId
from portico.kernel.json import JsonObject
from portico.kernel.label import PUBLIC
from portico.kernel.principal import Principal
from portico.testing.guard import MemoryAudit, MemoryTaskContexts, a_space, an_identity
from portico.testing.memory_store import InMemoryStore

_CLOCK = SystemClock()


class HeldLine:
    """A line that can be held back, so that what is put there stands there together."""

    def __init__(self, inner: RunQueue) -> None:
        self._inner = inner
        self.open = asyncio.Event()
        self.open.set()
        self._early: list[QueuedActivation] = []

    async def join(self, turn: QueuedActivation) -> None:
        if self.open.is_set():
            await self._inner.join(turn)
        else:
            self._early.append(turn)

    async def leave(self, leg: Activation) -> None:
        await self._inner.leave(leg)

    def forget(self) -> None:
        """Those who were held back never come."""
        self._early = []

    async def flush(self) -> None:
        while True:
            await self.open.wait()
            early, self._early = self._early, []
            for turn in early:
                await self._inner.join(turn)
            await asyncio.sleep(0.02)


@dataclass(slots=True)
class Engine:
    ana: Principal
    stranger: Principal
    book: RunQueries
    runs: Runs
    line: HeldLine
    bus: Bus
    kinds: Kinds
    running: Callable[[], int]
    start: StartRun = field(init=False)
    cancel: CancelRun = field(init=False)
    resume: ResumeRun = field(init=False)
    fork: ForkRun = field(init=False)
    signal: SignalRun = field(init=False)

    def __post_init__(self) -> None:
        book, runs, line, bus = self.book, self.runs, self.line, self.bus
        self.start = StartRun(
            runs=runs, queue=line, kinds=self.kinds, clock=_CLOCK, entropy=system_entropy
        )
        self.cancel = CancelRun(book=book, runs=runs, queue=line, bus=bus)
        self.resume = ResumeRun(book=book, runs=runs, queue=line)
        self.fork = ForkRun(book=book, runs=runs, queue=line, clock=_CLOCK, entropy=system_entropy)
        self.signal = SignalRun(
            book=book, runs=runs, queue=line, bus=bus, contexts=MemoryTaskContexts(InMemoryStore())
        )

    @property
    def uncleared(self) -> Principal:
        """In the same space, and cleared for nothing."""
        return replace(self.ana, clearance=PUBLIC)

    async def started(
        self, kind: str, given: JsonObject | None = None, place: QueuePlacement | None = None
    ) -> Run:
        return await self.start(self.ana, RunSpec(kind=kind, input=given or {}, placement=place))

    async def over(self, run: RunId) -> Run:
        return await self._until(run, lambda found: found.status.over)

    async def waiting(self, run: RunId) -> Run:
        return await self._until(run, lambda found: found.status is RunStatus.WAITING)

    async def nothing_runs(self) -> None:
        async with asyncio.timeout(60):
            while self.running():  # noqa: ASYNC110 # it ends in another task
                await asyncio.sleep(0.01)

    def hold(self) -> None:
        self.line.open.clear()

    def let_go(self) -> None:
        self.line.open.set()

    async def _until(self, run: RunId, true: Callable[[Run], bool]) -> Run:
        async with asyncio.timeout(60):
            while not true(found := await self.book.get(self.ana, run)):  # noqa: ASYNC110 # there
                await asyncio.sleep(0.02)
            return found


@asynccontextmanager
async def inline_engine(
    kinds: Sequence[Kind], queues: Sequence[QueueConfig]
) -> AsyncIterator[Engine]:
    bus = InlineBus()
    runs = InlineRuns(_CLOCK, system_entropy, bus)
    line = InlineRunQueue([QueueConfig(name="runs"), *queues], _CLOCK)
    run_leg = RunActivation(journal=runs, bus=bus, kinds=Kinds(kinds), clock=_CLOCK)
    space, other = a_space("home"), a_space("elsewhere")
    held = HeldLine(line)
    async with line.working(run_leg, runs.due), asyncio.TaskGroup() as group:
        flushing = group.create_task(held.flush())
        yield Engine(
            ana=as_principal(an_identity("ana", space=space, roles=[Role.ADMIN])),
            stranger=as_principal(an_identity("eve", space=other, roles=[Role.ADMIN])),
            book=runs,
            runs=runs,
            line=held,
            bus=bus,
            kinds=Kinds(kinds),
            running=lambda: line.running,
        )
        flushing.cancel()


@asynccontextmanager
async def dbos_engine(
    addresses: Addresses, kinds: Sequence[Kind], queues: Sequence[QueueConfig]
) -> AsyncIterator[Engine]:
    bus, line = InlineBus(), DbosRunQueue(str(addresses.engine))
    held = HeldLine(line)
    async with open_pool(addresses.app, 6) as pool, asyncio.TaskGroup() as group:
        transactions = Transactions(pool)
        outside = SharedDependencies(
            transactions=transactions,
            bus=bus,
            audit=MemoryAudit(),
            clock=_CLOCK,
            entropy=system_entropy,
        )
        people = [await _founded(transactions, name) for name in ("home", "elsewhere")]
        wishes = EngineOptions(engine=str(addresses.engine), queues=queues)
        flushing = group.create_task(held.flush())
        async with working(wishes, outside, Kinds(kinds), held) as engine:
            await engine.ready.wait()
            line.near = engine
            yield Engine(
                ana=people[0],
                stranger=people[1],
                book=PostgresRunQueries(transactions),
                runs=PostgresRuns(
                    transactions,
                    event_log(outside),
                    bus=bus,
                    clock=_CLOCK,
                    entropy=system_entropy,
                ),
                line=held,
                bus=bus,
                kinds=Kinds(kinds),
                running=lambda: len(engine.running),
            )
        flushing.cancel()
        await line.close()


async def _founded(transactions: Transactions, name: str) -> Principal:
    install = InstallHome(
        spaces=PostgresSpaces(transactions),
        unit_of_work=transactions.begin,
        audit=MemoryAudit(),
        clock=_CLOCK,
        entropy=system_entropy,
        pepper=b"p",
    )
    return as_principal((await install(SpaceSpec(name=name, admin="ana"))).admin)
