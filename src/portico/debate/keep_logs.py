"""Keep as many files of debates as is set: by count, by date, by size."""

import asyncio
from dataclasses import dataclass

from portico.debate.ports import Logs
from portico.kernel.clock import Clock


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepLogs:
    logs: Logs
    clock: Clock

    async def __call__(self) -> int:
        """How many were removed."""
        return await asyncio.to_thread(self.logs.purge, self.clock.now())
