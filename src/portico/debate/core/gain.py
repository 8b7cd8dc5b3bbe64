"""What another answer is worth: how much likelier the likeliest answer is expected to become.

By looking ahead: each voice that could be asked says each answer as often as its record and the
present probabilities tell, up to three voices deep, since one vote alone may change nothing where
two do.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp
from typing import Final

from portico.debate.core.weights import rightness

DEEPEST: Final = 3
_MOST_OPTIONS: Final = 4


@dataclass(frozen=True, slots=True)
class Outlook:
    """Exponentials of the scores, the strongest first, and of all that nobody said."""

    lifted: tuple[float, ...]
    other: float
    unsaid: int
    """How many answers that nobody gave share `other`."""

    @property
    def sureness(self) -> float:
        return max(self.lifted, default=0.0) / (sum(self.lifted) + self.other)


def outlook_of(scores: Sequence[float], other: float, unsaid: int) -> Outlook:
    """Of the strongest few: the rest could only win by a landslide."""
    ordered = sorted(scores, reverse=True)
    return Outlook(tuple(exp(each) for each in ordered[:_MOST_OPTIONS]), exp(other), unsaid)


def expected(outlook: Outlook, weights: Sequence[float], k: int) -> float:
    """How likely the likeliest will be after votes that weigh this, on the mean."""
    if not weights:
        return outlook.sureness
    weight, *later = weights
    q = rightness(weight, k)
    stray = (1 - q) / (k - 1)
    total = sum(outlook.lifted) + outlook.other
    found = 0.0
    for at, each in enumerate(outlook.lifted):
        chance = q * each / total + stray * (1 - each / total)
        said = (*outlook.lifted[:at], each * exp(weight), *outlook.lifted[at + 1 :])
        found += chance * expected(Outlook(said, outlook.other, outlook.unsaid), later, k)
    if outlook.unsaid:
        each = outlook.other / outlook.unsaid
        chance = outlook.unsaid * (q * each / total + stray * (1 - each / total))
        said = (*outlook.lifted, each * exp(weight))
        rest = Outlook(said, outlook.other - each, outlook.unsaid - 1)
        found += chance * expected(rest, later, k)
    return found
