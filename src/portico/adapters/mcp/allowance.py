"""How much a server may say that nobody asked for, before it is made to wait."""

from dataclasses import dataclass
from typing import Final

_BURST: Final = 4_000_000
_A_SECOND: Final = 1_000_000


@dataclass(slots=True)
class Allowance:
    """In bytes; what it uses up comes back with time. One who floods fills its own pipe then, and
    not our hands."""

    left: float = _BURST
    at: float = 0.0

    def use(self, size: int, now: float) -> float:
        """Seconds for which nothing more is to be read from it."""
        self.left = min(_BURST, self.left + (now - self.at) * _A_SECOND) - size
        self.at = now
        return max(0.0, -self.left / _A_SECOND)
