"""What replayed debates come to: the frontier, paired gains, abstention, calibration."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from benchmarks.debate_fixed import Ran, best_mixed, mixed
from benchmarks.debate_replay import Held, Point
from benchmarks.reliability import expected_error, reliability
from portico.debate.core.questions import Preset

_RESAMPLED: Final = 2_000
_COVERED: Final = (0.1, 0.2, 0.3, 0.5, 0.7, 1.0)


@dataclass(frozen=True, slots=True)
class Frontier:
    """Points of the learnt rule; each array has a line a seed and a column a row."""

    points: Mapping[Point, Held]

    def mean(self, point: Point) -> Ran:
        held = self.points[point]
        return Ran(held.right.mean(axis=0), held.calls.mean(axis=0))

    def told(self) -> list[dict[str, float | str]]:
        return [
            {"preset": str(point[0]), "thoroughness": point[1], **self.mean(point).told()}
            for point in self.points
        ]

    def within(self, calls: float) -> Point | None:
        """The most thorough vote that costs no more: by its calls, without a look at what is
        right."""
        fits = [
            point
            for point in self.points
            if point[0] is Preset.VOTE and self.mean(point).mean_calls <= calls
        ]
        return max(fits, key=lambda point: self.mean(point).mean_calls, default=None)

    def at(self, calls: float) -> NDArray[np.float64] | None:
        """By row: the two neighbouring points, tossed so that they cost exactly this."""
        ladder = sorted(
            (self.mean(point) for point in self.points if point[0] is Preset.VOTE),
            key=lambda each: each.mean_calls,
        )
        for cheap, dear in pairwise(ladder):
            if cheap.mean_calls <= calls < dear.mean_calls:
                share = (calls - cheap.mean_calls) / (dear.mean_calls - cheap.mean_calls)
                return (1 - share) * cheap.right + share * dear.right
        return None


def together(seeds: Sequence[Mapping[Point, Held]]) -> Frontier:
    return Frontier(
        {
            point: Held(
                *(
                    np.stack([getattr(each[point], name) for each in seeds])
                    for name in ("right", "calls", "sure")
                )
            )
            for point in seeds[0]
        }
    )


def gain(
    frontier: Frontier, rules: Mapping[str, Ran], calls: float, *, best: bool = False
) -> dict[str, float | None]:
    """Over a mix of fixed rules at the same calls, row by row; its interval over drawn rows."""
    ours = frontier.at(calls)
    if ours is None:
        return {"gain": None, "low": None, "high": None}
    difference = ours - (best_mixed if best else mixed)(rules, calls)
    chance = np.random.default_rng(0)
    drawn = [
        float(difference[chance.integers(0, len(difference), len(difference))].mean())
        for _ in range(_RESAMPLED)
    ]
    low, high = np.quantile(drawn, (0.025, 0.975))
    return {
        "gain": round(float(100 * difference.mean()), 2),
        "low": round(float(100 * low), 2),
        "high": round(float(100 * high), 2),
    }


def selective(held: Held) -> dict[str, float]:
    """Share right among the surest, by how many are answered at all; the mean over the seeds."""
    found = {}
    for covered in _COVERED:
        shares = []
        for right, sure in zip(held.right, held.sure, strict=True):
            surest = np.argsort(-sure, kind="stable")[: max(1, round(covered * len(right)))]
            shares.append(right[surest].mean())
        found[f"{covered:.0%}"] = round(float(100 * np.mean(shares)), 2)
    return found


def ece(held: Held) -> float:
    return round(
        float(
            np.mean(
                [
                    expected_error(reliability(sure.tolist(), (right > 0.5).tolist()))
                    for right, sure in zip(held.right, held.sure, strict=True)
                ]
            )
        ),
        4,
    )
