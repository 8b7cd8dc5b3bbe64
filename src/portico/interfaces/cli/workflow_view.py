"""A workflow as it is drawn: steps, tree, timeline, text."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from itertools import pairwise
from math import ceil, floor
from typing import Final

from portico.kernel.json import JsonValue


class State(StrEnum):
    PENDING = "pending"
    RUNNING = "running"
    WAITING = "waiting"
    UNCERTAIN = "uncertain"
    DONE = "done"
    FAILED = "failed"
    SKIPPED = "skipped"
    NOT_NEEDED = "not_needed"

    @property
    def over(self) -> bool:
        return self in _OVER

    @property
    def needs_somebody(self) -> bool:
        return self in {State.WAITING, State.UNCERTAIN}


_OVER = frozenset({State.DONE, State.FAILED, State.SKIPPED, State.NOT_NEEDED})
ENDED = frozenset({"done", "partial", "failed", "cancelled", "stuck"})
"""Of a whole workflow."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Time in which a step did nothing, because somebody had to say something."""

    since: datetime
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class Items:
    """How far a step is that is done once for each of many."""

    all: int
    over: int = 0
    failed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class StepView:
    id: str
    tool: str
    needs: Sequence[str] = ()
    state: State = State.PENDING
    why: str | None = None
    started: datetime | None = None
    ended: datetime | None = None
    waits: Sequence[Wait] = ()
    tries: int = 0
    items: Items | None = None
    progress: float | None = None
    """How far its tool says that it is, from 0 to 1."""
    asking: Mapping[str, str | None] = field(default_factory=dict)
    """Which of its parts, by name, need somebody: with the request for approval, or with none if
    nobody knows whether it was done."""

    arguments: Mapping[str, str] = field(default_factory=dict)
    """By part: what those were called with of which nobody knows whether they were done."""

    @property
    def waits_since(self) -> datetime | None:
        return self.waits[-1].since if self.waits and self.waits[-1].until is None else None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowView:
    run: str
    name: str | None = None
    kind: str = "workflow"
    status: str = "queued"
    steps: Mapping[str, StepView] = field(default_factory=dict)
    """In the plan's order."""
    critical: frozenset[str] = frozenset()
    started: datetime | None = None
    ended: datetime | None = None
    parked: Sequence[Wait] = ()
    """When nothing of it ran, since it only waited for people."""
    as_of: datetime | None = None
    """What happened before is in the report."""
    heard_at: datetime | None = None
    """When the last that is known happened, by the server's clock."""
    output: JsonValue = None
    output_handle: str | None = None
    printed: str | None = None
    error: str | None = None

    @property
    def over(self) -> bool:
        return self.status in ENDED

    def counted(self) -> Mapping[State, int]:
        states = [step.state for step in self.steps.values()]
        return {state: states.count(state) for state in State if state in states}


# A step that needs several others would stand in several places of the tree. It stands once: below
# the last step that all its ways have in common (its immediate dominator). What follows alone
# continues in the same column, and so does what joins all branches again, so that a long plan stays
# narrow.

_FORK, _LAST = "├ ", "└ "
_AFTER: Final = {_FORK: "│ ", _LAST: "  "}


@dataclass(frozen=True, slots=True)
class Branch:
    step: str
    guides: Sequence[str] = ()
    """Two letters each, from the left."""

    @property
    def past(self) -> Sequence[str]:
        """The guides of what stands below it in the same column."""
        return tuple(_AFTER.get(guide, guide) for guide in self.guides)


def laid_out(needs: Mapping[str, Sequence[str]]) -> Sequence[Branch]:
    """`needs` in the plan's order. What is needed and not there is left alone."""
    order = ordered(needs)
    before = {step: [each for each in needs[step] if each in needs] for step in order}
    below = _below(order, before)
    reached = _reached(order, before)
    rows: list[Branch] = []
    ahead = [*reversed(_among(below.get(None, []), (), reached))]
    while ahead:
        branch = ahead.pop()
        rows.append(branch)
        ahead += reversed(_among(below.get(branch.step, []), branch.past, reached))
    return rows


def _among(
    steps: Sequence[str], column: Sequence[str], reached: Mapping[str, int]
) -> Sequence[Branch]:
    """What stands below the same step, in the column of that step or one further in."""
    if len(steps) < 2:
        return [Branch(step, column) for step in steps]
    *others, last = steps
    together = all(_leads(each, last, reached) for each in others)
    inside = others if together else steps
    forks = [Branch(step, (*column, _LAST if step == inside[-1] else _FORK)) for step in inside]
    return [*forks, Branch(last, column)] if together else forks


