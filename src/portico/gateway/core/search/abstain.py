"""When nothing fits. How high a score is depends on the catalogue, so each is measured by what it
makes of requests that have nothing to do with it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]

_STRANGERS_TURNED_AWAY: Final = 0.8
"""Of the background requests, the share that is to be told that nothing fits."""


@dataclass(frozen=True, slots=True)
class Signs:
    """Of how well the best tool fits, one number a question each."""

    top: Floats
    """The log-odds of the best tool."""
    met: Floats
    """The share of the question's words that it has, rare ones counting more."""
    nearest: Floats
    """The cosine of the nearest tool, by the best model at hand."""

    @property
    def table(self) -> Floats:
        return np.stack([self.top, self.met, self.nearest], axis=1)


@dataclass(frozen=True, slots=True)
class Judgement:
    """How much each sign counts, in standard deviations of the background's."""

    top: float
    met: float
    nearest: float


@dataclass(frozen=True, slots=True)
class Calibration:
    usual: Floats
    spread: Floats
    judgement: Judgement
    threshold: float

    @classmethod
    def of(cls, background: Signs, judgement: Judgement) -> Self:
        table = background.table
        spread = table.std(axis=0)
        usual, spread = table.mean(axis=0), np.where(spread > 1e-6, spread, 1).astype(np.float32)
        plain = cls(usual, spread, judgement, 0.0)
        threshold = np.quantile(plain.scores(background), _STRANGERS_TURNED_AWAY)
        return cls(usual, spread, judgement, float(threshold))

    def scores(self, signs: Signs) -> Floats:
        """Above nought where a question fits better than strangers do."""
        weights = (self.judgement.top, self.judgement.met, self.judgement.nearest)
        standard: Floats = (signs.table - self.usual) / self.spread
        return standard @ np.asarray(weights, np.float32) - np.float32(self.threshold)


def confidence(score: float) -> float:
    """From 0 to 1; a half is where we begin to say that nothing fits."""
    return float(1 / (1 + np.exp(-np.clip(score, -30, 30))))


Judgements = Mapping[frozenset[str], Judgement]
