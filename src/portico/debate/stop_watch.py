"""Look whether somebody wants a debate to stop, while voices are being heard."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Final

from portico.engine.core.errors import StoreUnavailable
from portico.engine.ports import Bus, Wakeups
from portico.kernel.ids import RunId, SpaceId

_SELDOM: Final = 5.0
"""Seconds between two looks where nobody has called: a call can be lost."""


def stop_topic(run: RunId) -> str:
    """Where a run is told that somebody wants its debate to stop: that it is so is in its notes."""
    return f"~stop:{run}"


@dataclass(slots=True, kw_only=True)
class StopWatch:
    stopped: Callable[[], Awaitable[bool]]
    """Whether it is written down that it is to stop."""
    asked: bool = False
    _patiences: set[asyncio.Timeout] = field(default_factory=set)

    @asynccontextmanager
    async def watching(self, bus: Bus, space: SpaceId, run: RunId) -> AsyncIterator[None]:
        with bus.listen(space, stop_topic(run)) as ear:
            looking = asyncio.create_task(self._look(ear))
            try:
                yield
            finally:
                looking.cancel()

    @contextmanager
    def over(self, patience: asyncio.Timeout) -> Iterator[None]:
        """Ends the patience of whoever is listening as soon as it is to stop."""
        self._patiences.add(patience)
        if self.asked:
            _end(patience)
        try:
            yield
        finally:
            self._patiences.discard(patience)

    async def _look(self, ear: Wakeups) -> None:
        while not self.asked:
            with suppress(TimeoutError):
                async with asyncio.timeout(_SELDOM):
                    await ear.wait()
            with suppress(StoreUnavailable):
                self.asked = await self.stopped()
        for patience in self._patiences:
            _end(patience)


def _end(patience: asyncio.Timeout) -> None:
    with suppress(RuntimeError):  # it is ending already
        patience.reschedule(asyncio.get_running_loop().time())
