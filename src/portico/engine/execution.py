"""Execute a leg of a run: recorded steps, waits, retries."""

import asyncio
import logging
import re
from collections import UserDict
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final, TypeVar

from portico.engine.core.errors import (
    InvalidEventType,
    InvalidStepName,
    KindNotFound,
    StepFailed,
    StepNamedTwice,
    StoreUnavailable,
)
from portico.engine.core.event_log import NewEntry
from portico.engine.core.runs import (
    Activation,
    ClaimedActivation,
    Cleaning,
    Failure,
    RunStatus,
    Step,
    StepState,
    as_it_is,
    failure_of,
)
from portico.engine.ports import Bus, Journal, Wakeups
from portico.engine.runs import Kinds, control_topic
from portico.kernel.clock import Clock
from portico.kernel.durable import Action, Begun, Work
from portico.kernel.ids import RunId
from portico.kernel.json import JsonObject, JsonValue, canonical, kept
from portico.kernel.principal import Principal

# What one leg of a run writes down: each step by its name, numbered as it ended.
#
# What ended is numbered here, in the order in which this process came to know of it, before it is
# noted. That order is what `wait_any` goes by, so that the same one is first each time.

_PAUSE: Final = 0.2
_NAME: Final = re.compile(r"[^\x00-\x1f\x7f\ud800-\udfff]{1,300}")


class Lost(BaseException):
    """This run is somebody else's now. No work may catch it: it has nothing more to say."""


class Record:
    def __init__(self, taken: ClaimedActivation, journal: Journal) -> None:
        self._taken = taken
        self._journal = journal
        self._steps = {step.name: step for step in taken.steps}
        self._last = max((step.number for step in taken.steps), default=0)
        self._used: set[str] = set()
        self._numbers: dict[str, int] = {}
        self._gate = asyncio.Event()
        self._gate.set()
        self.away = False
        """Whether nothing more is done here: the run is put away, or somebody else's."""
        self.topic = str(taken.run.id)

    def use(self, name: str) -> None:
        """Raises `InvalidStepName`, `StepNamedTwice`."""
        if not _NAME.fullmatch(name):
            raise InvalidStepName(name)
        if name in self._used:
            raise StepNamedTwice(name)
        self._used.add(name)

    def known(self, name: str) -> Step | None:
        return self._steps.get(name)

    def number_of(self, name: str) -> float:
        """Infinite for what has not ended: it will get a number after all that have."""
        return self._numbers.get(name, float("inf"))

    async def admitted(self) -> None:
        """What comes to the gate while the run is put away is done when it goes on, not now.

        Raises `Lost`.
        """
        if not self._gate.is_set():
            await self._gate.wait()
        if self.away:
            raise Lost

    @contextmanager
    def shut(self) -> Iterator[None]:
        """Nobody is admitted meanwhile."""
        self._gate.clear()
        try:
            yield
        finally:
            self._gate.set()

    def lost(self) -> Lost:
        """Shuts the door first: whatever a work still does on its way out is not done."""
        self.away = True
        return Lost()

    def ended(
        self,
        name: str,
        started: datetime,
        finished: datetime,
        output: JsonValue,
        failure: Failure | None,
    ) -> Step:
        self._last += 1
        self._numbers[name] = self._last
        return Step(
            name=name,
            number=self._last,
            state=StepState.DONE if failure is None else StepState.FAILED,
            started_at=started,
            finished_at=finished,
            output=output,
            failure=failure,
        )

    async def noted(self, step: Step, told: NewEntry) -> None:
        """Until it is written down, however long the database is away. Raises `Lost`."""
        while True:
            try:
                if not await self._journal.finish(self._taken, step, told):
                    raise self.lost()
            except StoreUnavailable:
                await asyncio.sleep(_PAUSE)
            else:
                self._steps[step.name] = step
                return

    async def announced(self, names: Sequence[str]) -> None:
        """That steps have begun which take long. Raises `Lost`, `StoreUnavailable`."""
        told = [self.entry("step.started", {"step": name}) for name in names]
        if told and not await self._journal.announce(self._taken, told):
            raise self.lost()

    def entry(self, type_: str, facts: JsonObject) -> NewEntry:
        label = self._taken.run.label
        return NewEntry(topic=self.topic, type=type_, details=facts, topic_label=label, label=label)

    def step_entry(self, step: Step) -> NewEntry:
        """What it gave is not in it: whoever may see that asks for the run's steps."""
        finished = step.finished_at or step.started_at
        seconds = (finished - step.started_at).total_seconds()
        facts: dict[str, JsonValue] = {"step": step.name, "seconds": round(seconds, 3)}
        if step.failure is not None:
            facts["error"] = step.failure.as_json()
        return self.entry("step.done" if step.failure is None else "step.failed", facts)


