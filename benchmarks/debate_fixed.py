"""Rules that learn nothing, on every order of the recorded answers."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from benchmarks.debate_rows import Row

Keys = Sequence[str | None]


@dataclass(frozen=True, slots=True)
class Ran:
    """By row: how often it was right, and how many calls it took, on the mean over the orders."""

    right: NDArray[np.float64]
    calls: NDArray[np.float64]

    @property
    def accuracy(self) -> float:
        return float(100 * self.right.mean())

    @property
    def mean_calls(self) -> float:
        return float(self.calls.mean())

    def told(self) -> dict[str, float]:
        return {"accuracy": round(self.accuracy, 2), "calls": round(self.mean_calls, 3)}


def chance(keys: Keys, right: str) -> float:
    """That the most frequent is right, one of those with as many picked blindly."""
    votes = Counter(each for each in keys if each is not None)
    if not votes:
        return 0.0
    most = max(votes.values())
    top = [key for key, count in votes.items() if count == most]
    return (right in top) / len(top)


def asked(keys: Keys, most: int, alike: int) -> Keys:
    """Until so many are alike."""
    for count in range(1, min(most, len(keys)) + 1):
        votes = Counter(each for each in keys[:count] if each is not None)
        if votes and max(votes.values()) >= alike:
            return keys[:count]
    return keys[:most]


def alike(rows: Sequence[Row], most: int, wanted: int) -> Ran:
    right, calls = np.zeros(len(rows)), np.zeros(len(rows))
    for at, row in enumerate(rows):
        heard = [asked(order, most, wanted) for order in row.orders()]
        right[at] = np.mean([chance(each, row.right) for each in heard])
        calls[at] = np.mean([len(each) for each in heard])
    return Ran(right, calls)


NEVER: Final = 99


def fixed_rules(rows: Sequence[Row]) -> Mapping[str, Ran]:
    """Nobody said how sure they were: weighing by confidence is the majority here."""
    whole = np.array([float(row.whole) for row in rows])
    everyone = alike(rows, 4, NEVER)
    return {
        "single": alike(rows, 1, 1),
        "two_alike_of_3": alike(rows, 3, 2),
        "two_alike_stop": alike(rows, 4, 2),
        "majority": everyone,
        "confidence_weighted": everyone,
        "after_debate": Ran(np.array([chance(row.last, row.right) for row in rows]), whole),
        "pooled": Ran(np.array([chance(_both(row), row.right) for row in rows]), whole),
    }


def _both(row: Row) -> Keys:
    return row.first if row.rounds == 1 else (*row.first, *row.last)


LADDER: Final = ("single", "two_alike_of_3", "two_alike_stop", "pooled")
"""Fixed rules by what they cost: between two of them one can toss a coin."""


def mixed(rules: Mapping[str, Ran], calls: float) -> NDArray[np.float64]:
    """By row: the two neighbours on the ladder, tossed so that they cost as much on the mean."""
    ladder = [rules[name] for name in LADDER]
    for cheap, dear in pairwise(ladder):
        if calls <= dear.mean_calls:
            return _between(cheap, dear, calls)
    return ladder[-1].right


def best_mixed(rules: Mapping[str, Ran], calls: float) -> NDArray[np.float64]:
    """The best pair of any two of them, for whoever knows beforehand which that is."""
    mixes = [
        _between(cheap, dear, calls)
        for cheap in rules.values()
        for dear in rules.values()
        if cheap.mean_calls <= calls < dear.mean_calls
    ]
    return max(mixes, key=lambda each: float(each.mean()))


def _between(cheap: Ran, dear: Ran, calls: float) -> NDArray[np.float64]:
    share = (calls - cheap.mean_calls) / (dear.mean_calls - cheap.mean_calls)
    return (1 - share) * cheap.right + share * dear.right
