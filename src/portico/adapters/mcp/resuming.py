"""A stream that is cut is taken up again where it was, as long as that leads to something."""

from dataclasses import dataclass
from typing import Final

import httpx2

_RESUMED: Final = 3
_UNHURRIED: Final = 1.0
FIRST_PAUSE: Final = 1.0
LONGEST_PAUSE: Final = 60.0


@dataclass(slots=True)
class Place:
    """How far a stream has come."""

    last: str = ""
    pause: float = FIRST_PAUSE
    fruitless: int = 0
    """How often in a row it was taken up again in vain."""

    def note(self, event: httpx2.ServerSentEvent) -> None:
        if event.id and event.id != self.last:
            self.last, self.fruitless = event.id, 0
        if event.retry is not None:
            self.pause = event.retry / 1000

    @property
    def resumable(self) -> bool:
        return bool(self.last) and self.fruitless < _RESUMED

    def rest(self, *, asking: bool) -> float:
        """Seconds until it is taken up again. While somebody is asked it has nothing to say, and
        may be cut for as long as they think."""
        if asking:
            return min(max(self.pause, _UNHURRIED), LONGEST_PAUSE)
        self.fruitless += 1
        return min(self.pause, LONGEST_PAUSE)
