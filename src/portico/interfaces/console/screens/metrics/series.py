"""Calls over time: how many, how many went wrong, and how long they took, in even steps."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil
from typing import Final

from portico.gateway.core.calls import Call

MOST: Final = 1000
"""Calls that are looked at: the newest."""
_HEIGHT: Final = 22


@dataclass(frozen=True, slots=True)
class Range:
    key: str
    name: str
    words: str
    within: timedelta
    step: timedelta
    each: str


RANGES: Final = (
    Range("1h", "1 h", "Last hour", timedelta(hours=1), timedelta(minutes=1), "minute"),
    Range("24h", "24 h", "Last 24 hours", timedelta(days=1), timedelta(minutes=30), "half hour"),
    Range("7d", "7 d", "Last 7 days", timedelta(days=7), timedelta(hours=3), "three hours"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    at: datetime
    calls: int
    wrong: int
    p50: float | None
    """Milliseconds; so are the others. None where nothing was called."""
    p95: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    steps: Sequence[Step]
    since: datetime
    """What is known from here on: before that there were more calls than are looked at."""
    whole: bool
    lines: Mapping[str, str]
    """Of each server, the points of a small line of its calls."""


def range_of(key: str | None) -> Range:
    return next((each for each in RANGES if each.key == key), RANGES[1])


def series(calls: Sequence[Call], meant: Range, now: datetime) -> Series:
    """`calls` are the newest, newest first."""
    count = ceil(meant.within / meant.step)
    began = now - meant.within
    inside = [call for call in calls if call.started_at >= began and call.outcome is not None]
    buckets: defaultdict[int, list[Call]] = defaultdict(list)
    for call in inside:
        buckets[min(count - 1, int((call.started_at - began) / meant.step))].append(call)
    cut = len(calls) >= MOST and calls[-1].started_at > began
    return Series(
        steps=[_step(began + n * meant.step, buckets.get(n, ())) for n in range(count)],
        since=calls[-1].started_at if cut else began,
        whole=not cut,
        lines=_lines(buckets, count),
    )


def _step(at: datetime, calls: Sequence[Call]) -> Step:
    times = sorted(call.took / timedelta(milliseconds=1) for call in calls if call.took is not None)
    return Step(
        at=at,
        calls=len(calls),
        wrong=sum(1 for call in calls if call.outcome is not None and call.outcome.wrong),
        p50=share_of(times, 0.5),
        p95=share_of(times, 0.95),
    )


def share_of(ordered: Sequence[float], share: float) -> float | None:
    """The value below which so many of them are, between the two nearest."""
    if not ordered:
        return None
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return round(ordered[low] + (ordered[high] - ordered[low]) * (place - low), 1)


def _lines(buckets: Mapping[int, Sequence[Call]], count: int) -> Mapping[str, str]:
    counted: defaultdict[str, Counter[int]] = defaultdict(Counter)
    for n, calls in buckets.items():
        for call in calls:
            counted[call.ref.server][n] += 1
    return {server: points([its[n] for n in range(count)]) for server, its in counted.items()}


def points(values: Sequence[int]) -> str:
    """Of a line that is 22 high, and goes two to the right with each step."""
    most = max([1, *values])
    return " ".join(
        f"{2 * n},{round(_HEIGHT - 1 - value / most * (_HEIGHT - 3))}"
        for n, value in enumerate(values)
    )
