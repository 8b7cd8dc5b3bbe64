"""How soon to look again at a server that says it has changed: one that says so each time it is
looked at would else never be left alone."""

from dataclasses import dataclass
from typing import Final

_LONGEST: Final = 300.0
_FOLLOWS: Final = 10.0
"""So many pauses after a listing, a change is still taken to come of it."""


@dataclass(slots=True)
class Pace:
    """Times are seconds of any clock that only goes forward."""

    last: float = 0.0
    at: float | None = None

    def pause(self, now: float, shortest: float) -> float:
        """Seconds from the word of a change until it is looked at."""
        follows = self.at is not None and now - self.at < _FOLLOWS * self.last
        self.last = min(2 * self.last, max(_LONGEST, shortest)) if follows else shortest
        return self.last

    def listed(self, now: float) -> None:
        self.at = now
