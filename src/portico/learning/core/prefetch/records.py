"""What became of what was predicted, an edge, and whether that is enough to act on it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import sqrt
from typing import Final

from portico.learning.core.prefetch.forms import EdgeKey
from portico.learning.core.prefetch.layer import RECORD, Layer

LEAST_TRIED: Final = 20
GATE: Final = 0.1
"""That the lower bound of an edge must reach, over all that was predicted along it, however unsure.
How sure a single prediction must be is `calibration.SURE`."""
BANDS: Final = 5
_SURE: Final = 1.0
"""Standard deviations."""


@dataclass(frozen=True, slots=True)
class EdgeRecord:
    edge: EdgeKey
    tried: int
    hit: int

    @property
    def bound(self) -> float:
        return lower_bound(self.hit, self.tried)

    @property
    def live(self) -> bool:
        return self.tried >= LEAST_TRIED and self.bound >= GATE


def lower_bound(hit: int, tried: int) -> float:
    """Wilson's: of a share that was seen, the least that it is likely to be."""
    if not tried:
        return 0.0
    share, square = hit / tried, _SURE * _SURE
    middle = share + square / (2 * tried)
    width = _SURE * sqrt(share * (1 - share) / tried + square / (4 * tried * tried))
    return max(0.0, (middle - width) / (1 + square / tried))


def band_of(raw: float) -> int:
    return min(BANDS - 1, int(raw * BANDS))


def in_band(layers: Sequence[Layer], edge: EdgeKey) -> EdgeRecord:
    """As sure as it is now."""
    rows = [layer.row(RECORD, str(edge)).get("", (0, 0)) for layer in layers]
    return EdgeRecord(edge, sum(tried for tried, _ in rows), sum(hit for _, hit in rows))


def record_of(layers: Sequence[Layer], edge: EdgeKey) -> EdgeRecord:
    """However sure it was."""
    bands = [in_band(layers, replace(edge, band=band)) for band in range(BANDS)]
    return EdgeRecord(edge, sum(it.tried for it in bands), sum(it.hit for it in bands))
