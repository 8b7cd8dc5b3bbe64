"""What came of calls made ahead: how many there were, how many were asked for, what was won."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Final

CALLS: Final = "figure.calls"
"""The kind of count of the calls that callers made: how many, and how many of them were served."""
RAN: Final = "figure.ran"
"""Of the calls that were made ahead along an edge, and of those that were then asked for."""
SAVED: Final = "figure.saved"
"""Of the milliseconds that callers did not wait along an edge."""
FIGURES: Final = (CALLS, RAN, SAVED)

ALL_CALLS: Final = '"all"'
"""The key of the one count of calls that there is."""
SUGGESTED: Final = '"suggested"'
"""Where the key of an edge would stand, of calls that a suggested plan would make."""


class Waste(StrEnum):
    """Why what was made ahead was not served."""

    EXPIRED = "expired"
    """Nobody asked for it in time."""
    CHANGED = "changed"
    """Something was written, or its server has changed, so that it may not be true any more."""
    FAILED = "failed"
    CANCELLED = "cancelled"
    """It took too long, a call that somebody waits for took its place, or whoever had joined it
    went away."""
    SWITCHED = "switched"
    """Somebody has switched it off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AheadTotals:
    calls: int = 0
    """That callers made."""
    tried: int = 0
    """That were made ahead."""
    served: int = 0
    """Of these, those that were asked for, exactly so, in time."""
    saved: timedelta = timedelta()
    """What callers did not have to wait."""

    @property
    def coverage(self) -> float | None:
        """Of all calls, those that were served."""
        return self.served / self.calls if self.calls else None

    @property
    def exact(self) -> float | None:
        """Of those made ahead, those that were served."""
        return self.served / self.tried if self.tried else None

    @property
    def wasted(self) -> int:
        """Nobody has asked for these, or not yet."""
        return max(0, self.tried - self.served)

    @property
    def waste(self) -> float | None:
        """Calls that were made for nothing, for each call that somebody made."""
        return self.wasted / self.calls if self.calls else None

    def and_then(self, other: "AheadTotals") -> "AheadTotals":
        return AheadTotals(
            calls=self.calls + other.calls,
            tried=self.tried + other.tried,
            served=self.served + other.served,
            saved=self.saved + other.saved,
        )


def added_up(counted: Iterable[tuple[str, int, int]]) -> AheadTotals:
    """`counted`: kind, how often tried, how often it was so."""
    calls = tried = served = milliseconds = 0
    for kind, times, hit in counted:
        if kind == CALLS:
            calls += times
        elif kind == RAN:
            tried, served = tried + times, served + hit
        elif kind == SAVED:
            milliseconds += times
    return AheadTotals(
        calls=calls, tried=tried, served=served, saved=timedelta(milliseconds=milliseconds)
    )
