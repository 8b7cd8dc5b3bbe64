"""How sure to say that one is: as often as it turned out to be right before."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_STEPS: Final = 25
_CLOSE: Final = 1e-6
"""Nearer than this is there."""
_PULL_OF_START: Final = 4.0
"""As many outcomes as it takes to believe a space more than what was published."""
_SURELY: Final = 30.0


@dataclass(frozen=True, slots=True)
class Judged:
    """What was suggested, and whether it was right."""

    raw: float
    right: bool
    backing: float = 1.0


@dataclass(frozen=True, slots=True)
class Calibration:
    """The log-odds of being right are a straight line of what was made out beforehand; of that
    counts what the runs behind it allow."""

    slope: float
    start: float

    def confidence(self, raw: float, backing: float = 1.0) -> float:
        odds = np.clip(self.slope * raw + self.start, -_SURELY, _SURELY)
        return float(backing / (1 + np.exp(-odds)))

    def fitted(self, outcomes: Sequence[Judged]) -> "Calibration":
        """To what became of suggestions. From where it stands: a few outcomes move it little, and
        it never says less of what seemed more likely."""
        here = np.array([self.slope, self.start])
        fit = _Fit.of(outcomes, here)
        for _ in range(_STEPS):
            here = fit.closer(here)
        return Calibration(max(0.0, float(here[0])), float(here[1]))


SHIPPED: Final = Calibration(slope=0.7495, start=2.4154)
"""Learnt from published plans, by `just bench suggest`; UltraTool had no part in it."""


@dataclass(frozen=True, slots=True)
class _Fit:
    """Fisher's scoring, half as far each time for as long as that is not closer."""

    table: Floats
    right: Floats
    backing: Floats
    before: Floats
    pull: Floats

    @classmethod
    def of(cls, outcomes: Sequence[Judged], before: Floats) -> "_Fit":
        raw = np.array([each.raw for each in outcomes], float)
        spread = float((raw**2).mean()) + 1.0 if outcomes else 1.0
        return cls(
            np.stack([raw, np.ones(len(raw))], axis=1),
            np.array([each.right for each in outcomes], float),
            np.array([each.backing for each in outcomes], float),
            before,
            np.diag([_PULL_OF_START * spread, _PULL_OF_START]),
        )

    def closer(self, here: Floats) -> Floats:
        line = self._line(here)
        says, steep = self.backing * line, 1 - line
        slope = self.table.T @ ((says - self.right) * steep / (1 - says))
        bend = (self.table.T * (says * steep**2 / (1 - says))) @ self.table + self.pull
        step = np.linalg.solve(bend, slope + self.pull @ (here - self.before))
        while np.abs(step).max() > _CLOSE and self._loss(here - step) > self._loss(here):
            step = step / 2
        return np.asarray(here - step)

    def _line(self, here: Floats) -> Floats:
        return np.asarray(1 / (1 + np.exp(-np.clip(self.table @ here, -_SURELY, _SURELY))))

    def _loss(self, here: Floats) -> float:
        says, away = self.backing * self._line(here), here - self.before
        likely = self.right * np.log(says) + (1 - self.right) * np.log1p(-says)
        return float(away @ self.pull @ away / 2 - likely.sum())
