"""Look whether somebody wants a run to stop, while its model is speaking."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Final

from portico.agents.leg import Leg
from portico.agents.ports import Traces
from portico.engine.core.errors import StoreUnavailable

_OFTEN: Final = 0.5
"""Seconds between two looks where nobody is there to wake it."""
_SELDOM: Final = 5.0
"""And where somebody is: a call can be lost."""


@dataclass(slots=True, kw_only=True)
class StopWatch:
    traces: Traces
    leg: Leg
    asked: bool = False

    @asynccontextmanager
    async def over(self, patience: asyncio.Timeout) -> AsyncIterator[None]:
        """Ends the patience of whoever is listening as soon as the run is to stop."""
        looking = asyncio.create_task(self._look(patience))
        try:
            yield
        finally:
            looking.cancel()

    async def _look(self, patience: asyncio.Timeout) -> None:
        while not self.asked:
            await self._moment()
            with suppress(StoreUnavailable):
                self.asked = await self.traces.stop_asked(self.leg.writer, self.leg.run)
                self.leg.rung = False
        patience.reschedule(asyncio.get_running_loop().time())

    async def _moment(self) -> None:
        if self.leg.ear is None:
            await asyncio.sleep(_OFTEN)
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(_SELDOM):
                await self.leg.ear.wait()
            self.leg.rung = True
