"""When to leave a server alone that breaks again and again, and for how long."""

from dataclasses import dataclass
from typing import Final

_FIRST: Final = 1.0
_LONGEST: Final = 60.0


@dataclass(slots=True)
class Breaker:
    """Times are seconds of any clock that only goes forward. The first break is forgiven; from
    the second on each rest is twice the last, give or take a fifth, so that many do not come back
    at the same moment. After a rest one attempt is made, and it decides."""

    strikes: int = 0
    until: float = 0.0

    def broke(self, now: float, luck: float) -> None:
        """`luck` is between 0 and 1."""
        self.strikes += 1
        if self.strikes > 1:
            rest = min(_LONGEST, _FIRST * 2.0 ** min(self.strikes - 2, 30))
            self.until = now + rest * (0.8 + 0.4 * luck)

    def answered(self) -> None:
        self.strikes = 0
        self.until = 0.0

    def rests(self, now: float) -> bool:
        return now < self.until
