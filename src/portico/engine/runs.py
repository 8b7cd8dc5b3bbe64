"""Runs: start, list, wait, cancel, resume."""

import asyncio
import hashlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from types import MappingProxyType
from typing import Final

from portico.engine.core.errors import (
    KeyReused,
    KindNotFound,
    LedElsewhere,
    OwnTopic,
    RunWriteDown,
    StepNotFound,
)
from portico.engine.core.event_log import NewEntry
from portico.engine.core.runs import (
    QueuePlacement,
    Run,
    RunPosition,
    RunStatus,
    Started,
    Step,
    StepState,
)
from portico.engine.ports import Bus, RunQueries, RunQueue, Runs
from portico.guard.core.principals import Scope
from portico.guard.ports import Contexts
from portico.guard.principals import require_scope
from portico.kernel.clock import Clock, Entropy
from portico.kernel.durable import Work
from portico.kernel.ids import RunId
from portico.kernel.json import JsonObject, JsonValue, canonical
from portico.kernel.label import Label, Level, join, meet
from portico.kernel.principal import Principal, PrincipalKind


def anything(_input: JsonObject) -> None:
    """What a kind that takes any input has for a check."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    name: str
    work: Work
    placement: QueuePlacement = field(default_factory=QueuePlacement)
    for_people: bool = False
    """Whether it can be started by its name, from outside; others are started by their rooms."""
    check: Callable[[JsonObject], object] = anything
    """Raises what is wrong with an input, so that no run is begun with one it cannot use."""


class Kinds:
    def __init__(self, kinds: Iterable[Kind]) -> None:
        self._by_name: Mapping[str, Kind] = MappingProxyType({kind.name: kind for kind in kinds})

    def __getitem__(self, name: str) -> Kind:
        """Raises `KindNotFound`."""
        if name not in self._by_name:
            raise KindNotFound(name, self._by_name)
        return self._by_name[name]

    def for_people(self, name: str) -> Kind:
        """Raises `KindNotFound`."""
        offered = [kind.name for kind in self._by_name.values() if kind.for_people]
        if name not in offered:
            raise KindNotFound(name, offered)
        return self._by_name[name]


_LOOK: Final = 1.0
"""Seconds; the bus may say nothing, so it is looked so often anyway."""
_BREATH: Final = 0.05
"""Seconds; a run that tells much is not looked at more often than this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitForRun:
    book: RunQueries
    bus: Bus

    async def __call__(self, caller: Principal, run: RunId, patience: timedelta) -> Run:
        """As it is when it has ended, or when patience has. One's own needs no scope: whoever may
        only start runs may know how theirs went.

        Raises `NotPermitted`, `RunNotFound`.
        """
        found = await self.book.get(caller, run)
        if found.principal != caller.id:
            require_scope(caller, Scope.RUNS_READ)
        now = asyncio.get_running_loop().time
        deadline = now() + patience.total_seconds()
        with self.bus.listen(caller.space, str(run)) as wakeups:
            while True:
                found = await self.book.get(caller, run)
                left = deadline - now()
                if found.status.over or left <= 0:
                    return found
                with suppress(TimeoutError):
                    async with asyncio.timeout(min(left, _LOOK)):
                        await asyncio.sleep(_BREATH)
                        await wakeups.wait()


ALL_RUNS: Final = "runs"
"""The topic of every run's life in a space; each run's own has the run's id for its name."""

LAST_WORDS: Final = frozenset({f"run.{status}" for status in RunStatus if status.over})
"""After one of these a run's own topic has no more to come, unless it is taken up again."""


def run_entries(run: Run, type_: str, facts: JsonObject) -> Sequence[NewEntry]:
    """In the run's own topic and in the one of all runs; always in this order, so that two who
    write both never wait for each other."""
    whole = {"run": str(run.id), "kind": run.kind, **facts}
    return [
        NewEntry(
            topic=str(run.id), type=type_, details=whole, topic_label=run.label, label=run.label
        ),
        NewEntry(topic=ALL_RUNS, type=type_, details=whole, label=run.label),
    ]


async def check_write(contexts: Contexts, caller: Principal, label: Label) -> None:
    """Raises `RunWriteDown`."""
    read = (await contexts.get(caller)).label
    if not label.covers(read):
        raise RunWriteDown(label, read)


