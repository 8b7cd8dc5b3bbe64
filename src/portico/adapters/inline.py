"""Runs in this process alone: nothing outlives it. For tests, and for what need not survive."""

import asyncio
import heapq
import itertools
from collections import Counter, defaultdict, deque
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final
from uuid import UUID

from portico.engine.core.errors import (
    AlreadyAnswered,
    KeyReused,
    RunNotFound,
    RunNotOver,
    RunOver,
    TopicNotFound,
    TopicRefused,
)
from portico.engine.core.event_log import NewEntry, Page
from portico.engine.core.runs import (
    Activation,
    ClaimedActivation,
    Failure,
    QueueConfig,
    QueuedActivation,
    Run,
    RunPosition,
    RunStatus,
    Step,
    StepState,
)
from portico.engine.ports import Bus, EventLog
from portico.engine.runs import run_entries
from portico.kernel.clock import Clock, Entropy
from portico.kernel.ids import PrincipalId, RunId, SpaceId, uuid7
from portico.kernel.json import JsonObject, JsonValue
from portico.kernel.principal import Principal


class InlineWakeups:
    """One ear. It is a bell and not a letter box: rung three times before it is heard, it is
    heard once."""

    def __init__(self) -> None:
        self._heard = asyncio.Event()

    def ring(self) -> None:
        self._heard.set()

    @property
    def rung(self) -> bool:
        """Whether it was, and nobody has heard it yet."""
        return self._heard.is_set()

    async def wait(self) -> None:
        await self._heard.wait()
        self._heard.clear()


class InlineBus:
    def __init__(self) -> None:
        self._ears: defaultdict[tuple[SpaceId, str], set[InlineWakeups]] = defaultdict(set)

    def wake(self, space: SpaceId, topic: str) -> None:
        for ear in self._ears.get((space, topic), ()):
            ear.ring()

    def wake_all(self) -> None:
        for ears in self._ears.values():
            for ear in ears:
                ear.ring()

    @property
    def listening(self) -> int:
        """How many listen at the moment."""
        return sum(map(len, self._ears.values()))

    @contextmanager
    def listen(self, space: SpaceId, topic: str) -> Iterator[InlineWakeups]:
        ear = InlineWakeups()
        self._ears[space, topic].add(ear)
        try:
            yield ear
        finally:
            ears = self._ears[space, topic]
            ears.discard(ear)
            if not ears:
                del self._ears[space, topic]


# Events of runs that nobody keeps: whoever waits for one hears that something has happened.


