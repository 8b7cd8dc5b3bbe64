"""When what was done: bars on one line of time, in which idle time takes little room.

Places are shares of the width, so that nothing has to know how wide it is drawn. While a run goes
on, its line ends somewhat later than now, and is drawn anew only when that is passed.
"""

from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from math import ceil
from typing import Final

from portico.interfaces.console.screens.run.tasks import Sort, Span, State, Task, merged
from portico.interfaces.console.screens.run.units import Unit

_IDLE: Final = 2.0
"""Seconds of doing nothing that are drawn as they are, at least."""
_IDLE_SHARE: Final = 0.2
"""Of all work, too."""
_GAP: Final = 0.09
"""Of the whole width: as wide is idle time that is not."""
_NARROWEST: Final = 0.4
_LABELLED: Final = 7.0
"""Percent; a bar that is narrower says nothing."""
_MOST_BARS: Final = 12
"""In one row."""
_ENDS: Final = (1, 2, 3, 5, 8, 12, 20, 30, 45, 60)
_TICKS: Final = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800)
_HOUR: Final = 3600
_MOST_TICKS: Final = 6
_ROOM: Final = 9.0
"""Percent, that the words of a tick need."""


@dataclass(frozen=True, slots=True)
class Bar:
    x: float
    width: float
    """Both in percent."""
    sort: Sort
    words: str = ""
    grows: bool = False
    """Whether it goes on."""


@dataclass(frozen=True, slots=True)
class Row:
    unit: Unit
    bars: Sequence[Bar]
    critical: bool
    ahead: bool


@dataclass(frozen=True, slots=True)
class Tick:
    x: float
    words: str


@dataclass(frozen=True, slots=True)
class Gap:
    """Idle time, which is drawn short."""

    x: float
    width: float
    words: str


@dataclass(frozen=True, slots=True)
class Timeline:
    rows: Sequence[Row]
    ticks: Sequence[Tick]
    gaps: Sequence[Gap]
    now: float | None
    """Where that is, in percent; None of what is over."""
    left: float
    """Seconds, until it reaches the end of the line."""
    scale: str
    """Two drawings of the same scale have everything in the same places."""

    @property
    def moving(self) -> bool:
        """Whether something is being done: else nothing moves."""
        return self.now is not None and any(bar.grows for row in self.rows for bar in row.bars)


@dataclass(frozen=True, slots=True)
class Scale:
    """From a moment to its place."""

    start: datetime
    idle: Sequence[tuple[float, float]]
    """What is drawn short, in seconds from the start."""
    width: float
    """Of each of them, in seconds as they are drawn."""
    end: float
    """Of the line, in seconds as they are drawn."""
    _starts: Sequence[float] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_starts", [start for start, _ in self.idle])

    def drawn(self, moment: datetime) -> float:
        """Seconds, as they are drawn."""
        seconds = (moment - self.start).total_seconds()
        before = bisect_right(self._starts, seconds)
        short = 0.0
        for start, end in self.idle[:before]:
            inside = min(seconds, end) - start
            short += inside - self.width * (inside / (end - start))
        return seconds - short

    def percent(self, moment: datetime) -> float:
        return round(min(max(self.drawn(moment) / self.end * 100, 0.0), 100.0), 2)


def scale_of(tasks: Sequence[Task], now: datetime, *, over: bool) -> Scale | None:
    """None where nothing has begun."""
    spans = [span for task in tasks for span in task.spans]
    work = merged((span for span in spans if span.sort is not Sort.WAITED), now)
    if not spans:
        return None
    start = min(span.start for span in spans)
    last = max([span.end or now for span in spans] + ([] if over else [now]))
    idle = _idle(work, start, last)
    shown = (last - start).total_seconds() - sum(end - begin for begin, end in idle)
    room = 1.03 if over else 1.1
    end = max(room * shown, 0.001) / (1 - room * _GAP * len(idle))
    if not over:
        end = _later(end)
    return Scale(start, idle, end * _GAP, end)


def timeline_of(
    units: Sequence[Unit],
    tasks: Sequence[Task],
    now: datetime,
    *,
    over: bool,
    critical: Collection[str] = (),
) -> Timeline:
    """Of these units, on the line of all the tasks."""
    scale = scale_of(tasks, now, over=over)
    if scale is None:
        rows = [Row(unit, (), critical=False, ahead=False) for unit in units]
        return Timeline(rows, (), (), None, 0.0, "nothing")
    at = None if over else scale.percent(now)
    gaps = _apart([_gap(scale, idle) for idle in scale.idle])
    return Timeline(
        rows=[_row(scale, unit, now, critical) for unit in units],
        ticks=_ticks(scale, gaps),
        gaps=gaps,
        now=at,
        left=0.0 if at is None else round(max(scale.end - scale.drawn(now), 0.0), 1),
        scale=f"{scale.end:.4g}/{len(gaps)}/{'/'.join(gap.words for gap in gaps[:-1])}",
    )


def _idle(
    work: Sequence[tuple[datetime, datetime]], start: datetime, last: datetime
) -> Sequence[tuple[float, float]]:
    worked = sum((end - begin).total_seconds() for begin, end in work)
    least = max(_IDLE, worked * _IDLE_SHARE)
    edges = [start, *(moment for span in work for moment in span), last]
    pauses = zip(edges[::2], edges[1::2], strict=True)
    found = [
        ((begin - start).total_seconds(), (end - start).total_seconds()) for begin, end in pauses
    ]
    longest = sorted(found, key=lambda pause: pause[0] - pause[1])[:4]
    return sorted(pause for pause in longest if pause[1] - pause[0] > least)


