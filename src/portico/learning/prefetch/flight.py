"""One call ahead of time, while it is under way."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta

from portico.gateway.core.calls import Answer
from portico.gateway.core.errors import UpstreamTimedOut
from portico.learning.core.prefetch.budget import Started
from portico.learning.core.prefetch.buffer import Held
from portico.learning.core.prefetch.totals import Waste
from portico.learning.prefetch.deaf_line import DeafLine

After = Callable[[Held, Answer], Awaitable[None]]


@dataclass(slots=True, eq=False)
class Flight:
    held: Held
    started: Started
    after: After
    """Told of an answer that is kept."""
    line: DeafLine
    landed: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[None] | None = None
    timer: asyncio.Timeout | None = None
    patience: float | None = None
    """Of whoever has joined it, in seconds."""
    why: Waste = Waste.CANCELLED
    """Why nothing came of it, if nothing does."""

    def cancel(self, why: Waste) -> None:
        self.why = why
        if self.task is not None:
            self.task.cancel()

    async def joined(self, timeout: timedelta) -> None:
        """It is its caller's own now, and has as much time as that. Raises `UpstreamTimedOut` when
        the caller has waited for so long."""
        loop = asyncio.get_running_loop()
        began, self.patience = loop.time(), timeout.total_seconds()
        if self.timer is not None:
            with suppress(RuntimeError):  # it has been answered just now
                self.timer.reschedule(began + self.patience)
        await self.landed.wait()
        if self.held.answer is None and loop.time() - began >= self.patience:
            raise UpstreamTimedOut(self.held.act.aim.tool, self.patience)
