"""Carry out one leg of a run: from its beginning, through what is done already, to its end or to
its next wait."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final, TypeVar

from portico.engine.control_run import control_topic
from portico.engine.core.errors import KindNotFound, StoreUnavailable
from portico.engine.core.run import Cleaning, Failure, Leg, RunStatus, Taken, as_it_is, failure_of
from portico.engine.execution import Execution
from portico.engine.kinds import Kinds
from portico.engine.ports import Bus, Journal
from portico.engine.record import Lost
from portico.kernel.clock import Clock
from portico.kernel.durable import Work
from portico.kernel.ids import RunId
from portico.kernel.json import JsonValue, kept

_log: Final = logging.getLogger("portico.engine")
_PAUSE: Final = 0.2
"""Seconds between two tries while the database does not answer."""

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class _Ended:
    status: RunStatus
    result: JsonValue = None
    failure: Failure | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLeg:
    journal: Journal
    bus: Bus
    kinds: Kinds
    clock: Clock
    most_attempts: int = 100
    """A leg that was taken up more often than this, and never came to an end, is not again."""
    grace: timedelta = field(default=timedelta(seconds=2))
    """Waits shorter than this are sat out."""
    clean: Cleaning = as_it_is

    async def __call__(self, leg: Leg) -> None:
        """Returns when the leg is over, whatever became of it. Cancelled, it leaves the run as it
        is, for whoever takes it up next."""
        taken = await patiently(lambda: self.journal.claim(leg))
        if taken is None:
            return
        refused = self._refused(taken)
        if refused is not None:
            await self._settle(taken, refused)
            return
        with suppress(Lost):
            await self._carry_out(taken)

    def _refused(self, taken: Taken) -> _Ended | None:
        if taken.barred is not None:
            failure = Failure("Barred", taken.barred, "run_barred")
            return _Ended(RunStatus.FAILED, failure=failure)
        if taken.run.attempts > self.most_attempts:
            message = f"It was taken up {self.most_attempts} times and never ended."
            return _Ended(RunStatus.STUCK, failure=Failure("Stuck", message, "run_stuck"))
        return None

    async def _carry_out(self, taken: Taken) -> None:
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

    async def _worked(self, work: Work, execution: Execution, taken: Taken) -> _Ended:
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

    async def _settle(self, taken: Taken, ended: _Ended) -> None:
        if ended.failure is not None:
            _log_failure(taken.run.id, ended.status, ended.failure)
        await patiently(
            lambda: self.journal.settle(taken, ended.status, ended.result, ended.failure)
        )


def _log_failure(run: RunId, status: RunStatus, failure: Failure) -> None:
    """Without its message, which may tell what only those may read who are cleared for the run."""
    what = failure.type if failure.code is None else f"{failure.type} ({failure.code})"
    where = "" if failure.step is None else f" in the step {failure.step!r}"
    _log.warning("%s %s: %s%s", run, status, what, where)


async def patiently(ask: Callable[[], Awaitable[Answer]]) -> Answer:
    """Again and again while the database is away. Whoever loses their lease meanwhile is
    cancelled."""
    while True:
        try:
            return await ask()
        except StoreUnavailable:
            await asyncio.sleep(_PAUSE)