def _leads(step: str, last: str, reached: Mapping[str, int]) -> bool:
    return reached[last] & reached[step] == reached[step]


def ordered(needs: Mapping[str, Sequence[str]]) -> Sequence[str]:
    """As in the plan, but nothing before what it needs; a circle goes last, as it stands."""
    found: dict[str, None] = {}
    left = list(needs)
    while left:
        many = len(left)
        for step in left:
            if all(each in found or each not in needs for each in needs[step]):
                found[step] = None
        left = [step for step in left if step not in found]
        if len(left) == many:
            return [*found, *left]
    return list(found)


def _below(
    order: Sequence[str], before: Mapping[str, Sequence[str]]
) -> Mapping[str | None, list[str]]:
    above: dict[str | None, str | None] = {None: None}
    depth: dict[str | None, int] = {None: 0}
    below: dict[str | None, list[str]] = {}
    for step in order:
        known = [each for each in before[step] if each in depth]
        common: str | None = known[0] if known else None
        for other in known[1:]:
            common = _met(common, other, above, depth)
        above[step], depth[step] = common, depth[common] + 1
        below.setdefault(common, []).append(step)
    return below


def _met(
    one: str | None,
    other: str | None,
    above: Mapping[str | None, str | None],
    depth: Mapping[str | None, int],
) -> str | None:
    while one != other:
        if depth[one] >= depth[other]:
            one = above[one]
        else:
            other = above[other]
    return one


def _reached(order: Sequence[str], before: Mapping[str, Sequence[str]]) -> Mapping[str, int]:
    """Of each step, a set of bits: itself and everything on its ways."""
    bits: dict[str, int] = {}
    for place, step in enumerate(order):
        bits[step] = 1 << place
        for each in before[step]:
            bits[step] |= bits.get(each, 0)
    return bits


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
    if step.started is None:
        return []
    waits = _waits(step, view)
    end = step.ended or now
    edges = [
        step.started,
        *(edge for wait in waits for edge in (wait.since, wait.until or end)),
        end,
    ]
    places = [since(view, moment) for moment in edges]
    spans = [*zip(places[::2], places[1::2], strict=True)]
    return spans[:-1] if waits and waits[-1].until is None else spans


def wait_spans(step: StepView, view: WorkflowView, now: datetime) -> Sequence[Span]:
    end = step.ended or now
    return [(since(view, w.since), since(view, w.until or end)) for w in _waits(step, view)]


def _waits(step: StepView, view: WorkflowView) -> Sequence[Wait]:
    """Of one that is done for each of many, some may wait while others run: it waits while the
    whole workflow does."""
    if step.items is None or step.started is None:
        return step.waits
    began, ended = step.started, step.ended
    return [
        wait
        for wait in view.parked
        if wait.since >= began and (ended is None or wait.since < ended)
    ]


def since(view: WorkflowView, moment: datetime) -> float:
    return 0.0 if view.started is None else max((moment - view.started).total_seconds(), 0.0)


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


SIGNS: Final[Mapping[State, str]] = {
    State.PENDING: "·",
    State.RUNNING: "▸",
    State.WAITING: "‖",
    State.UNCERTAIN: "?",
    State.DONE: "✓",
    State.FAILED: "✗",
    State.SKIPPED: "-",
    State.NOT_NEEDED: "○",
}
COLOURS: Final[Mapping[State, str]] = {
    State.PENDING: "dim",
    State.RUNNING: "cyan",
    State.WAITING: "yellow",
    State.UNCERTAIN: "bold magenta",
    State.DONE: "green",
    State.FAILED: "bold red",
    State.SKIPPED: "dim",
    State.NOT_NEEDED: "dim",
}
_STATUS: Final[Mapping[str, str]] = {
    "done": "bold green",
    "partial": "bold yellow",
    "failed": "bold red",
    "stuck": "bold red",
    "cancelled": "bold yellow",
    "waiting": "bold yellow",
}
_WHEELS: Final = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_NAMES: Final[Mapping[State, str]] = {State.NOT_NEEDED: "not needed"}
_ORDER: Final = (
    State.DONE,
    State.FAILED,
    State.UNCERTAIN,
    State.WAITING,
    State.RUNNING,
    State.SKIPPED,
    State.PENDING,
    State.NOT_NEEDED,
)
SHORT: Final = 6
"""So many last letters of an id are enough to name it."""


