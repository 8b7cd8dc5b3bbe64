"""Wait for a run to end, and not for ever."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from portico.engine.core.run import Run
from portico.engine.ports import Bus, RunBook
from portico.guard.core.roles import Scope
from portico.guard.permit import permit
from portico.kernel.ids import RunId
from portico.kernel.principal import Principal

_LOOK: Final = 1.0
"""Seconds; the bus may say nothing, so it is looked so often anyway."""
_BREATH: Final = 0.05
"""Seconds; a run that tells much is not looked at more often than this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitForRun:
    book: RunBook
    bus: Bus

    async def __call__(self, caller: Principal, run: RunId, patience: timedelta) -> Run:
        """As it is when it has ended, or when patience has. One's own needs no scope: whoever may
        only start runs may know how theirs went.

        Raises `NotPermitted`, `RunNotFound`.
        """
        found = await self.book.get(caller, run)
        if found.principal != caller.id:
            permit(caller, Scope.RUNS_READ)
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