_LOOK: Final = 5.0
"""Seconds; a waiting run that is kept in memory looks by itself so often."""
_RARE_LOOK: Final = 15.0
"""Seconds; one that does not wait looks whether it is still its own."""


@dataclass(slots=True)
class Wait:
    """For somebody (`topic`), for a time (`due_at`), or for whichever comes first."""

    name: str
    topic: str | None
    due_at: datetime | None
    over: "asyncio.Future[JsonValue]"
    started: datetime


class Waits(UserDict[str, Wait]):
    """By the names of their steps."""

    @property
    def topics(self) -> list[str]:
        return [wait.topic for wait in self.values() if wait.topic is not None]

    @property
    def next_due(self) -> datetime | None:
        return min((w.due_at for w in self.values() if w.due_at is not None), default=None)

    def due_within(self, grace: timedelta, now: datetime) -> bool:
        due = self.next_due
        return due is not None and due - now <= grace

    def pause(self, now: datetime) -> float:
        """Seconds until one should look by oneself."""
        if not self:
            return _RARE_LOOK
        due = self.next_due
        if due is None:
            return _LOOK
        return min(max((due - now).total_seconds(), 0.001), _LOOK)


@dataclass(slots=True)
class Wake:
    """Something has happened that whoever attends to the waits should look at."""

    event: asyncio.Event = field(default_factory=asyncio.Event)

    def set(self) -> None:
        self.event.set()

    async def within(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                await self.event.wait()
        except TimeoutError:
            return False
        self.event.clear()
        return True


# Steps that take long, so that they can be announced while they run.
#
# Looked for now and then while any run, and not timed one by one: most are over long before.

_LONG: Final = 0.25
"""Seconds."""


class LongSteps:
    def __init__(self, found: Callable[[], None]) -> None:
        """`found` is called when there are new ones."""
        self._found = found
        self._since: dict[str, float] = {}
        self._seen: set[str] = set()
        self._new: list[str] = []
        self._watch: asyncio.TimerHandle | None = None

    def start(self, name: str) -> None:
        loop = asyncio.get_running_loop()
        self._since[name] = loop.time()
        if self._watch is None:
            self._watch = loop.call_later(_LONG, self._look)

    def end(self, name: str) -> None:
        del self._since[name]

    def new(self) -> Sequence[str]:
        """Those that have grown long and still run; each is given once."""
        names, self._new = self._new, []
        return [name for name in names if name in self._since]

    def close(self) -> None:
        if self._watch is not None:
            self._watch.cancel()

    def _look(self) -> None:
        loop = asyncio.get_running_loop()
        ago = loop.time() - _LONG
        grown = [n for n, since in self._since.items() if since <= ago and n not in self._seen]
        self._seen.update(grown)
        self._new += grown
        if grown:
            self._found()
        self._watch = loop.call_later(_LONG, self._look) if self._since else None


_SETTLING: Final = 0.02
"""Seconds in which nothing happens before a run that only waits is put away."""
_HOPS: Final = 20
"""From what one task waits for to the next step of another that waits for the first."""
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
        self,
        taken: ClaimedActivation,
        journal: Journal,
        clock: Clock,
        *,
        grace: timedelta,
        clean: Cleaning,
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
        self._stir = Wake()
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

    def start(self, name: str, action: Action, *, tries: int = 1) -> Begun:
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
            raise InvalidStepName(topic)
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

    async def publish(self, name: str, type_: str, facts: JsonObject) -> None:
        if not _OWN_TYPE.fullmatch(type_):
            raise InvalidEventType(type_)
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
            self._long.start(name)
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
        step = self._record.ended(wait.name, wait.started, self._clock.now(), output, None)
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


_log: Final = logging.getLogger("portico.engine")

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class _Ended:
    status: RunStatus
    result: JsonValue = None
    failure: Failure | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunActivation:
    journal: Journal
    bus: Bus
    kinds: Kinds
    clock: Clock
    most_attempts: int = 100
    """A leg that was taken up more often than this, and never came to an end, is not again."""
    grace: timedelta = field(default=timedelta(seconds=2))
    """Waits shorter than this are sat out."""
    clean: Cleaning = as_it_is

    async def __call__(self, leg: Activation) -> None:
        """Returns when the leg is over, whatever became of it. Cancelled, it leaves the run as it
        is, for whoever takes it up next."""
        taken = await retry_while_unavailable(lambda: self.journal.claim(leg))
        if taken is None:
            return
        refused = self._refused(taken)
        if refused is not None:
            await self._settle(taken, refused)
            return
        with suppress(Lost):
            await self._carry_out(taken)

    def _refused(self, taken: ClaimedActivation) -> _Ended | None:
        if taken.barred is not None:
            failure = Failure("Barred", taken.barred, "run_barred")
            return _Ended(RunStatus.FAILED, failure=failure)
        if taken.run.attempts > self.most_attempts:
            message = f"It was taken up {self.most_attempts} times and never ended."
            return _Ended(RunStatus.STUCK, failure=Failure("Stuck", message, "run_stuck"))
        return None

    async def _carry_out(self, taken: ClaimedActivation) -> None:
        """Raises `Lost`."""
        try:
            work = self.kinds[taken.run.kind].work
        except KindNotFound:
            # Another process may know it, one of a later version: it is put in line again.
            _log.warning("%s is of a kind that is not known here: %s", taken.run.id, taken.run.kind)
            return
        execution = Execution(taken, self.journal, self.clock, grace=self.grace, clean=self.clean)
        with self.bus.listen(taken.run.space, control_topic(taken.run.id)) as wakeups:
            ended = await execution.until_over(self._worked(work, execution, taken), wakeups)
        if ended is not None:
            await self._settle(taken, ended)

    async def _worked(self, work: Work, execution: Execution, taken: ClaimedActivation) -> _Ended:
        try:
            return _Ended(RunStatus.DONE, kept(await work(execution, taken.run.input)))
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            failure = Failure("CancelledError", "It cancelled itself.")
            return _Ended(RunStatus.FAILED, failure=failure)
        except Exception as error:  # noqa: BLE001 # whatever a work raises is how its run ends
            return _Ended(RunStatus.FAILED, failure=failure_of(error, clean=self.clean))

    async def _settle(self, taken: ClaimedActivation, ended: _Ended) -> None:
        if ended.failure is not None:
            _log_failure(taken.run.id, ended.status, ended.failure)
        await retry_while_unavailable(
            lambda: self.journal.settle(taken, ended.status, ended.result, ended.failure)
        )


def _log_failure(run: RunId, status: RunStatus, failure: Failure) -> None:
    """Without its message, which may tell what only those may read who are cleared for the run."""
    what = failure.type if failure.code is None else f"{failure.type} ({failure.code})"
    where = "" if failure.step is None else f" in the step {failure.step!r}"
    _log.warning("%s %s: %s%s", run, status, what, where)


async def retry_while_unavailable(ask: Callable[[], Awaitable[Answer]]) -> Answer:
    """Again and again while the database is away. Whoever loses their lease meanwhile is
    cancelled."""
    while True:
        try:
            return await ask()
        except StoreUnavailable:
            await asyncio.sleep(_PAUSE)
