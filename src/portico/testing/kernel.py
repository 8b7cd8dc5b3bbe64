"""Time and randomness that a test can know beforehand."""

import hashlib
from datetime import UTC, datetime, timedelta
from typing import Final

BEGINNING: Final = datetime(2026, 1, 1, tzinfo=UTC)
_SECOND: Final = timedelta(seconds=1)


class TickingClock:
    """Starts at a fixed instant; each look at it moves it on, so that no two moments are one."""

    def __init__(self, start: datetime = BEGINNING, step: timedelta = _SECOND) -> None:
        self._next = start
        self._step = step

    def now(self) -> datetime:
        at = self._next
        self._next += self._step
        return at

    def turn(self, by: timedelta) -> None:
        self._next += by


class SeededEntropy:
    """The same bytes from the same seed, and never the same twice from one source."""

    def __init__(self, seed: str | int = "portico") -> None:
        self._seed = seed
        self._drawn = 0

    def __call__(self, size: int, /) -> bytes:
        self._drawn += 1
        return hashlib.shake_256(f"{self._seed}:{self._drawn}".encode()).digest(size)
