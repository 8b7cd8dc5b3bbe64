"""A run being carried out: its steps by their names, and its waits."""

import asyncio
import re
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final, TypeVar

from portico.engine.core.errors import BadEventType, BadStepName, StepFailed, StoreUnavailable
from portico.engine.core.run import Cleaning, Failure, Step, StepState, Taken, failure_of
from portico.engine.long_steps import LongSteps
from portico.engine.ports import Journal, Wakeups
from portico.engine.record import Lost, Record
from portico.engine.waits import Stir, Wait, Waits
from portico.kernel.clock import Clock
from portico.kernel.durable import Action, Begun
from portico.kernel.ids import RunId
from portico.kernel.json import JsonObject, JsonValue, canonical, kept
from portico.kernel.principal import Principal

_SETTLING: Final = 0.02
"""Seconds in which nothing happens before a run that only waits is put away."""
_HOPS: Final = 20
"""From what one task waits for to the next step of another that waits for the first."""
_PAUSE: Final = 0.2
_FIRST_PAUSE: Final = 0.5
"""Seconds before a second try; twice as long before each later one."""

_LONGEST_TOPIC: Final = 200
_OWN_TYPE: Final = re.compile(r"(?!(?:run|step|text)\.)[a-z_]{1,40}(?:\.[a-z_]{1,40}){1,3}")
"""What a work may tell: what becomes of runs, steps and texts is told by whoever sees to it."""

Ended = TypeVar("Ended")


@dataclass(slots=True)
class _Begun:
    name: str
    task: "asyncio.Future[Step]"
    number: int | None = None

    async def result(self) -> JsonValue:
        return _given(await self.task)


