"""The timeline of a run: bars for tasks, or for many that are alike."""

from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from math import ceil
from typing import Final

from portico.interfaces.console.screens.run.tasks import Sort, Span, State, Task, merged

# A plan of a thousand steps is drawn as a few dozen units; each can be opened.

MOST: Final = 60
"""Units that are drawn at once."""
_ALIKE: Final = 4
"""So many that are alike are drawn as one, where there are too many."""
_CHUNKS: Final = (10, 25, 50, 100, 250)
"""Fixed sizes: while a run grows, what was drawn stays where it was."""
_ORDER: Final = (
    State.FAILED,
    State.UNCERTAIN,
    State.WAITING,
    State.RUNNING,
    State.ASLEEP,
    State.QUEUED,
    State.DONE,
    State.SKIPPED,
    State.NOT_NEEDED,
)
"""What a unit of many is said to be: the first that one of them is."""


@dataclass(frozen=True, slots=True)
class Unit:
    key: str
    """The name of its task; of many, `~` and a number."""
    tasks: tuple[Task, ...]
    needs: tuple[str, ...] = ()
    """Keys."""

    @property
    def many(self) -> bool:
        return len(self.tasks) > 1

    @property
    def first(self) -> Task:
        return self.tasks[0]

    @property
    def state(self) -> State:
        states = {task.state for task in self.tasks}
        if states <= {State.QUEUED, State.DONE} and len(states) > 1:
            return State.RUNNING  # it has begun, and there is more to come
        return next(state for state in _ORDER if state in states)

    @property
    def over(self) -> int:
        return sum(task.state.over for task in self.tasks)

    @property
    def failed(self) -> int:
        return sum(task.state is State.FAILED for task in self.tasks)


@dataclass(frozen=True, slots=True)
class Units:
    """What is drawn, and where in the whole that is."""

    units: tuple[Unit, ...]
    zoom: tuple[int, ...] = ()
    left_out: int = 0
    """Tasks that were looked for and are too many to be drawn."""

    @property
    def shape(self) -> str:
        """Changes when something is drawn that was not drawn before, or otherwise."""
        many = sum(unit.many for unit in self.units)
        return f"{len(self.units)}.{many}"

    def path(self, unit: Unit) -> str:
        """By which one looks into a unit of many."""
        return ".".join(map(str, (*self.zoom, int(unit.key[1:]))))


def units_of(tasks: Sequence[Task], zoom: Sequence[int] = (), find: str = "") -> Units:
    """`zoom`: inside which unit, and inside which of that. `find`: only tasks that say this."""
    taken: list[int] = []
    for number in zoom:
        opened = _collapsed(tasks)
        if number >= len(opened) or not opened[number].many:
            break
        tasks = opened[number].tasks
        taken.append(number)
    if find:
        fits = [task for task in tasks if fits_words(task, find)]
        shown = _singly(fits[:MOST])
        return Units(tuple(shown), tuple(taken), len(fits) - len(shown))
    return Units(tuple(_collapsed(tasks)), tuple(taken))


def fits_words(task: Task, find: str) -> bool:
    """Each word somewhere: in its name, its tool, or how it stands."""
    text = f"{task.name} {task.tool} {task.state} {task.state.text} {task.why or ''}".casefold()
    return all(word in text for word in find.casefold().split())


def zoom_of(text: str) -> tuple[int, ...]:
    """Whatever is no place is none."""
    parts = text.split(".")[:10] if text else []
    fine = all(part.isascii() and part.isdigit() and len(part) <= 4 for part in parts)
    return tuple(map(int, parts)) if fine else ()


def _collapsed(tasks: Sequence[Task]) -> Sequence[Unit]:
    if len(tasks) <= MOST:
        return _singly(tasks)
    groups = _alike(tasks)
    if len(groups) == 1 or len(groups) > MOST:
        groups = _chunks(tasks)
    return _united(groups)


def _singly(tasks: Sequence[Task]) -> Sequence[Unit]:
    there = {task.name for task in tasks}
    return [
        Unit(task.name, (task,), tuple(need for need in task.needs if need in there))
        for task in tasks
    ]


def _alike(tasks: Sequence[Task]) -> Sequence[Sequence[Task]]:
    """The same tool, after the same and before the same."""
    users: dict[str, list[str]] = {}
    for task in tasks:
        for need in task.needs:
            users.setdefault(need, []).append(task.name)
    found: dict[tuple[str, frozenset[str], frozenset[str]], list[Task]] = {}
    for task in tasks:
        kind = (task.tool, frozenset(task.needs), frozenset(users.get(task.name, ())))
        found.setdefault(kind, []).append(task)
    return [
        part
        for group in found.values()
        for part in ([group] if len(group) >= _ALIKE else [[task] for task in group])
    ]


def _chunks(tasks: Sequence[Task]) -> Sequence[Sequence[Task]]:
    """In an order in which each comes after what it waits for: so no two wait for each other."""
    size = next((size for size in _CHUNKS if len(tasks) <= size * MOST), _CHUNKS[-1])
    order = _in_order(tasks)
    return [order[start : start + size] for start in range(0, len(order), size)]


def _in_order(tasks: Sequence[Task]) -> Sequence[Task]:
    """Layer by layer; as they stand, of one layer."""
    depth: dict[str, int] = {}
    by_name = {task.name: task for task in tasks}
    for task in tasks:
        _go_down(task, by_name, depth)
    return sorted(tasks, key=lambda task: depth[task.name])


def _go_down(task: Task, by_name: Mapping[str, Task], depth: dict[str, int]) -> None:
    stack = [task]
    entered = set[str]()
    while stack:
        at = stack[-1]
        waits = [
            by_name[need]
            for need in at.needs
            if need in by_name and need not in depth and need not in entered
        ]
        entered.add(at.name)
        if waits:
            stack += waits
            continue
        stack.pop()
        if at.name not in depth:
            depth[at.name] = 1 + max((depth.get(need, -1) for need in at.needs), default=-1)


def _united(groups: Sequence[Sequence[Task]]) -> Sequence[Unit]:
    keys = [group[0].name if len(group) == 1 else f"~{at}" for at, group in enumerate(groups)]
    place = {task.name: at for at, group in enumerate(groups) for task in group}
    units: list[Unit] = []
    for at, group in enumerate(groups):
        needs = {place[need] for task in group for need in task.needs if need in place} - {at}
        units.append(Unit(keys[at], tuple(group), tuple(keys[need] for need in sorted(needs))))
    return units


# Positions are shares of the width. While a run goes on, its line ends somewhat later than now, and
# is redrawn only when that has passed.

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
    text: str = ""
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
    text: str


@dataclass(frozen=True, slots=True)
class Gap:
    """Idle time, which is drawn short."""

    x: float
    width: float
    text: str


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
        scale=f"{scale.end:.4g}/{len(gaps)}/{'/'.join(gap.text for gap in gaps[:-1])}",
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
        text=words if width >= _LABELLED and span.sort is Sort.RAN else "",
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
        found.append(replace(gap, text="") if near else gap)
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
        crowded = found and (x - found[-1].x < _ROOM or words == found[-1].text)
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