def sign(step: StepView, turn: int | None) -> str:
    """`turn` of None: nothing moves."""
    if step.state is State.RUNNING and turn is not None:
        return _WHEELS[turn % len(_WHEELS)]
    return SIGNS[step.state]


def status_colour(status: str) -> str:
    return _STATUS.get(status, "bold cyan")


def counted(counts: Mapping[State, int]) -> str:
    """`12 done, 3 running`: how the steps stand, what matters most first."""
    return ", ".join(
        f"{counts[state]} {_NAMES.get(state, state)}" for state in _ORDER if state in counts
    )


def label(step: StepView) -> str:
    """Its id, and how far it is, if that is known; and how often it was tried, if not once."""
    again = f" ↻{step.tries}" if step.tries > 1 else ""
    if step.items is not None:
        width = len(str(step.items.all))
        failed = f" ✗{step.items.failed}" if step.items.failed else ""
        return f"{step.id} {step.items.over:>{width}}/{step.items.all}{failed}"
    if step.progress is not None and step.state is State.RUNNING:
        return f"{step.id} {step.progress:.0%}{again}"
    return f"{step.id}{again}"


def took(step: StepView, view: WorkflowView, now: datetime) -> str:
    """How long it ran; of one that waits to be approved, since when."""
    if step.waits_since is not None and step.state is not State.UNCERTAIN:
        return brief((now - step.waits_since).total_seconds())
    spans = busy_spans(step, view, now)
    return brief(sum(stop - start for start, stop in spans)) if spans else ""


def aside(step: StepView) -> str:
    """What there is to say of one that has not run, or was tried more than once."""
    if step.state is State.PENDING:
        return f"← {', '.join(step.needs)}" if len(step.needs) > 1 else ""
    if step.state is State.SKIPPED:
        return f"skipped: {step.why}" if step.why else "skipped"
    return "not needed" if step.state is State.NOT_NEEDED else ""


@dataclass(frozen=True, slots=True)
class Note:
    """Something to read, and what to type for it."""

    text: str
    command: str = ""


def notes(step: StepView, run: str) -> Sequence[Note]:
    """What has to be read: why it failed, whom it waits for."""
    if step.state is State.FAILED:
        return [Note(step.why or "failed")]
    some = [*step.asking.items()][:3]
    told = [
        note
        for part, request in some
        for note in _about(
            _asked(part, request, run, alone=part == step.id), step.arguments.get(part)
        )
    ]
    more = len(step.asking) - len(some)
    return [*told, *([Note(f"and {more} more")] if more else [])]


def given_to(view: WorkflowView, part: str) -> str:
    """What a part was called with of which nobody knows whether it was done; its tool at least."""
    for step in view.steps.values():
        if part in step.asking:
            return step.arguments.get(part, step.tool)
    return ""


def at_work(view: WorkflowView, now: datetime) -> str:
    """How long it has taken, on the whole."""
    return "" if view.started is None else brief(since(view, view.ended or now))


def uncertain_parts(view: WorkflowView) -> Sequence[str]:
    """What may have been done or not."""
    steps = view.steps.values()
    return [part for step in steps for part, request in step.asking.items() if request is None]


def keys_for(view: WorkflowView) -> str:
    """Which do something now; none of them ever means anything else."""
    waiting = sum(it is not None for step in view.steps.values() for it in step.asking.values())
    unsure = len(uncertain_parts(view))
    keys = [f"a approvals ({waiting})"] if waiting else []
    keys += [f"u uncertain ({unsure})"] if unsure else []
    return " · ".join([*keys, "q leave it running", "c cancel"])


def _about(note: Note, given: str | None) -> Sequence[Note]:
    return [note] if given is None else [note, Note(given)]


def _asked(part: str, request: str | None, run: str, *, alone: bool) -> Note:
    whose = "" if alone else f"{part} "
    if request is None:
        told = f"{whose}was begun, and nobody knows whether it was done"
        return Note(told, f"portico workflows resolve {run[-SHORT:]} {part}")
    return Note(f"{whose}waits for approval", f"portico approvals show {request[-SHORT:]}")
