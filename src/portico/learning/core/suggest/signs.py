"""What speaks for a tool: each sign a number, and how much each of them counts."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from math import log
from typing import Final

LEAST: Final = 1e-4
"""Of a search: what was not found is as good as this."""
LEAST_SHARE: Final = 0.01
"""Of plans."""


class Sign(StrEnum):
    EITHER = "either"
    """That search finds it for the whole, or the nearest past plans had it, or a likely tool had
    it before it: any of these is enough. In log-odds."""
    SEARCH = "search"
    """What search says of the whole intent."""
    STEP = "step"
    """What it says of the sub-step that the tool answers best."""
    VOTE = "vote"
    """The share of the nearest past plans that had it."""
    FOLLOWS = "follows"
    """How often it came after what was done."""
    AFTER = "after"
    """How often it came after what was done, in the nearest past plans."""
    DONE = "done"
    """It is among what was done already."""


AGAINST: Final = frozenset({Sign.DONE})

Signs = Mapping[Sign, float]


@dataclass(frozen=True, slots=True)
class Weights:
    of: Mapping[Sign, float]
    start: float = 0.0

    def weighed(self, signs: Signs) -> float:
        """Log-odds."""
        return self.start + sum(weight * signs[sign] for sign, weight in self.of.items())


def logarithm(share: float, least: float = LEAST_SHARE) -> float:
    return log(share + least)


def log_odds(share: float) -> float:
    within = min(max(share, 1e-5), 0.999)
    return log(within / (1 - within))
