"""When a step ran and waited, drawn on the timeline; and the ruler above."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from math import ceil, floor
from typing import Final

from portico.interfaces.cli.workflow_view.timeline import Axis, Span, busy_spans, wait_spans
from portico.interfaces.cli.workflow_view.view import StepView, WorkflowView

_NONE, _RAN, _WAITED = " ", "r", "w"
_SHAPES: Final = {"r ": "╸", " r": "╺", "  ": " ", "rr": "━", "wr": "╺", "rw": "╸"}
_DOTS: Final = "┄"
_STEPS: Final = (0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21600)
_APART: Final = 9
"""Letters between two marks of the ruler."""


def bar(step: StepView, view: WorkflowView, now: datetime, line: Axis) -> str:
    """As wide as the axis: a stroke while it ran, dots while it waited."""
    halves = [_NONE] * (line.width * 2)
    _paint(halves, wait_spans(step, view, now), line, _WAITED)
    _paint(halves, busy_spans(step, view, now), line, _RAN)
    pairs = zip(halves[::2], halves[1::2], strict=True)
    return "".join(_SHAPES.get(left + right, _DOTS) for left, right in pairs)


def ruler(line: Axis) -> str:
    """`0 s      1 s      2 s`; of time that is drawn short, how long it was."""
    letters = [" "] * line.width
    for start, stop in line.idle:
        _write(letters, floor(line.at(start)), f"≈{brief(stop - start)}")
    for mark in _marks(line):
        _write(letters, floor(line.at(mark)), brief(mark).replace(".0 s", " s"))
    return "".join(letters)


def _marks(line: Axis) -> Iterator[float]:
    """Only where something ran: between, years may have gone by."""
    step = _step(line)
    edges = [0.0, *(edge for span in line.idle for edge in span), line.knots[-1][0]]
    for start, stop in zip(edges[::2], edges[1::2], strict=True):
        yield from (step * number for number in range(ceil(start / step), floor(stop / step) + 1))


def brief(seconds: float) -> str:
    """In few letters: `0.4 s`, `12 s`, `3m20`, `2h05`, `12 d`."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes, left = divmod(round(seconds), 60)
    if minutes < 100:
        return f"{minutes}m{left:02}"
    hours = minutes // 60
    return f"{hours}h{minutes % 60:02}" if hours < 100 else f"{hours // 24} d"


def _paint(halves: list[str], spans: Sequence[Span], line: Axis, ink: str) -> None:
    """However short it was, it is seen."""
    for start, stop in spans:
        first = min(_half(line, start), len(halves) - 1)
        last = max(_half(line, stop), first + 1)
        halves[first:last] = [ink] * (min(last, len(halves)) - first)


def _half(line: Axis, seconds: float) -> int:
    """Sums of fractions may lack the last bit."""
    return floor(line.at(seconds) * 2 + 1e-6)


def _step(line: Axis) -> float:
    """The smallest at which the marks do not run into each other."""
    ran = line.knots[-1][0] - sum(stop - start for start, stop in line.idle)
    many = max(line.width // _APART, 1)
    return next((step for step in _STEPS if ran / step <= many), _STEPS[-1] * 4)


def _write(letters: list[str], place: int, text: str) -> None:
    """Only where there is nothing yet, with a blank on both sides."""
    around = letters[max(place - 1, 0) : place + len(text) + 1]
    if place + len(text) <= len(letters) and not "".join(around).strip():
        letters[place : place + len(text)] = text