async def has_read(contexts: Contexts, caller: Principal, label: Label) -> None:
    """Of programs alone: a person who looks at a run does not go on by what is written there."""
    if caller.kind is PrincipalKind.AGENT:
        await contexts.raise_taint(caller, label, untrusted=True)


_USUAL = Label(Level.TEAM)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSpec:
    kind: str
    input: JsonObject = field(default_factory=dict)
    key: str | None = None
    """The same key, the same run; without one each wish is another."""
    label: Label | None = None
    """How secret it is and what it gives; `team`, or less if whoever asks is cleared for less."""
    placement: QueuePlacement | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StartRun:
    """For the rooms, which know their kinds; what is behind the faces is `StartForPeople`."""

    runs: Runs
    queue: RunQueue
    kinds: Kinds
    clock: Clock
    entropy: Entropy

    async def __call__(self, caller: Principal, wish: RunSpec) -> Run:
        """Raises `KindNotFound`, `KeyReused`, `TopicRefused`, and what the kind's check raises."""
        return (await self.started(caller, wish)).run

    async def started(self, caller: Principal, wish: RunSpec) -> Started:
        """With whether it was there already. Raises what is raised above."""
        kind = self.kinds[wish.kind]
        kind.check(wish.input)
        now = self.clock.now()
        run = Run(
            id=self._id(caller, wish),
            space=caller.space,
            principal=caller.id,
            kind=wish.kind,
            label=meet(caller.clearance, _USUAL) if wish.label is None else wish.label,
            clearance=caller.clearance,
            scopes=frozenset(caller.scopes),
            placement=wish.placement or kind.placement,
            status=RunStatus.QUEUED,
            input=wish.input,
            created_at=now,
        )
        try:
            added, turn = await self.runs.add(caller, run, _fingerprint(run))
        except KeyReused as error:
            raise KeyReused(wish.key or str(run.id)) from error
        if turn is not None:
            await self.queue.join(turn)
        return Started(added, replayed=turn is None)

    def _id(self, caller: Principal, wish: RunSpec) -> RunId:
        if wish.key is None:
            return RunId.mint(self.clock.now(), self.entropy)
        return RunId.of_claim(caller.space, caller.id, wish.kind, wish.key)


@dataclass(frozen=True, slots=True, kw_only=True)
class StartForPeople:
    start_run: StartRun
    contexts: Contexts

    async def __call__(self, caller: Principal, wish: RunSpec) -> Started:
        """Without a label it is no less secret than what was read in the caller's task.

        Raises `NotPermitted`, `RunWriteDown`, and what starting one raises.
        """
        require_scope(caller, Scope.RUNS_WRITE)
        self.start_run.kinds.for_people(wish.kind)
        label = wish.label
        if label is None:
            read = (await self.contexts.get(caller)).label
            label = join([meet(caller.clearance, _USUAL), read])
        await check_write(self.contexts, caller, label)
        return await self.start_run.started(caller, replace(wish, label=label))


def _fingerprint(run: Run) -> str:
    asked: JsonObject = {"input": run.input, "label": str(run.label)}
    return hashlib.sha256(canonical(asked)).hexdigest()


