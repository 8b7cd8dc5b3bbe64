"""Tool usage: how long a use counts."""

from datetime import timedelta
from math import exp2
from typing import Final

HALVED_AFTER: Final = timedelta(weeks=1)
"""A use counts half after this time, a quarter after twice of it."""


def faded(calls: float, since: timedelta) -> float:
    """What `calls` count for after that time; time that runs backwards takes nothing back."""
    return calls * exp2(-(max(since, timedelta()) / HALVED_AFTER))
