"""How sure a suggestion has to be before its first reads are made ahead: what became of earlier
ones says so, and only what their caller said or did counts, never how a tool said that it went."""

import math
from collections.abc import Sequence
from enum import StrEnum
from typing import Final

from portico.gateway.core.surface import FEEDBACK_OUTCOMES

LOWEST: Final = 0.85
HIGHEST: Final = 0.99
START: Final = 0.92
LATEST: Final = 200
"""Outcomes that count; it is worked out from these anew each time, and so never drifts off."""
ENOUGH: Final = 20
"""With fewer it stays where it starts."""
_AIM: Final = 0.80
"""Where at least so many are accepted, as far as one can be sure, it is where it starts."""
_SLOPE: Final = (START - LOWEST) / 0.15
"""Fifteen in a hundred more are the lowest, fifteen less are the highest."""
_NORMAL: Final = 1.96
"""Of 95 in a hundred."""


class Outcome(StrEnum):
    ACCEPTED = "accepted"
    REJECTED = "rejected"
    MODIFIED = "modified"
    UNCLAIMED = "unclaimed"
    """Its time was over before anybody said or did anything."""


SAYABLE: Final = tuple(map(Outcome, FEEDBACK_OUTCOMES))
"""By its caller."""


def threshold(outcomes: Sequence[Outcome]) -> float:
    """`outcomes`: the latest first, of suggestions that were at least as sure as `LOWEST`."""
    latest = outcomes[:LATEST]
    if len(latest) < ENOUGH:
        return START
    accepted = sum(outcome is Outcome.ACCEPTED for outcome in latest)
    moved = START - _SLOPE * (wilson_lower(accepted, len(latest)) - _AIM)
    return min(max(moved, LOWEST), HIGHEST)


def wilson_lower(hits: int, tried: int) -> float:
    """The least share that so many hits are likely to stand for."""
    square = _NORMAL * _NORMAL
    share = hits / tried
    middle = share + square / (2 * tried)
    spread = _NORMAL * math.sqrt((share * (1 - share) + square / (4 * tried)) / tried)
    lower = (middle - spread) / (1 + square / tried)
    return min(max(0.0, lower), share)  # without hits, rounding leaves a trace above none