def _later(seconds: float) -> float:
    """A round number of seconds that is not less than this."""
    unit = 1
    while True:
        found = next((unit * end for end in _ENDS if unit * end >= seconds), None)
        if found is not None:
            return float(found)
        unit *= 60


def _row(scale: Scale, unit: Unit, now: datetime, critical: Collection[str]) -> Row:
    return Row(
        unit=unit,
        bars=_bars_of_many(scale, unit, now) if unit.many else _bars(scale, unit.first, now),
        critical=not unit.many and unit.first.name in critical,
        ahead=all(task.ahead for task in unit.tasks),
    )


def _bars(scale: Scale, task: Task, now: datetime) -> Sequence[Bar]:
    spans = task.spans if len(task.spans) <= _MOST_BARS else _fewer(scale, task.spans, now)
    return [_bar(scale, span, now) for span in spans]


def _fewer(scale: Scale, spans: Sequence[Span], now: datetime) -> Sequence[Span]:
    """As one each, where next to nothing was between them; and no more than can be drawn."""
    grows = any(span.end is None for span in spans)
    near = timedelta(seconds=scale.end * _NARROWEST / 100)
    found: list[Span] = []
    for start, end in merged(spans, now):
        last = found[-1] if found else None
        if last is not None and last.end is not None and start - last.end <= near:
            found[-1] = Span(last.start, end)
        elif len(found) == _MOST_BARS:
            found[-1] = Span(found[-1].start, end)
        else:
            found.append(Span(start, end))
    return [*found[:-1], Span(found[-1].start, None)] if grows else found


def _bars_of_many(scale: Scale, unit: Unit, now: datetime) -> Sequence[Bar]:
    """When at least one of them was at work, and above that when one failed."""
    work = [s for task in unit.tasks for s in task.spans if s.sort is not Sort.WAITED]
    if not work:
        return ()
    failed = [
        Span(last.start, last.end or now, Sort.FAILED)
        for task in unit.tasks
        if task.state is State.FAILED and (last := next(reversed(task.spans), None)) is not None
    ]
    spans = [*_fewer(scale, work, now), *failed[:_MOST_BARS]]
    return [_bar(scale, span, now) for span in spans]


def _bar(scale: Scale, span: Span, now: datetime) -> Bar:
    x, end = scale.percent(span.start), scale.percent(span.end or now)
    width = round(max(end - x, _NARROWEST), 2)
    words = seconds_words(((span.end or now) - span.start).total_seconds())
    return Bar(
        x=min(x, 100 - _NARROWEST),
        width=width,
        sort=span.sort,
        words=words if width >= _LABELLED and span.sort is Sort.RAN else "",
        grows=span.end is None and span.sort is not Sort.WAITED,
    )


def _gap(scale: Scale, idle: tuple[float, float]) -> Gap:
    start, end = (scale.start + timedelta(seconds=second) for second in idle)
    x, to = scale.percent(start), scale.percent(end)
    return Gap(x, round(to - x, 2), f"{seconds_words(idle[1] - idle[0])} idle")


def _apart(gaps: Sequence[Gap]) -> Sequence[Gap]:
    """No words over others."""
    found: list[Gap] = []
    said = -100.0
    for gap in gaps:
        near = gap.x - said < _ROOM * 1.8
        said = said if near else gap.x
        found.append(replace(gap, words="") if near else gap)
    return found


def _ticks(scale: Scale, gaps: Sequence[Gap]) -> Sequence[Tick]:
    """Whole numbers of seconds since the beginning; none where a gap says how long it was."""
    step = next((each for each in _TICKS if scale.end / each <= _MOST_TICKS), _HOUR)
    while scale.end / step > _MOST_TICKS:
        step *= 2
    found: list[Tick] = []
    for second in _whole_steps(scale, step):
        x = scale.percent(scale.start + timedelta(seconds=second))
        hidden = any(gap.x - _ROOM < x < gap.x + max(gap.width, _ROOM * 1.8) for gap in gaps)
        words = seconds_words(second, exact=True)
        crowded = found and (x - found[-1].x < _ROOM or words == found[-1].words)
        if not (hidden or crowded) and x <= 100 - _ROOM / 2:
            found.append(Tick(x, words))
    return found


def _whole_steps(scale: Scale, step: float) -> Iterator[float]:
    """Of all the line but what is drawn short."""
    whole = scale.end + sum(end - start - scale.width for start, end in scale.idle)
    edges = [0.0, *(second for idle in scale.idle for second in idle), whole]
    for start, end in zip(edges[::2], edges[1::2], strict=True):
        number = ceil(start / step)
        while number * step <= end:
            yield round(number * step, 3)
            number += 1


def seconds_words(seconds: float, *, exact: bool = False) -> str:
    """As short as it can be said."""
    if seconds >= _HOUR:
        return f"{int(seconds // _HOUR)} h {int(seconds % _HOUR // 60)} min"
    if seconds >= 120:
        rest = f" {int(seconds % 60)} s" if seconds % 60 and seconds < 600 else ""
        return f"{int(seconds // 60)} min{rest}"
    if exact:
        return f"{seconds:g} s" if seconds >= 1 or not seconds else f"{seconds * 1000:g} ms"
    if seconds < 0.1:
        return f"{seconds * 1000:.0f} ms"
    return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
