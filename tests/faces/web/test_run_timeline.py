"""The line of time: bars where things were, idle time short, and everything inside."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from portico.faces.web.screens.run.tasks import Sort, Span, State, Task, merged
from portico.faces.web.screens.run.timeline import (
    Timeline,
    scale_of,
    seconds_words,
    timeline_of,
)
from portico.faces.web.screens.run.units import units_of

START = datetime(2026, 1, 1, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def span(start: float, end: float | None, sort: Sort = Sort.RAN) -> Span:
    return Span(at(start), None if end is None else at(end), sort)


def task(name: str, *spans: Span, state: State = State.DONE) -> Task:
    return Task(name=name, tool=f"box.{name}", state=state, spans=spans)


def drawn(tasks: Sequence[Task], now: float, *, over: bool = True) -> Timeline:
    units = units_of(tasks).units
    return timeline_of(units, tasks, at(now), over=over, critical={"a"})


def test_bars_stand_where_they_were_and_say_how_long() -> None:
    line = drawn([task("a", span(0, 1)), task("b", span(1, 4))], 4)

    [a], [b] = (row.bars for row in line.rows)
    assert a.x == 0
    assert b.x == pytest.approx(a.width, abs=0.1)
    assert b.width == pytest.approx(3 * a.width, abs=0.1)
    assert (a.words, b.words) == ("1.0 s", "3.0 s")
    assert [row.critical for row in line.rows] == [True, False]
    assert line.now is None


def test_a_long_wait_is_short_and_says_how_long_it_was() -> None:
    wait = span(2, 97, Sort.WAITED)
    line = drawn([task("a", span(0, 2)), task("b", wait, span(97, 98))], 98)

    [gap] = line.gaps
    assert gap.words == "95 s idle"
    assert gap.width == pytest.approx(9, abs=0.1)
    assert line.rows[1].bars[1].x == pytest.approx(gap.x + gap.width, abs=0.1)
    assert line.rows[0].bars[0].width > 50


def test_while_somebody_is_waited_for_nothing_moves() -> None:
    tasks = [
        task("a", span(0, 2)),
        task("b", span(2, None, Sort.WAITED), state=State.WAITING),
    ]

    soon, later = drawn(tasks, 20, over=False), drawn(tasks, 2000, over=False)

    assert soon.scale == later.scale
    assert soon.now == later.now
    assert not soon.moving


def test_what_goes_on_grows_until_the_line_is_full() -> None:
    tasks = [task("a", span(0, None), state=State.RUNNING)]

    first, second, third = (drawn(tasks, now, over=False) for now in (1.0, 1.5, 3.0))

    assert first.moving
    assert first.rows[0].bars[0].grows
    assert first.scale == second.scale != third.scale
    assert first.now is not None
    assert second.now is not None
    assert first.now < second.now


def test_attempts_that_failed_are_told_apart() -> None:
    line = drawn([task("a", span(0, 1, Sort.FAILED), span(2, 3))], 3)

    assert [bar.sort for bar in line.rows[0].bars] == [Sort.FAILED, Sort.RAN]


def test_where_nothing_has_begun_there_is_no_line() -> None:
    line = drawn([task("a", state=State.QUEUED)], 3, over=False)

    assert (line.ticks, line.gaps, line.rows[0].bars) == ((), (), ())


def test_no_row_has_more_bars_than_can_be_seen() -> None:
    many = [task(f"s{number}", span(number, number + 0.4)) for number in range(1000)]

    line = drawn(many, 1000)

    assert all(len(row.bars) <= 12 for row in line.rows)


times = st.floats(0, 1000).map(lambda second: round(second, 3))


@st.composite
def runs(draw: st.DrawFn) -> list[Task]:
    found = []
    for number in range(draw(st.integers(1, 8))):
        start = draw(times)
        took = draw(times)
        sort = draw(st.sampled_from(Sort))
        found.append(task(f"s{number}", span(start, start + took, sort)))
    return found


@settings(max_examples=40)
@given(runs())
def test_everything_is_inside_and_time_never_runs_back(tasks: list[Task]) -> None:
    line = drawn(tasks, 3000)
    scale = scale_of(tasks, at(3000), over=True)

    for row in line.rows:
        for bar in row.bars:
            assert 0 <= bar.x <= 100
            assert bar.x + bar.width <= 100.5
    assert scale is not None
    places = [scale.drawn(at(second)) for second in range(0, 2001, 50)]
    assert places == sorted(places)


@settings(max_examples=40)
@given(runs())
def test_ticks_are_in_order_and_none_is_in_a_gap(tasks: list[Task]) -> None:
    line = drawn(tasks, 3000)

    assert [tick.x for tick in line.ticks] == sorted(tick.x for tick in line.ticks)
    assert all(tick.words != other.words for tick, other in pairwise(line.ticks))
    for gap in line.gaps:
        assert not any(gap.x < tick.x < gap.x + gap.width for tick in line.ticks)


@settings(max_examples=40)
@given(runs())
def test_merged_spans_never_touch(tasks: list[Task]) -> None:
    found = merged([each for task in tasks for each in task.spans], at(3000))

    for (_, before), (after, _) in pairwise(found):
        assert before < after


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.004, "4 ms"), (0.94, "0.9 s"), (95, "95 s"), (130, "2 min 10 s"), (7300, "2 h 1 min")],
)
def test_how_long_is_said_short(seconds: float, words: str) -> None:
    assert seconds_words(seconds) == words
