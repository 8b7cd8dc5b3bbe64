"""The lowest point of a smooth function, by L-BFGS: the same numbers on every run."""

from collections import deque
from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

Point = NDArray[np.float64]
Function = Callable[[Point], tuple[float, Point]]
"""Its value and its slope."""

_REMEMBERED: Final = 10
_ENOUGH: Final = 1e-4
_FLAT: Final = 1e-6
_SHORTEST: Final = 1e-10


def minimise(function: Function, start: Point, steps: int) -> Point:
    past: deque[tuple[Point, Point]] = deque(maxlen=_REMEMBERED)
    here, (value, slope) = start, function(start)
    for _ in range(steps):
        if np.abs(slope).max() < _FLAT:
            break
        found = _further(function, here, value, slope, _direction(slope, past))
        if found is None:
            break
        there, value, new_slope = found
        if (there - here) @ (new_slope - slope) > 0:
            past.append((there - here, new_slope - slope))
        here, slope = there, new_slope
    return here


def _direction(slope: Point, past: deque[tuple[Point, Point]]) -> Point:
    """Two loops over what was seen of the curvature; without any, a careful step downhill."""
    if not past:
        return -slope / max(1.0, float(np.linalg.norm(slope)))
    towards, shares = -slope, []
    for moved, bent in reversed(past):
        share = (moved @ towards) / (moved @ bent)
        shares.append(share)
        towards = towards - share * bent
    moved, bent = past[-1]
    towards = towards * ((moved @ bent) / (bent @ bent))
    for (moved, bent), share in zip(past, reversed(shares), strict=True):
        towards = towards + moved * (share - (bent @ towards) / (moved @ bent))
    return towards


def _further(
    function: Function, here: Point, value: float, slope: Point, towards: Point
) -> tuple[Point, float, Point] | None:
    """Half as far each time, until it is lower by enough."""
    length, gain = 1.0, float(slope @ towards)
    while length > _SHORTEST:
        there = here + length * towards
        new_value, new_slope = function(there)
        if new_value <= value + _ENOUGH * length * gain:
            return there, new_value, new_slope
        length /= 2
    return None
