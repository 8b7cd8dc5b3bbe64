"""How many calls of runs are under way at a time: to one server, and of one run."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field


@dataclass(slots=True)
class Turns:
    """In the order of asking. Of whom nobody is under way or waiting, nothing is remembered."""

    most: int
    _gates: dict[Hashable, asyncio.Semaphore] = field(default_factory=dict)
    _there: Counter[Hashable] = field(default_factory=Counter)

    @asynccontextmanager
    async def __call__(self, whose: Hashable) -> AsyncIterator[None]:
        gate = self._gates.setdefault(whose, asyncio.Semaphore(self.most))
        self._there[whose] += 1
        try:
            async with gate:
                yield
        finally:
            self._there[whose] -= 1
            if not self._there[whose]:
                del self._there[whose], self._gates[whose]