class BellLog:
    """An `EventLog` with nothing in it."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus

    async def append(self, caller: Principal, entries: Sequence[NewEntry]) -> Sequence[int]:
        for topic in {entry.topic for entry in entries}:
            self._bus.wake(caller.space, topic)
        return [0] * len(entries)

    async def read(self, caller: Principal, topic: str, *, after: int, limit: int) -> Page:  # noqa: ARG002 # there is nothing
        raise TopicNotFound(topic)


# The line of legs within this process: whoever joins is carried out as soon as there is room.

_LOOK: Final = 0.05
"""Seconds between two looks at whose time has come, unless somebody says otherwise."""


class InlineRunQueue:
    def __init__(self, queues: Iterable[QueueConfig], clock: Clock, *, look: float = _LOOK) -> None:
        self._queues = {queue.name: queue for queue in queues}
        self._clock = clock
        self._look = look
        self._waiting: list[tuple[int, int, QueuedActivation]] = []
        self._order = itertools.count()
        self._running: dict[Activation, QueuedActivation] = {}
        self._stirred = asyncio.Event()

    @property
    def running(self) -> int:
        return len(self._running)

    async def join(self, turn: QueuedActivation) -> None:
        known = {waiting.activation for _, _, waiting in self._waiting} | self._running.keys()
        if turn.activation not in known:
            heapq.heappush(self._waiting, (turn.placement.priority, next(self._order), turn))
            self._stirred.set()

    async def leave(self, leg: Activation) -> None:
        self._waiting = [entry for entry in self._waiting if entry[2].activation != leg]
        heapq.heapify(self._waiting)

    @asynccontextmanager
    async def working(
        self,
        run_leg: Callable[[Activation], Awaitable[None]],
        due: Callable[[datetime], Sequence[QueuedActivation]],
    ) -> AsyncIterator[None]:
        """Carries out whoever joins, for as long as this is open."""
        async with asyncio.TaskGroup() as group:
            serving = group.create_task(self._serve(group, run_leg))
            waking = group.create_task(self._wake(due))
            try:
                yield
            finally:
                serving.cancel()
                waking.cancel()

    async def _serve(
        self, group: asyncio.TaskGroup, run_leg: Callable[[Activation], Awaitable[None]]
    ) -> None:
        while True:
            await self._stirred.wait()
            self._stirred.clear()
            for turn in self._next():
                self._running[turn.activation] = turn
                group.create_task(self._carry_out(turn, run_leg))

    async def _carry_out(
        self, turn: QueuedActivation, run_leg: Callable[[Activation], Awaitable[None]]
    ) -> None:
        try:
            await run_leg(turn.activation)
        finally:
            del self._running[turn.activation]
            self._stirred.set()

    async def _wake(self, due: Callable[[datetime], Sequence[QueuedActivation]]) -> None:
        while True:
            await asyncio.sleep(self._look)
            for turn in due(self._clock.now()):
                await self.join(turn)

    def _next(self) -> Sequence[QueuedActivation]:
        """Who may go now, in order; the rest go on waiting."""
        queues = Counter(turn.placement.queue for turn in self._running.values())
        partitions = Counter(
            (turn.placement.queue, turn.placement.partition) for turn in self._running.values()
        )
        going, staying = [], []
        for entry in sorted(self._waiting):
            place = entry[2].placement
            queue = self._queues[place.queue]
            most = min(each for each in (queue.a_process, queue.everywhere, 10**9) if each)
            shared = queue.a_partition or 10**9
            if queues[place.queue] < most and partitions[place.queue, place.partition] < shared:
                queues[place.queue] += 1
                partitions[place.queue, place.partition] += 1
                going.append(entry[2])
            else:
                staying.append(entry)
        self._waiting = staying
        return going


# Runs, kept in memory: the same rules as in the database, for as long as the process lives.


@dataclass(slots=True)
class _Kept:
    run: Run
    starter: Principal
    fingerprint: str
    claim: UUID | None = None
    steps: dict[str, Step] = field(default_factory=dict)
    signals: dict[str, JsonValue] = field(default_factory=dict)


class InlineRuns:
    """`RunQueries`, `Runs` and `Journal` at once; without a log nothing is told."""

    def __init__(
        self,
        clock: Clock,
        entropy: Entropy,
        bus: Bus,
        log: EventLog | None = None,
        *,
        most: int | None = None,
    ) -> None:
        """Of those that are over no more than `most` are remembered."""
        self._clock = clock
        self._entropy = entropy
        self._bus = bus
        self._log = log
        self._most = most
        self._over: deque[RunId] = deque()
        self._kept: dict[RunId, _Kept] = {}

    async def get(self, caller: Principal, run: RunId) -> Run:
        return self._seen(caller, run).run

    async def page(
        self,
        caller: Principal,
        *,
        statuses: Sequence[RunStatus],
        kind: str | None,
        before: RunPosition | None,
        limit: int,
        of: PrincipalId | None = None,
    ) -> Sequence[Run]:
        visible = [kept.run for kept in self._kept.values() if _visible(caller, kept.run)]
        visible.sort(key=lambda run: _age(run.position), reverse=True)
        return [
            run
            for run in visible
            if (before is None or _age(run.position) < _age(before))
            and (not statuses or run.status in statuses)
            and kind in (None, run.kind)
            and of in (None, run.principal)
        ][:limit]

    async def steps(self, caller: Principal, run: RunId) -> Sequence[Step]:
        return _in_order(self._seen(caller, run).steps.values())

    async def progress(self, caller: Principal, runs: Sequence[RunId]) -> Mapping[RunId, int]:
        return {
            run: sum(step.state is not StepState.OPEN for step in kept.steps.values())
            for run in runs
            if (kept := self._kept.get(run)) is not None and _visible(caller, kept.run)
        }

    async def add(
        self, caller: Principal, run: Run, fingerprint: str
    ) -> tuple[Run, QueuedActivation | None]:
        if run.space != caller.space or not caller.clearance.covers(run.label):
            raise TopicRefused
        kept = self._kept.get(run.id)
        if kept is None:
            self._kept[run.id] = _Kept(run, caller, fingerprint)
            await self._tell(caller, run, "run.queued", {})
            return run, QueuedActivation(Activation(run.id, run.leg), run.placement)
        if kept.fingerprint != fingerprint or not _visible(caller, kept.run):
            raise KeyReused(str(run.id))
        return kept.run, None

    async def fork(
        self, caller: Principal, source: RunId, run: Run, *, before: int
    ) -> tuple[Run, QueuedActivation | None]:
        steps = self._seen(caller, source).steps
        added, turn = await self.add(caller, run, f"fork of {source} before {before}")
        if turn is not None:
            self._kept[run.id].steps = {
                name: step
                for name, step in steps.items()
                if step.state is not StepState.OPEN and step.number < before
            }
        return added, turn

    async def fork_with(
        self, caller: Principal, source: RunId, run: Run, *, steps: Collection[str], asked: str
    ) -> tuple[Run, QueuedActivation | None]:
        done = self._seen(caller, source).steps
        added, turn = await self.add(caller, run, asked)
        if turn is not None:
            self._kept[run.id].steps = {
                name: done[name]
                for name in steps
                if name in done and done[name].state is not StepState.OPEN
            }
        return added, turn

    async def cancel(self, caller: Principal, run: RunId) -> QueuedActivation | None:
        kept = self._seen(caller, run)
        if kept.run.status.over:
            raise RunOver(str(run), kept.run.status)
        queued = kept.run.status is RunStatus.QUEUED
        turn = (
            QueuedActivation(Activation(run, kept.run.leg), kept.run.placement) if queued else None
        )
        self._change(kept, status=RunStatus.CANCELLED, waits_for=(), wakes_at=None)
        self._end(kept)
        await self._tell(caller, kept.run, "run.cancelled", {"by": caller.name})
        return turn

    async def resume(
        self,
        caller: Principal,
        run: RunId,
        *,
        anew: Collection[str] = (),
        given: JsonObject | None = None,
    ) -> QueuedActivation:
        kept = self._seen(caller, run)
        if not kept.run.status.over or kept.run.status is RunStatus.DONE:
            raise RunNotOver(str(run), kept.run.status)
        failed = None if kept.run.failure is None else kept.steps.get(kept.run.failure.step or "")
        if failed is not None and failed.state is StepState.FAILED:
            del kept.steps[failed.name]
        for name in anew:
            kept.steps.pop(name, None)
        if given is not None:
            scopes = frozenset(caller.scopes)
            self._change(kept, input=given, scopes=scopes, clearance=caller.clearance)
            kept.starter = caller
        self._change(
            kept,
            status=RunStatus.QUEUED,
            leg=kept.run.leg + 1,
            attempts=0,
            failure=None,
            finished_at=None,
        )
        await self._tell(caller, kept.run, "run.resumed", {"by": caller.name})
        return QueuedActivation(Activation(run, kept.run.leg), kept.run.placement)

    async def signal(
        self, caller: Principal, run: RunId, topic: str, payload: JsonValue
    ) -> QueuedActivation | None:
        kept = self._seen(caller, run)
        if kept.run.status.over:
            raise RunOver(str(run), kept.run.status)
        if topic in kept.signals:
            raise AlreadyAnswered(topic)
        kept.signals[topic] = payload
        facts: JsonObject = {"topic": topic, "by": caller.name}
        await self._tell(caller, kept.run, "run.signalled", facts)
        if kept.run.status is not RunStatus.WAITING or topic not in kept.run.waits_for:
            return None
        self._change(kept, status=RunStatus.QUEUED, waits_for=(), wakes_at=None)
        return QueuedActivation(Activation(run, kept.run.leg), kept.run.placement)

    async def claim(self, leg: Activation) -> ClaimedActivation | None:
        kept = self._kept.get(leg.run)
        if kept is None or kept.run.leg != leg.number or not _to_do(kept.run):
            return None
        kept.claim = uuid7(self._clock.now(), self._entropy(8))
        self._change(
            kept,
            status=RunStatus.RUNNING,
            attempts=kept.run.attempts + 1,
            wakes_at=None,
            started_at=kept.run.started_at or self._clock.now(),
        )
        await self._tell(kept.starter, kept.run, _beginning(kept.run), {})
        return ClaimedActivation(
            run=kept.run,
            worker=replace(kept.starter, clearance=kept.run.clearance, scopes=kept.run.scopes),
            claim=kept.claim,
            steps=list(kept.steps.values()),
        )

    async def finish(self, taken: ClaimedActivation, step: Step, told: NewEntry) -> bool:
        kept = self._held(taken)
        if kept is None:
            return False
        known = kept.steps.get(step.name)
        if known is None or known.state is StepState.OPEN is not step.state:
            kept.steps[step.name] = step
            if self._log is not None:
                await self._log.append(taken.worker, [told])
        return True

    async def announce(self, taken: ClaimedActivation, told: Sequence[NewEntry]) -> bool:
        if self._held(taken) is None:
            return False
        if self._log is not None:
            await self._log.append(taken.worker, told)
        return True

    async def answer(
        self, taken: ClaimedActivation, topics: Sequence[str]
    ) -> Mapping[str, JsonValue] | None:
        kept = self._held(taken)
        if kept is None:
            return None
        return {topic: kept.signals[topic] for topic in topics if topic in kept.signals}

    async def park(
        self, taken: ClaimedActivation, topics: Sequence[str], wakes_at: datetime | None
    ) -> bool | None:
        kept = self._held(taken)
        if kept is None:
            return False
        if any(topic in kept.signals for topic in topics):
            return None
        self._change(
            kept,
            status=RunStatus.WAITING,
            leg=kept.run.leg + 1,
            attempts=0,
            waits_for=tuple(topics),
            wakes_at=wakes_at,
        )
        kept.claim = None
        await self._tell(taken.worker, kept.run, "run.waiting", {"for": [*topics]})
        return True

    async def settle(
        self,
        taken: ClaimedActivation,
        status: RunStatus,
        result: JsonValue,
        failure: Failure | None,
    ) -> bool:
        kept = self._held(taken)
        if kept is None:
            return False
        self._change(kept, status=status, result=result, failure=failure)
        self._end(kept)
        facts: JsonObject = {} if failure is None else {"error": failure.as_json()}
        await self._tell(taken.worker, kept.run, f"run.{status}", facts)
        return True

    def due(self, now: datetime) -> Sequence[QueuedActivation]:
        """Those whose time has come, as they are put in line."""
        found = []
        for kept in self._kept.values():
            run = kept.run
            if run.status is RunStatus.WAITING and run.wakes_at is not None and run.wakes_at <= now:
                self._change(kept, status=RunStatus.QUEUED, wakes_at=None)
                found.append(QueuedActivation(Activation(run.id, run.leg), run.placement))
        return found

    def _seen(self, caller: Principal, run: RunId) -> _Kept:
        kept = self._kept.get(run)
        if kept is None or not _visible(caller, kept.run):
            raise RunNotFound(str(run))
        return kept

    def _held(self, taken: ClaimedActivation) -> _Kept | None:
        kept = self._kept.get(taken.run.id)
        return kept if kept is not None and kept.claim == taken.claim else None

    def _change(self, kept: _Kept, **changes: object) -> None:
        kept.run = replace(kept.run, **changes)  # type: ignore[arg-type] # fields by their names

    def _end(self, kept: _Kept) -> None:
        kept.claim = None
        self._change(kept, finished_at=self._clock.now())
        self._over.append(kept.run.id)
        while self._most is not None and len(self._over) > self._most:
            oldest = self._kept.get(self._over.popleft())
            if oldest is not None and oldest.run.status.over:
                del self._kept[oldest.run.id]

    async def _tell(self, caller: Principal, run: Run, type_: str, facts: JsonObject) -> None:
        if self._log is not None:
            await self._log.append(caller, run_entries(run, type_, facts))


def _visible(caller: Principal, run: Run) -> bool:
    return run.space == caller.space and caller.clearance.covers(run.label)


def _to_do(run: Run) -> bool:
    return run.status in {RunStatus.QUEUED, RunStatus.RUNNING}


def _age(position: RunPosition) -> tuple[datetime, int]:
    return position.created_at, position.run.value.int


def _in_order(steps: Iterable[Step]) -> Sequence[Step]:
    def place(step: Step) -> tuple[bool, int, datetime, str]:
        return step.state is StepState.OPEN, step.number, step.started_at, step.name

    return sorted(steps, key=place)


def _beginning(run: Run) -> str:
    if run.attempts > 1:
        return "run.taken_over"
    return "run.started" if run.leg == 1 else "run.woken"
