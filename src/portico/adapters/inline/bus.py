"""The bus within this process."""

import asyncio
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager

from portico.kernel.ids import SpaceId


class InlineWakeups:
    """One ear. It is a bell and not a letter box: rung three times before it is heard, it is
    heard once."""

    def __init__(self) -> None:
        self._rung = asyncio.Event()

    def ring(self) -> None:
        self._rung.set()

    async def wait(self) -> None:
        await self._rung.wait()
        self._rung.clear()


class InlineBus:
    def __init__(self) -> None:
        self._ears: defaultdict[tuple[SpaceId, str], set[InlineWakeups]] = defaultdict(set)

    def wake(self, space: SpaceId, topic: str) -> None:
        for ear in self._ears.get((space, topic), ()):
            ear.ring()

    @contextmanager
    def listen(self, space: SpaceId, topic: str) -> Iterator[InlineWakeups]:
        ear = InlineWakeups()
        self._ears[space, topic].add(ear)
        try:
            yield ear
        finally:
            ears = self._ears[space, topic]
            ears.discard(ear)
            if not ears:
                del self._ears[space, topic]
