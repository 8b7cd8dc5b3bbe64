"""How sure an edge is: a share that few sightings cannot make large, and what it is at least."""

from datetime import datetime, timedelta
from math import sqrt
from typing import Final

from portico.learning.core.graph.edge import Sightings

_UNSEEN: Final = 2.0
"""Sightings that what was never seen counts for: of one alone nothing is sure."""
_HALF: Final = timedelta(days=60).total_seconds()
"""After which something seen counts for half."""
_ONE_SIDED: Final = 1.645
"""Of a normal distribution 95 % lie above minus this."""


def fresh(seen: Sightings, now: datetime) -> float:
    """How often, what is long ago counting for less."""
    seconds = (now - seen.last_seen).total_seconds()
    return float(seen.times * 0.5 ** (seconds / _HALF)) if seconds > 0 else float(seen.times)


def share(part: float, whole: float) -> float:
    """Of all that was seen, and of what was not seen yet."""
    return part / (max(part, whole) + _UNSEEN)


def at_least(part: float, whole: float) -> float:
    """The lower end of Wilson's interval around the share."""
    count, middle = max(part, whole) + _UNSEEN, share(part, whole)
    square = _ONE_SIDED**2 / count
    spread = _ONE_SIDED * sqrt(middle * (1 - middle) / count + square / (4 * count))
    return max(0.0, (middle + square / 2 - spread) / (1 + square))
