"""Step in: end a run, take it up again, start another from the middle of it, tell it something."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Final

from portico.engine.core.errors import LedElsewhere, OwnTopic, StepNotFound
from portico.engine.core.run import Run, RunStatus, Started, StepState
from portico.engine.ports import Bus, Line, RunBook, Runs
from portico.engine.task_marks import check_write
from portico.guard.core.roles import Scope
from portico.guard.permit import permit
from portico.guard.ports import Contexts
from portico.kernel.clock import Clock
from portico.kernel.entropy import Entropy
from portico.kernel.ids import RunId
from portico.kernel.json import JsonValue, canonical
from portico.kernel.principal import Principal

OWN: Final = "~"
"""What a topic begins with that only the house itself answers: an approval, a person's word about
what nobody knows. Whoever may tell a run something could otherwise say yes to its calls."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelRun:
    book: RunBook
    runs: Runs
    line: Line
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
            await self.line.leave(turn.leg)
        return await self.book.get(caller, run)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumeRun:
    book: RunBook
    runs: Runs
    line: Line
    led: Collection[str] = ()

    async def __call__(self, caller: Principal, run: RunId) -> Run:
        """The step that ended it is tried again.

        Raises `NotPermitted`, `RunNotFound`, `RunNotOver`, `LedElsewhere`.
        """
        _check_led(await _permit(self.book, caller, run), self.led)
        await self.line.join(await self.runs.resume(caller, run))
        return await self.book.get(caller, run)


@dataclass(frozen=True, slots=True, kw_only=True)
class ForkRun:
    book: RunBook
    runs: Runs
    line: Line
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
            await self.line.join(turn)
        return Started(added, replayed=turn is None)

    def _id(self, caller: Principal, source: RunId, key: str | None) -> RunId:
        if key is None:
            return RunId.mint(self.clock.now(), self.entropy)
        return RunId.of_claim(caller.space, caller.id, f"fork of {source}", key)


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalRun:
    book: RunBook
    runs: Runs
    line: Line
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
            await self.line.join(turn)
        return await self.book.get(caller, run)


def control_topic(run: RunId) -> str:
    """Where a run that is being carried out hears that it was cancelled or told something."""
    return f"{run}!"


async def _permit(book: RunBook, caller: Principal, run: RunId) -> Run:
    """One's own, or anybody's: a run acts in the name of whoever started it, so that stepping in
    is speaking for them. Raises `NotPermitted`, `RunNotFound`."""
    permit(caller, Scope.RUNS_WRITE)
    found = await book.get(caller, run)
    if found.principal != caller.id:
        permit(caller, Scope.RUNS_CONTROL)
    return found


def _check_led(run: Run, led: Collection[str]) -> None:
    """Raises `LedElsewhere`."""
    if run.kind in led:
        raise LedElsewhere(str(run.id), run.kind)