class Execution:
    """`Durable`, for one leg."""

    def __init__(
        self, taken: Taken, journal: Journal, clock: Clock, *, grace: timedelta, clean: Cleaning
    ) -> None:
        self._taken = taken
        self._clean = clean
        self._journal = journal
        self._clock = clock
        self._grace = grace
        self._record = Record(taken, journal)
        self._waits = Waits()
        self._begun: list[asyncio.Task[Step]] = []
        self._called = False
        self._busy = 0
        self._stir = Stir()
        self._long = LongSteps(self._stir.set)
        self._group: asyncio.TaskGroup | None = None

    @property
    def run(self) -> RunId:
        return self._taken.run.id

    @property
    def leg(self) -> int:
        return self._taken.run.leg

    @property
    def again(self) -> bool:
        return self._taken.run.leg > 1 or self._taken.run.attempts > 1

    @property
    def caller(self) -> Principal:
        return self._taken.worker

    async def step(self, name: str, action: Action, *, tries: int = 1) -> JsonValue:
        self._record.use(name)
        known = self._record.known(name)
        if known is None or known.state is StepState.OPEN:
            known = await self._carried_out(name, action, tries)
        return _given(known)

    def begin(self, name: str, action: Action, *, tries: int = 1) -> Begun:
        self._record.use(name)
        known = self._record.known(name)
        if known is not None and known.state is not StepState.OPEN:
            over: asyncio.Future[Step] = asyncio.get_running_loop().create_future()
            over.set_result(known)
            return _Begun(name, over, known.number)
        task = self._spawn(self._begun_step(name, action, tries))
        self._begun.append(task)
        return _Begun(name, task)

    async def wait_any(self, begun: Sequence[Begun]) -> Begun:
        """One that has ended may still be being noted: whatever ended after it must not pass it,
        since after a crash in this moment that one would be the first."""
        waited = [each for each in begun if isinstance(each, _Begun)]
        while True:
            noted = [each for each in waited if each.task.done()]
            if noted:
                first = min(noted, key=self._number_of)
                ahead = [
                    each.task
                    for each in waited
                    if not each.task.done() and self._number_of(each) < self._number_of(first)
                ]
                if not ahead:
                    return first
                await asyncio.wait(ahead)
            else:
                await asyncio.wait(
                    [each.task for each in waited], return_when=asyncio.FIRST_COMPLETED
                )

    async def sleep(self, name: str, duration: timedelta) -> None:
        self._record.use(name)
        await self._waited(name, None, duration)

    async def wait_for_signal(
        self, topic: str, *, patience: timedelta | None = None, name: str | None = None
    ) -> JsonValue:
        if len(topic) > _LONGEST_TOPIC:
            raise BadStepName(topic)
        step = f"signal:{name or topic}"
        self._record.use(step)
        return await self._waited(step, topic, patience)

    @contextmanager
    def busy(self) -> Iterator[None]:
        self._busy += 1
        try:
            yield
        finally:
            self._busy -= 1
            if self._waits:
                self._stir.set()

    async def tell(self, name: str, type_: str, facts: JsonObject) -> None:
        if not _OWN_TYPE.fullmatch(type_):
            raise BadEventType(type_)
        canonical(facts)
        clean = {key: self._clean(value) for key, value in facts.items()}
        self._record.use(name)
        if self._record.known(name) is not None:
            return
        await self._record.admitted()
        with self.busy():
            now = self._clock.now()
            step = self._record.ended(name, now, now, clean, None)
            await self._record.noted(step, self._record.entry(type_, clean))

    async def until_over(self, work: Coroutine[Any, Any, Ended], wakeups: Wakeups) -> Ended | None:
        """What the work came to; None if it was put away to wait. Raises `Lost`."""
        lost = False
        try:
            async with asyncio.TaskGroup() as group:
                self._group = group
                main = group.create_task(work)
                attending = group.create_task(self._attend(main))
                listening = group.create_task(self._listen(wakeups))
                await self._all_over(main)
                attending.cancel()
                listening.cancel()
        except* Lost:
            lost = True
        finally:
            self._long.close()
        if lost:
            raise Lost
        return None if main.cancelled() else main.result()

    async def _all_over(self, main: "asyncio.Task[Any]") -> None:
        """The work, and whatever it has begun and not waited for: so long it can be cancelled."""
        try:
            await asyncio.wait([main])
            while running := [task for task in self._begun if not task.done()]:
                await asyncio.wait(running)
        except asyncio.CancelledError:
            self._record.away = True
            raise

    def _spawn(self, work: Coroutine[Any, Any, Step]) -> "asyncio.Task[Step]":
        if self._group is None:
            raise RuntimeError("This run is not being carried out.")
        return self._group.create_task(work)

    def _number_of(self, begun: _Begun) -> float:
        return begun.number if begun.number is not None else self._record.number_of(begun.name)

    async def _begun_step(self, name: str, action: Action, tries: int) -> Step:
        """As `_carried_out`, but whatever breaks is told to whoever asks for the result."""
        started = self._clock.now()
        try:
            return await self._carried_out(name, action, tries)
        except Exception as error:  # noqa: BLE001 # else it would tear everything down around it
            return self._record.ended(
                name, started, self._clock.now(), None, failure_of(error, name, self._clean)
            )

    async def _carried_out(self, name: str, action: Action, tries: int) -> Step:
        await self._record.admitted()
        started = self._clock.now()
        output: JsonValue = None
        failure: Failure | None = None
        with self.busy():
            self._long.begin(name)
            try:
                output = kept(await _tried(action, f"{self._record.topic}:{name}", tries))
            except Exception as error:  # noqa: BLE001 # whatever it was is what the step gave
                failure = failure_of(error, name, self._clean)
            finally:
                self._long.end(name)
            step = self._record.ended(name, started, self._clock.now(), output, failure)
            await self._record.noted(step, self._record.step_entry(step))
        return step

    async def _waited(self, name: str, topic: str | None, duration: timedelta | None) -> JsonValue:
        known = self._record.known(name)
        if known is not None and known.state is StepState.DONE:
            return known.output
        await self._record.admitted()
        now = self._clock.now()
        if known is None:
            known = Step(
                name=name,
                number=0,
                state=StepState.OPEN,
                started_at=now,
                due_at=None if duration is None else now + duration,
            )
            facts: JsonObject = {
                "step": name,
                "topic": topic,
                "until": None if known.due_at is None else known.due_at.isoformat(),
            }
            with self.busy():
                await self._record.noted(known, self._record.entry("step.waiting", facts))
        over: asyncio.Future[JsonValue] = asyncio.get_running_loop().create_future()
        self._waits[name] = Wait(name, topic, known.due_at, over, known.started_at)
        self._stir.set()
        try:
            return await over
        finally:
            self._waits.pop(name, None)

    async def _listen(self, wakeups: Wakeups) -> None:
        while True:
            await wakeups.wait()
            self._called = True
            self._stir.set()

    async def _attend(self, main: "asyncio.Task[Any]") -> None:
        """Announces what takes long, ends waits that are over, and puts the run away once it does
        nothing but wait."""
        while True:
            if not await self._stir.within(self._waits.pause(self._clock.now())):
                self._called = True  # nobody called; but a call can be lost
            try:
                await self._record.announced(self._long.new())
                if (self._waits or self._called) and await self._attended():
                    main.cancel()
                    return
            except StoreUnavailable:
                await asyncio.sleep(_PAUSE)
                self._stir.set()

    async def _attended(self) -> bool:
        """Whether it was put away. Raises `Lost`."""
        self._called = False
        answers = await self._journal.answer(self._taken, self._waits.topics)
        if answers is None:
            raise self._record.lost()
        now = self._clock.now()
        for wait in list(self._waits.values()):
            if wait.topic is not None and wait.topic in answers:
                await self._over(wait, answers[wait.topic])
            elif wait.due_at is not None and wait.due_at <= now:
                await self._over(wait, None)
        if not self._only_waits() or self._waits.due_within(self._grace, self._clock.now()):
            return False
        if await self._stir.within(_SETTLING) or not self._only_waits() or await self._goes_on():
            self._stir.set()
            return False
        return await self._parked()

    async def _goes_on(self) -> bool:
        """Whoever has nothing more to wait for comes to their next step first, also where the loop
        was held up for as long as that."""
        for _ in range(_HOPS):
            await asyncio.sleep(0)
        return self._stir.event.is_set() or not self._only_waits()

    async def _over(self, wait: Wait, output: JsonValue) -> None:
        self._waits.pop(wait.name, None)
        step = self._record.ended(wait.name, wait.began, self._clock.now(), output, None)
        await self._record.noted(step, self._record.step_entry(step))
        if not wait.over.done():
            wait.over.set_result(output)

    async def _parked(self) -> bool:
        """No step starts while this is undecided: the gate is shut."""
        with self._record.shut():
            parked = await self._journal.park(self._taken, self._waits.topics, self._waits.next_due)
            self._record.away = parked is True
        if parked is False:
            raise self._record.lost()
        if parked is None:
            self._stir.set()
        return parked is True

    def _only_waits(self) -> bool:
        return bool(self._waits) and not self._busy


def _given(step: Step) -> JsonValue:
    if step.failure is not None:
        raise StepFailed(step.failure)
    return step.output


async def _tried(action: Action, key: str, tries: int) -> JsonValue:
    for attempt in range(1, tries):
        try:
            return await action(key)
        except Exception:  # noqa: BLE001 # that is what the tries are for; the last one tells
            await asyncio.sleep(_FIRST_PAUSE * 2 ** (attempt - 1))
    return await action(key)
