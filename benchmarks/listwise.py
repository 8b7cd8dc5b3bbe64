"""Weights of evidence, learnt so that right tools stand above the wrong ones of their question."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from benchmarks.minimise import Point, minimise

_RIDGE: Final = 1e-5
_STEPS: Final = 200
_CANDIDATES: Final = 150


@dataclass(frozen=True, slots=True)
class Candidates:
    """Of one question: the evidence for its right tools and for the most tempting of the others."""

    features: NDArray[np.float64]
    gold: NDArray[np.bool_]

    @classmethod
    def of(cls, rows: NDArray[np.float32], gold: Sequence[int]) -> "Candidates":
        """`rows`: one a kind of evidence, a column a tool."""
        low, high = rows.min(axis=1, keepdims=True), rows.max(axis=1, keepdims=True)
        tempting = ((rows - low) / (high - low + 1e-9)).sum(axis=0)
        best = np.argsort(-tempting, kind="stable")[:_CANDIDATES]
        places = np.array([*gold, *np.setdiff1d(best, gold)])
        right = np.arange(len(places)) < len(gold)
        return cls(rows[:, places].T.astype(np.float64), right)


@dataclass(frozen=True, slots=True)
class _Lists:
    features: NDArray[np.float64]
    gold: NDArray[np.float64]
    starts: NDArray[np.int64]
    sizes: NDArray[np.int64]
    shares: NDArray[np.float64]

    @classmethod
    def of(cls, sets: Sequence[Sequence[Candidates]]) -> "_Lists":
        """Every set counts the same, however many questions it has."""
        flat = [each for some in sets for each in some]
        sizes = np.array([len(each.gold) for each in flat])
        return cls(
            features=np.concatenate([each.features for each in flat]),
            gold=np.concatenate([each.gold for each in flat]).astype(np.float64),
            starts=np.concatenate([[0], np.cumsum(sizes)[:-1]]),
            sizes=sizes,
            shares=np.concatenate([np.full(len(some), 1 / len(some) / len(sets)) for some in sets]),
        )

    def loss(self, weights: Point) -> tuple[float, Point]:
        """The cross-entropy of each right tool against all the wrong ones, and its slope."""
        scores = self.features @ weights
        odds = np.exp(scores - self._spread(np.maximum.reduceat(scores, self.starts)))
        right, wrong = self.gold, 1 - self.gold
        others = self._spread(self._sum(odds * wrong))
        both = odds + others + 1e-300
        share = self._spread(self.shares / self._sum(right))
        value = float((share * right * (np.log(both) - np.log(odds + 1e-300))).sum())
        pull = self._spread(self._sum(right / both))
        slope = share * (right * (odds / both - 1) + wrong * odds * pull)
        return value, self.features.T @ slope

    def _sum(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        summed: NDArray[np.float64] = np.add.reduceat(values, self.starts)
        return summed

    def _spread(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.repeat(values, self.sizes)


def learn_weights(sets: Sequence[Sequence[Candidates]]) -> list[float]:
    """None below nought: what speaks for a tool may count for nothing, not against it."""
    lists = _Lists.of(sets)

    def by_logarithm(logarithms: Point) -> tuple[float, Point]:
        weights = np.exp(logarithms)
        value, slope = lists.loss(weights)
        value += _RIDGE * float(weights @ weights)
        return value, (slope + 2 * _RIDGE * weights) * weights

    start = np.zeros(lists.features.shape[1])
    found = np.exp(minimise(by_logarithm, start, _STEPS))
    return [float(weight) for weight in found]
