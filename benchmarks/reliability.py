"""How far what was said to be likely is from how often it was so."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

_BINS: Final = 10


@dataclass(frozen=True, slots=True)
class Bin:
    """Of the suggestions that were about as sure as one another."""

    said: float
    was: float
    """The share that was right."""
    count: int


def reliability(confidences: Sequence[float], right: Sequence[bool]) -> Sequence[Bin]:
    """Ten of equal width; those that nothing fell into are left out."""
    said, was = np.array(confidences, float), np.array(right, float)
    places = np.minimum((said * _BINS).astype(int), _BINS - 1)
    return [
        Bin(float(said[here].mean()), float(was[here].mean()), int(here.sum()))
        for here in (places == place for place in range(_BINS))
        if here.any()
    ]


def expected_error(bins: Sequence[Bin]) -> float:
    """ECE: how far what was said is from what was, on the mean over all suggestions."""
    total = sum(each.count for each in bins)
    return sum(abs(each.said - each.was) * each.count for each in bins) / max(total, 1)
