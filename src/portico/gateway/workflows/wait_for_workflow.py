"""Wait for a plan to end, and not for ever, nor for people unless that is wanted."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from portico.engine.core.runs import RunStatus
from portico.engine.ports import Wakeups
from portico.gateway.core.plan.report import StepStanding, WorkflowReport
from portico.gateway.ports import Line
from portico.gateway.workflows.engines import Engines
from portico.gateway.workflows.show_workflow import ShowWorkflow, may_look
from portico.kernel.ids import RunId
from portico.kernel.principal import Principal

_LOOK: Final = 1.0
"""Seconds; the bus may say nothing, so it is looked so often anyway."""
_BREATH: Final = 0.5
"""Seconds; no report is made more often than this of a run that tells much."""
_MOMENT: Final = 0.01
"""Seconds; nor is it looked more often whether it is over."""
_NAMED: Final = 3
_SLOWLY: Final = 60.0
"""Seconds; while no step ends, half of the next one seems to be done after so many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitForWorkflow:
    engines: Engines
    show: ShowWorkflow
    beat: timedelta = timedelta(seconds=5)
    """A client that hears nothing gives up: so often it is told that it goes on."""

    async def __call__(
        self,
        caller: Principal,
        run: RunId,
        *,
        patience: timedelta,
        line: Line | None = None,
        for_people: bool = False,
    ) -> WorkflowReport:
        """As it is when it has ended, when it goes on only by somebody's word, or when patience
        has ended; `for_people`: also while it waits for somebody. Raises `NotPermitted`,
        `RunNotFound`, `NotAWorkflow`."""
        found, side = await self.engines.find(caller, run)
        may_look(caller, found)
        loop = asyncio.get_running_loop()
        deadline = loop.time() + patience.total_seconds()
        telling, next_look = _Telling(line, self.beat.total_seconds()), 0.0
        with side.bus.listen(caller.space, str(run)) as wakeups:
            while True:
                found = await side.book.get(caller, run)
                left = deadline - loop.time()
                if found.status.over or left <= 0:
                    break
                waits = found.status is RunStatus.WAITING
                if waits or (line is not None and loop.time() >= next_look):
                    next_look = loop.time() + _BREATH
                    report = await self.show.report(caller, found, side)
                    if report.for_people and not for_people:
                        break
                    await telling(report, loop.time())
                await _within(min(left, _LOOK), wakeups)
        return await self.show(caller, run)


@dataclass(slots=True)
class _Telling:
    """How many steps are over, when there are more; else from time to time, and a little more than
    before, as clients want it."""

    line: Line | None
    beat: float
    over: int = -1
    since: float = 0.0
    last: float = 0.0

    async def __call__(self, report: WorkflowReport, now: float) -> None:
        over = sum(step.state.over for step in report.steps)
        if over > self.over:
            self.over, self.since = over, now
        elif now - self.last < self.beat:
            return
        self.last = now
        if self.line is not None:
            waited = now - self.since
            share = waited / (waited + _SLOWLY)
            await self.line.progress(self.over + share, float(len(report.steps)), _words(report))


def _words(report: WorkflowReport) -> str | None:
    running = [step.id for step in report.steps if step.state is StepStanding.RUNNING]
    more = "" if len(running) <= _NAMED else f" and {len(running) - _NAMED} more"
    return f"running {', '.join(running[:_NAMED])}{more}" if running else None


async def _within(seconds: float, wakeups: Wakeups) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await wakeups.wait()
            await asyncio.sleep(_MOMENT)
