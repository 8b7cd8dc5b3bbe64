"""How good a ranking is, and how sure one can be of it."""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]

_DEPTH: Final = 10
_DRAWS: Final = 2_000


def recall(places: Sequence[int], depth: int) -> float:
    return sum(place < depth for place in places) / len(places)


def ndcg(places: Sequence[int]) -> float:
    """At 10."""
    gained = sum(1 / np.log2(place + 2) for place in places if place < _DEPTH)
    best = sum(1 / np.log2(place + 2) for place in range(min(_DEPTH, len(places))))
    return float(gained / best)


def area_under_curve(fitting: Values, strange: Values) -> float:
    """How often something that fits scores above something that does not; half for a tie."""
    both = np.concatenate([fitting, strange])
    order = np.sort(both)
    ranks = (np.searchsorted(order, both) + np.searchsorted(order, both, "right") + 1) / 2
    above = ranks[: len(fitting)].sum() - len(fitting) * (len(fitting) + 1) / 2
    return float(above / len(fitting) / len(strange))


def interval(groups: Sequence[Values]) -> tuple[float, float]:
    """Of the mean of the groups' means: 95 of 100 draws with replacement lie within."""
    draw = np.random.default_rng(1)
    drawn = [group[draw.integers(0, len(group), (_DRAWS, len(group)))] for group in groups]
    means = np.mean([each.mean(axis=1) for each in drawn], axis=0)
    low, high = np.percentile(means, [2.5, 97.5])
    return round(float(low), 4), round(float(high), 4)
