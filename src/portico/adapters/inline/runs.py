"""Runs, kept in memory: the same rules as in the database, for as long as the process lives."""

from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from uuid import UUID

from portico.engine.core.errors import (
    AlreadyAnswered,
    KeyReused,
    RunNotFound,
    RunNotOver,
    RunOver,
    TopicRefused,
)
from portico.engine.core.event_log import NewEntry
from portico.engine.core.runs import (
    Failure,
    Leg,
    Run,
    RunPosition,
    RunStatus,
    Step,
    StepState,
    Taken,
    Turn,
)
from portico.engine.ports import Bus, EventLog
from portico.engine.runs import run_entries
from portico.kernel.clock import Clock
from portico.kernel.entropy import Entropy
from portico.kernel.ids import PrincipalId, RunId, uuid7
from portico.kernel.json import JsonObject, JsonValue
from portico.kernel.principal import Principal


@dataclass(slots=True)
class _Kept:
    run: Run
    starter: Principal
    fingerprint: str
    claim: UUID | None = None
    steps: dict[str, Step] = field(default_factory=dict)
    signals: dict[str, JsonValue] = field(default_factory=dict)


class InlineRuns:
    """`RunBook`, `Runs` and `Journal` at once; without a log nothing is told."""

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

    async def add(self, caller: Principal, run: Run, fingerprint: str) -> tuple[Run, Turn | None]:
        if run.space != caller.space or not caller.clearance.covers(run.label):
            raise TopicRefused
        kept = self._kept.get(run.id)
        if kept is None:
            self._kept[run.id] = _Kept(run, caller, fingerprint)
            await self._tell(caller, run, "run.queued", {})
            return run, Turn(Leg(run.id, run.leg), run.place)
        if kept.fingerprint != fingerprint or not _visible(caller, kept.run):
            raise KeyReused(str(run.id))
        return kept.run, None

    async def fork(
        self, caller: Principal, source: RunId, run: Run, *, before: int
    ) -> tuple[Run, Turn | None]:
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
    ) -> tuple[Run, Turn | None]:
        done = self._seen(caller, source).steps
        added, turn = await self.add(caller, run, asked)
        if turn is not None:
            self._kept[run.id].steps = {
                name: done[name]
                for name in steps
                if name in done and done[name].state is not StepState.OPEN
            }
        return added, turn

    async def cancel(self, caller: Principal, run: RunId) -> Turn | None:
        kept = self._seen(caller, run)
        if kept.run.status.over:
            raise RunOver(str(run), kept.run.status)
        queued = kept.run.status is RunStatus.QUEUED
        turn = Turn(Leg(run, kept.run.leg), kept.run.place) if queued else None
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
    ) -> Turn:
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
        return Turn(Leg(run, kept.run.leg), kept.run.place)

    async def signal(
        self, caller: Principal, run: RunId, topic: str, payload: JsonValue
    ) -> Turn | None:
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
        return Turn(Leg(run, kept.run.leg), kept.run.place)

    async def claim(self, leg: Leg) -> Taken | None:
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
        return Taken(
            run=kept.run,
            worker=replace(kept.starter, clearance=kept.run.clearance, scopes=kept.run.scopes),
            claim=kept.claim,
            steps=list(kept.steps.values()),
        )

    async def finish(self, taken: Taken, step: Step, told: NewEntry) -> bool:
        kept = self._held(taken)
        if kept is None:
            return False
        known = kept.steps.get(step.name)
        if known is None or known.state is StepState.OPEN is not step.state:
            kept.steps[step.name] = step
            if self._log is not None:
                await self._log.append(taken.worker, [told])
        return True

    async def announce(self, taken: Taken, told: Sequence[NewEntry]) -> bool:
        if self._held(taken) is None:
            return False
        if self._log is not None:
            await self._log.append(taken.worker, told)
        return True

    async def answer(self, taken: Taken, topics: Sequence[str]) -> Mapping[str, JsonValue] | None:
        kept = self._held(taken)
        if kept is None:
            return None
        return {topic: kept.signals[topic] for topic in topics if topic in kept.signals}

    async def park(
        self, taken: Taken, topics: Sequence[str], wakes_at: datetime | None
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
        self, taken: Taken, status: RunStatus, result: JsonValue, failure: Failure | None
    ) -> bool:
        kept = self._held(taken)
        if kept is None:
            return False
        self._change(kept, status=status, result=result, failure=failure)
        self._end(kept)
        facts: JsonObject = {} if failure is None else {"error": failure.as_json()}
        await self._tell(taken.worker, kept.run, f"run.{status}", facts)
        return True

    def due(self, now: datetime) -> Sequence[Turn]:
        """Those whose time has come, as they are put in line."""
        found = []
        for kept in self._kept.values():
            run = kept.run
            if run.status is RunStatus.WAITING and run.wakes_at is not None and run.wakes_at <= now:
                self._change(kept, status=RunStatus.QUEUED, wakes_at=None)
                found.append(Turn(Leg(run.id, run.leg), run.place))
        return found

    def _seen(self, caller: Principal, run: RunId) -> _Kept:
        kept = self._kept.get(run)
        if kept is None or not _visible(caller, kept.run):
            raise RunNotFound(str(run))
        return kept

    def _held(self, taken: Taken) -> _Kept | None:
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
