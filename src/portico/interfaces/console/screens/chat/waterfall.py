"""Where the time of a run went: run, turns and calls as bars under one another.

Long times in which nothing was done, such as those of waiting for people, are drawn short.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from portico.agents.core.traces import WholeTrace
from portico.interfaces.console.screens.chat.thread import tool_of
from portico.interfaces.console.wording import short

WIDTH: Final = 1000.0
_GAP: Final = 36.0
"""How wide a time is drawn in which nothing was done."""
_IDLE: Final = timedelta(seconds=2)
_LEAST: Final = 4.0
_MOST: Final = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    name: str
    depth: int
    tone: str
    x: float
    width: float
    took: timedelta
    note: str = ""


@dataclass(frozen=True, slots=True)
class Pause:
    x: float
    width: float
    took: timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class Waterfall:
    bars: tuple[Bar, ...]
    pauses: tuple[Pause, ...]
    took: timedelta
    """All of it, as clocks go."""
    busy: timedelta
    left_out: int
    """Bars for which there was no room."""


@dataclass(frozen=True, slots=True)
class _Span:
    name: str
    depth: int
    tone: str
    start: datetime
    end: datetime
    note: str = ""


def waterfall(trace: WholeTrace, now: datetime) -> Waterfall:
    run = trace.run
    spans = sorted(_spans(trace, now), key=lambda each: (each.start, each.depth))
    end = max([run.ended_at or now, *(each.end for each in spans)])
    scale = Scale.of(run.started_at, end, [(each.start, each.end) for each in spans])
    whole = _Span(run.agent_name, 0, "run", run.started_at, end)
    shown = [whole, *spans][:_MOST]
    return Waterfall(
        bars=tuple(_bar(scale, each) for each in shown),
        pauses=scale.pauses,
        took=end - run.started_at,
        busy=scale.busy,
        left_out=len(spans) + 1 - len(shown),
    )


def _spans(trace: WholeTrace, now: datetime) -> Iterable[_Span]:
    over = trace.run.status.over
    made = {(use.turn, use.place) for use in trace.uses}
    for turn in trace.turns:
        end = turn.started_at + turn.took
        tokens = f"{short(turn.usage.input + turn.usage.output)} tok"
        note = tokens if turn.attempts < 2 else f"{tokens}, asked {turn.attempts} times"
        yield _Span(f"turn {turn.number}", 1, "turn", turn.started_at, end, note)
        for place, call in enumerate(turn.calls):
            if not over and (turn.number, place) not in made:
                yield _Span(tool_of(call), 2, "on", end, max(end, now), "not over")
    for use in trace.uses:
        tone = "bad" if use.failed else "ok"
        note = "ran ahead" if use.early else ""
        yield _Span(use.tool, 2, tone, use.started_at, use.started_at + use.took, note)


def _bar(scale: "Scale", span: _Span) -> Bar:
    start, end = scale.place(span.start), scale.place(span.end)
    width = max(end - start, _LEAST)
    return Bar(
        name=span.name,
        depth=span.depth,
        tone=span.tone,
        x=round(min(start, WIDTH - width), 1),
        width=round(width, 1),
        took=span.end - span.start,
        note=span.note,
    )


@dataclass(frozen=True, slots=True)
class Scale:
    """From moments to places, with the idle times drawn short."""

    knots: tuple[tuple[datetime, float], ...]
    pauses: tuple[Pause, ...]
    busy: timedelta

    @classmethod
    def of(
        cls, start: datetime, end: datetime, busy: Sequence[tuple[datetime, datetime]]
    ) -> "Scale":
        gaps = [gap for gap in _gaps(start, end, busy) if gap[1] - gap[0] > _IDLE]
        idle = sum((to - since for since, to in gaps), start=timedelta(0))
        seconds = max((end - start - idle).total_seconds(), 0.001)
        room = max(WIDTH - _GAP * len(gaps), WIDTH / 4)
        gap_width = (WIDTH - room) / len(gaps) if gaps else 0.0
        knots, pauses, x, at = [(start, 0.0)], [], 0.0, start
        for since, to in gaps:
            x += (since - at).total_seconds() / seconds * room
            knots += [(since, x), (to, x + gap_width)]
            pauses.append(Pause(round(x, 1), round(gap_width, 1), to - since))
            x, at = x + gap_width, to
        knots.append((end, WIDTH))
        return cls(tuple(knots), tuple(pauses), end - start - idle)

    def place(self, moment: datetime) -> float:
        before, x = self.knots[0]
        if moment <= before:
            return x
        for after, y in self.knots[1:]:
            if moment <= after:
                span = (after - before).total_seconds()
                return x + (moment - before).total_seconds() / span * (y - x)
            before, x = after, y
        return x


def _gaps(
    start: datetime, end: datetime, busy: Sequence[tuple[datetime, datetime]]
) -> Iterable[tuple[datetime, datetime]]:
    reached = start
    for since, to in sorted(busy):
        if since > reached:
            yield reached, since
        reached = max(reached, to)
    if end > reached:
        yield reached, end
