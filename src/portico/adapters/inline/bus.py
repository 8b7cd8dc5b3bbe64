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
        self._heard = asyncio.Event()

    def ring(self) -> None:
        self._heard.set()

    @property
    def rung(self) -> bool:
        """Whether it was, and nobody has heard it yet."""
        return self._heard.is_set()

    async def wait(self) -> None:
        await self._heard.wait()
        self._heard.clear()


class InlineBus:
    def __init__(self) -> None:
        self._ears: defaultdict[tuple[SpaceId, str], set[InlineWakeups]] = defaultdict(set)

    def wake(self, space: SpaceId, topic: str) -> None:
        for ear in self._ears.get((space, topic), ()):
            ear.ring()

    def wake_all(self) -> None:
        for ears in self._ears.values():
            for ear in ears:
                ear.ring()

    @property
    def listening(self) -> int:
        """How many listen at the moment."""
        return sum(map(len, self._ears.values()))

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