OWN: Final = "~"
"""What a topic begins with that only the house itself answers: an approval, a person's word about
what nobody knows. Whoever may tell a run something could otherwise say yes to its calls."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelRun:
    book: RunQueries
    runs: Runs
    queue: RunQueue
    bus: Bus
    led: Collection[str] = ()
    """The kinds of runs that only their own room steps into: it knows what else there is to end,
    and in whose name they go on."""

    async def __call__(self, caller: Principal, run: RunId) -> Run:
        """Its steps that are done stay done. Raises `NotPermitted`, `RunNotFound`, `RunOver`,
        `LedElsewhere`."""
        _check_led(await _permit(self.book, caller, run), self.led)
        turn = await self.runs.cancel(caller, run)
        self.bus.wake(caller.space, control_topic(run))
        if turn is not None:
            await self.queue.leave(turn.activation)
        return await self.book.get(caller, run)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumeRun:
    book: RunQueries
    runs: Runs
    queue: RunQueue
    led: Collection[str] = ()

    async def __call__(self, caller: Principal, run: RunId) -> Run:
        """The step that ended it is tried again.

        Raises `NotPermitted`, `RunNotFound`, `RunNotOver`, `LedElsewhere`.
        """
        _check_led(await _permit(self.book, caller, run), self.led)
        await self.queue.join(await self.runs.resume(caller, run))
        return await self.book.get(caller, run)


@dataclass(frozen=True, slots=True, kw_only=True)
class ForkRun:
    book: RunQueries
    runs: Runs
    queue: RunQueue
    clock: Clock
    entropy: Entropy
    led: Collection[str] = ()

    async def __call__(
        self, caller: Principal, source: RunId, *, step: str, key: str | None = None
    ) -> Started:
        """Another run that goes on from before `step`. What ended earlier is done in it already,
        the rest is done anew, under keys of its own.

        Raises `NotPermitted`, `RunNotFound`, `StepNotFound`, `LedElsewhere`.
        """
        found = await _permit(self.book, caller, source)
        _check_led(found, self.led)
        steps = await self.book.steps(caller, source)
        numbers = [
            each.number for each in steps if each.name == step and each.state is not StepState.OPEN
        ]
        if not numbers:
            raise StepNotFound(step)
        run = replace(
            found,
            id=self._id(caller, source, key),
            principal=caller.id,
            clearance=caller.clearance,
            scopes=frozenset(caller.scopes),
            status=RunStatus.QUEUED,
            created_at=self.clock.now(),
            leg=1,
            attempts=0,
            waits_for=(),
            wakes_at=None,
            forked_from=source,
            result=None,
            failure=None,
            started_at=None,
            finished_at=None,
        )
        added, turn = await self.runs.fork(caller, source, run, before=numbers[0])
        if turn is not None:
            await self.queue.join(turn)
        return Started(added, replayed=turn is None)

    def _id(self, caller: Principal, source: RunId, key: str | None) -> RunId:
        if key is None:
            return RunId.mint(self.clock.now(), self.entropy)
        return RunId.of_claim(caller.space, caller.id, f"fork of {source}", key)


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalRun:
    book: RunQueries
    runs: Runs
    queue: RunQueue
    bus: Bus
    contexts: Contexts

    async def __call__(self, caller: Principal, run: RunId, topic: str, payload: JsonValue) -> Run:
        """The first answer counts.

        Raises `OwnTopic`, `NotPermitted`, `RunNotFound`, `RunWriteDown`, `RunOver`,
        `AlreadyAnswered`, `NotCanonical`.
        """
        if topic.startswith(OWN):
            raise OwnTopic(topic)
        canonical(payload)
        found = await _permit(self.book, caller, run)
        await check_write(self.contexts, caller, found.label)
        turn = await self.runs.signal(caller, run, topic, payload)
        self.bus.wake(caller.space, control_topic(run))
        if turn is not None:
            await self.queue.join(turn)
        return await self.book.get(caller, run)


def control_topic(run: RunId) -> str:
    """Where a run that is being carried out hears that it was cancelled or told something."""
    return f"{run}!"


async def _permit(book: RunQueries, caller: Principal, run: RunId) -> Run:
    """One's own, or anybody's: a run acts in the name of whoever started it, so that stepping in
    is speaking for them. Raises `NotPermitted`, `RunNotFound`."""
    require_scope(caller, Scope.RUNS_WRITE)
    found = await book.get(caller, run)
    if found.principal != caller.id:
        require_scope(caller, Scope.RUNS_CONTROL)
    return found


def _check_led(run: Run, led: Collection[str]) -> None:
    """Raises `LedElsewhere`."""
    if run.kind in led:
        raise LedElsewhere(str(run.id), run.kind)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListRuns:
    book: RunQueries

    async def __call__(
        self,
        caller: Principal,
        *,
        statuses: Sequence[RunStatus] = (),
        kind: str | None = None,
        before: RunPosition | None = None,
        limit: int,
    ) -> Sequence[tuple[Run, int]]:
        """Newest first, each with how many of its steps are over. Raises `NotPermitted`."""
        require_scope(caller, Scope.RUNS_READ)
        found = await self.book.page(
            caller, statuses=statuses, kind=kind, before=before, limit=limit
        )
        over = await self.book.progress(caller, [run.id for run in found])
        return [(run, over.get(run.id, 0)) for run in found]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowRun:
    book: RunQueries
    contexts: Contexts

    async def __call__(self, caller: Principal, run: RunId) -> tuple[Run, Sequence[Step]]:
        """Raises `NotPermitted`, `RunNotFound`."""
        require_scope(caller, Scope.RUNS_READ)
        found = await self.book.get(caller, run)
        await has_read(self.contexts, caller, found.label)
        return found, await self.book.steps(caller, run)
