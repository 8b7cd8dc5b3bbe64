"""Where moments are on a line of so many letters. Time in which nothing ran is short on it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Final

from portico.interfaces.cli.workflow_view.view import StepView, Wait, WorkflowView

_LONG: Final = 0.15
"""Of all time: from here on time in which nothing ran is not drawn as long as it was."""
_AS_LONG_AS: Final = 7
"""So many letters it takes instead: room to say how long it was."""
_SHORTEST: Final = 0.1
"""Seconds in all: less is nothing to look at."""
_IDLE: Final = 1.0
"""Seconds: shorter ones are drawn as they were."""

Span = tuple[float, float]
"""From and to, in seconds since it began."""


@dataclass(frozen=True, slots=True)
class Axis:
    width: int
    knots: Sequence[tuple[float, float]]
    """Seconds, and how far along the line that is, from 0 to 1."""
    idle: Sequence[Span] = ()
    """Where nothing ran for long."""

    def at(self, seconds: float) -> float:
        """In letters from the left."""
        for (t0, p0), (t1, p1) in pairwise(self.knots):
            if seconds <= t1:
                share = (seconds - t0) / (t1 - t0) if t1 > t0 else 0.0
                return (p0 + max(share, 0.0) * (p1 - p0)) * self.width
        return float(self.width)


def axis(view: WorkflowView, now: datetime, width: int) -> Axis:
    end = max(since(view, view.ended or now), _SHORTEST)
    busy = _merged(span for step in view.steps.values() for span in busy_spans(step, view, now))
    gaps = [
        (start, stop)
        for start, stop in _between(busy, end)
        if stop - start > max(end * _LONG, _IDLE)
    ]
    return Axis(width, _knots(gaps, end, width), gaps)


def busy_spans(step: StepView, view: WorkflowView, now: datetime) -> Sequence[Span]:
    """When it ran: from its beginning to its end, without the time in which it waited."""
    if step.began is None:
        return []
    waits = _waits(step, view)
    end = step.ended or now
    edges = [step.began, *(edge for wait in waits for edge in (wait.since, wait.until or end)), end]
    places = [since(view, moment) for moment in edges]
    spans = [*zip(places[::2], places[1::2], strict=True)]
    return spans[:-1] if waits and waits[-1].until is None else spans


def wait_spans(step: StepView, view: WorkflowView, now: datetime) -> Sequence[Span]:
    end = step.ended or now
    return [(since(view, w.since), since(view, w.until or end)) for w in _waits(step, view)]


def _waits(step: StepView, view: WorkflowView) -> Sequence[Wait]:
    """Of one that is done for each of many, some may wait while others run: it waits while the
    whole workflow does."""
    if step.items is None or step.began is None:
        return step.waits
    began, ended = step.began, step.ended
    return [
        wait
        for wait in view.parked
        if wait.since >= began and (ended is None or wait.since < ended)
    ]


def since(view: WorkflowView, moment: datetime) -> float:
    return 0.0 if view.began is None else max((moment - view.began).total_seconds(), 0.0)


def _merged(spans: Iterable[Span]) -> Sequence[Span]:
    merged: list[Span] = []
    for start, stop in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(stop, merged[-1][1]))
        else:
            merged.append((start, stop))
    return merged


def _between(busy: Sequence[Span], end: float) -> Sequence[Span]:
    edges = [0.0, *(edge for span in busy for edge in span), end]
    return [*zip(edges[::2], edges[1::2], strict=True)]


def _knots(gaps: Sequence[Span], end: float, width: int) -> Sequence[tuple[float, float]]:
    """Every long gap takes the same little of the line; the rest is shared as time is."""
    each = min(_AS_LONG_AS / width, 0.5 / len(gaps)) if gaps else 0.0
    ran = end - sum(stop - start for start, stop in gaps)
    free = 1.0 - each * len(gaps)
    knots, place, last = [(0.0, 0.0)], 0.0, 0.0
    for start, stop in gaps:
        place += free * (start - last) / ran if ran else 0.0
        knots += [(start, place), (stop, place + each)]
        place, last = place + each, stop
    return [*knots, (end, 1.0)]
