"""Wait for a program to end, or until only people can help it on, and not for ever."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from portico.gateway.core.plan.report import WorkflowStatus
from portico.gateway.core.program.report import ProgramReport
from portico.gateway.ports import Line
from portico.gateway.programs.show_program import ShowProgram
from portico.kernel.ids import RunId
from portico.kernel.principal import Principal

_LOOK: Final = 1.0
"""Seconds; the bus may say nothing, so it is looked so often anyway."""
_BREATH: Final = 0.02
"""Seconds; a run that tells much is not looked at more often than this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitForProgram:
    show: ShowProgram

    async def __call__(
        self,
        caller: Principal,
        run: RunId,
        *,
        patience: timedelta,
        line: Line | None = None,
    ) -> ProgramReport:
        """Raises `NotPermitted`, `RunNotFound`, `ContextNotFound`."""
        now = asyncio.get_running_loop().time
        deadline = now() + patience.total_seconds()
        _, side = await self.show.engines.find(caller, run)
        with side.bus.listen(caller.space, str(run)) as wakeups:
            while True:
                report = await self.show.standing(caller, run)
                left = deadline - now()
                if report.over or report.status is WorkflowStatus.WAITING or left <= 0:
                    break
                if line is not None:
                    await _tell(line, report)
                with suppress(TimeoutError):
                    async with asyncio.timeout(min(left, _LOOK)):
                        await asyncio.sleep(_BREATH)
                        await wakeups.wait()
        return await self.show(caller, run)


async def _tell(line: Line, report: ProgramReport) -> None:
    steps = report.whole.steps
    over = sum(step.state.over for step in steps)
    await line.progress(over, None, f"{over} of {len(steps)} calls so far are over")
