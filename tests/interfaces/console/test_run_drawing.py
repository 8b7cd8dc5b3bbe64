"""Drawings of a run keep their laws: its plan, its line of time, many tasks as few units."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import combinations, pairwise
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from portico.interfaces.console.screens.run.graph import HEIGHT, WIDTH, Dot, Layout, layered
from portico.interfaces.console.screens.run.tasks import Sort, Span, State, Task, merged
from portico.interfaces.console.screens.run.timeline import (
    MOST,
    Timeline,
    Unit,
    scale_of,
    seconds_words,
    timeline_of,
    units_of,
    zoom_of,
)


@st.composite
def plans(draw: st.DrawFn, most: int = 14) -> list[Dot]:
    """What each waits for stands before it."""
    many = draw(st.integers(0, most))
    return [
        Dot(
            f"s{number}",
            draw(st.lists(st.integers(0, number - 1).map(lambda at: f"s{at}"), max_size=4))
            if number
            else (),
        )
        for number in range(many)
    ]


def _overlap(drawn: Layout, one: str, other: str) -> bool:
    a, b = drawn.boxes[one], drawn.boxes[other]
    return abs(a.x - b.x) < WIDTH and abs(a.y - b.y) < HEIGHT


def _ends(path: str) -> tuple[float, float]:
    """Where a path begins and where it ends, from left to right."""
    start = re.match(r"M(-?\d+),", path)
    last = re.findall(r"(?:H(-?\d+)|(-?\d+),-?\d+)", path)[-1]
    assert start is not None
    return float(start[1]), float(last[0] or last[1])


@settings(max_examples=40)
@given(plans())
def test_nodes_have_places_that_do_not_overlap_and_edges_go_forward(plan: list[Dot]) -> None:
    drawn = layered(plan)

    assert drawn == layered([Dot(dot.name, tuple(dot.needs)) for dot in plan])
    assert set(drawn.boxes) == {dot.name for dot in plan}
    for box in drawn.boxes.values():
        assert 0 <= box.x <= drawn.width - WIDTH
        assert 0 <= box.y <= drawn.height - HEIGHT
    assert not any(_overlap(drawn, one, other) for one, other in combinations(drawn.boxes, 2))
    assert sorted((edge.source, edge.target) for edge in drawn.edges) == sorted(
        {(need, dot.name) for dot in plan for need in dot.needs}
    )
    for edge in drawn.edges:
        source, target = drawn.boxes[edge.source], drawn.boxes[edge.target]
        assert source.x + WIDTH < target.x
        assert _ends(edge.path) == (source.x + WIDTH, target.x)


@settings(max_examples=30)
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=30))
def test_circles_and_strangers_do_no_harm(pairs: list[tuple[int, int]]) -> None:
    needs: dict[str, list[str]] = {f"s{number}": ["nobody"] for number in range(10)}
    for name, need in pairs:
        needs[f"s{name}"].append(f"s{need}")

    drawn = layered([Dot(name, waits) for name, waits in needs.items()])

    assert len(drawn.boxes) == 10
    for edge in drawn.edges:
        assert drawn.boxes[edge.source].x < drawn.boxes[edge.target].x


def _fan(many: int) -> list[Dot]:
    inner = [Dot(f"s{number}", ["first"]) for number in range(many)]
    return [Dot("first"), *inner, Dot("last", [dot.name for dot in inner])]


def _chain(many: int) -> list[Dot]:
    return [Dot(f"s{at}", [f"s{at - 1}"] if at else ()) for at in range(many)]


def _chain_and_one_for_all(many: int) -> list[Dot]:
    chain = _chain(many)
    return [*chain, Dot("last", [dot.name for dot in chain])]


@pytest.mark.parametrize("plan", [_fan(998), _chain(1000), _chain_and_one_for_all(999)])
def test_a_thousand_nodes_are_laid_out(plan: list[Dot]) -> None:
    assert len(layered(plan).boxes) == 1000


def test_what_waits_for_nothing_stands_beside_what_uses_it_first() -> None:
    plan = [Dot("a"), Dot("b", ["a"]), Dot("c", ["b"]), Dot("late"), Dot("d", ["c", "late"])]

    drawn = layered(plan)

    assert drawn.boxes["late"].x == drawn.boxes["c"].x


def test_an_edge_that_passes_a_layer_passes_beside_its_nodes() -> None:
    plan = [Dot("a"), Dot("b", ["a"]), Dot("c", ["b", "a"])]

    drawn = layered(plan)

    [long] = [edge for edge in drawn.edges if (edge.source, edge.target) == ("a", "c")]
    box = drawn.boxes["b"]
    level = int(re.findall(r"(-?\d+)H", long.path)[0].split(",")[-1])
    assert level < box.y or level > box.y + HEIGHT


@settings(max_examples=20)
@given(st.integers(0, 40))
def test_where_nothing_waits_for_anything_it_is_a_grid(many: int) -> None:
    drawn = layered([Dot(f"s{number}") for number in range(many)])

    assert not drawn.edges
    assert len({(box.x, box.y) for box in drawn.boxes.values()}) == many


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
    assert (a.text, b.text) == ("1.0 s", "3.0 s")
    assert [row.critical for row in line.rows] == [True, False]
    assert line.now is None


def test_a_long_wait_is_short_and_says_how_long_it_was() -> None:
    wait = span(2, 97, Sort.WAITED)
    line = drawn([task("a", span(0, 2)), task("b", wait, span(97, 98))], 98)

    [gap] = line.gaps
    assert gap.text == "95 s idle"
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
def test_everything_is_inside_in_order_and_time_never_runs_back(tasks: list[Task]) -> None:
    line = drawn(tasks, 3000)
    scale = scale_of(tasks, at(3000), over=True)

    for bar in (bar for row in line.rows for bar in row.bars):
        assert 0 <= bar.x <= 100
        assert bar.x + bar.width <= 100.5
    assert scale is not None
    places = [scale.drawn(at(second)) for second in range(0, 2001, 50)]
    assert places == sorted(places)
    assert [tick.x for tick in line.ticks] == sorted(tick.x for tick in line.ticks)
    assert all(tick.text != other.text for tick, other in pairwise(line.ticks))
    for gap in line.gaps:
        assert not any(gap.x < tick.x < gap.x + gap.width for tick in line.ticks)
    found = merged([each for task in tasks for each in task.spans], at(3000))
    assert all(before < after for (_, before), (after, _) in pairwise(found))


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.004, "4 ms"), (0.94, "0.9 s"), (95, "95 s"), (130, "2 min 10 s"), (7300, "2 h 1 min")],
)
def test_how_long_is_said_short(seconds: float, words: str) -> None:
    assert seconds_words(seconds) == words


def node(name: str, *needs: str, tool: str = "box.look", state: State = State.DONE) -> Task:
    return Task(name=name, tool=tool, state=state, needs=needs)


def fan(many: int) -> Sequence[Task]:
    inner = [node(f"read{number}", "list") for number in range(many)]
    return [node("list"), *inner, node("all", *(each.name for each in inner))]


def chain(many: int) -> Sequence[Task]:
    return [node(f"s{at}", *([f"s{at - 1}"] if at else [])) for at in range(many)]


def names(units: Sequence[Unit]) -> list[str]:
    return [task.name for unit in units for task in unit.tasks]


def test_few_are_drawn_one_by_one() -> None:
    units = units_of(fan(10)).units

    assert [unit.key for unit in units] == [each.name for each in fan(10)]
    assert units[-1].needs == tuple(f"read{number}" for number in range(10))


def test_many_that_are_alike_are_one() -> None:
    list_, many, all_ = units_of(fan(998)).units

    assert (list_.key, many.key, all_.key) == ("list", "~1", "all")
    assert len(many.tasks) == 998
    assert many.needs == ("list",)
    assert all_.needs == ("~1",)


def test_one_looks_into_a_unit_and_into_one_of_that() -> None:
    tasks = fan(998)

    inside = units_of(tasks, [1])
    deeper = units_of(tasks, [1, 3])

    assert sorted(names(inside.units)) == sorted(f"read{number}" for number in range(998))
    assert inside.path(inside.units[3]) == "1.3"
    assert names(deeper.units) == names([inside.units[3]])
    assert not any(unit.many for unit in deeper.units)


def test_a_place_that_is_none_is_the_whole() -> None:
    assert units_of(fan(10), [5]).zoom == ()
    assert zoom_of("1.x") == zoom_of("../..") == zoom_of("") == ()
    assert zoom_of("1.20") == (1, 20)


def test_a_chain_that_grows_stays_where_it_was() -> None:
    before, after = units_of(chain(1000)).units, units_of(chain(1010)).units

    assert [unit.tasks for unit in before[:-1]] == [unit.tasks for unit in after[: len(before) - 1]]


@settings(max_examples=20)
@given(st.sampled_from([1, 59, 61, 130, 300]), st.integers())
def test_nothing_is_lost_and_every_unit_waits_for_earlier_ones(many: int, seed: int) -> None:
    pick = Random(seed).randrange
    tasks = [
        node(
            f"s{at}",
            *{f"s{pick(at)}" for _ in range(pick(4))} if at else (),
            tool=f"box.t{pick(3)}",
        )
        for at in range(many)
    ]

    units = units_of(tasks).units

    assert len(units) <= MOST
    assert sorted(names(units)) == sorted(each.name for each in tasks)
    done: set[str] = set()
    left = list(units)
    while left:  # no two wait for each other, however far around
        ready = [unit for unit in left if set(unit.needs) <= done]
        assert ready
        done |= {unit.key for unit in ready}
        left = [unit for unit in left if unit not in ready]


def test_what_is_looked_for_is_found_by_name_tool_and_state() -> None:
    tasks = [*fan(998), node("send", tool="mail.send", state=State.WAITING)]

    by_name = units_of(tasks, find="read97").units
    by_state = units_of(tasks, find="needs APPROVAL").units
    many = units_of(tasks, find="read")

    assert names(by_name) == ["read97", *(f"read97{number}" for number in range(10))]
    assert names(by_state) == ["send"]
    assert len(many.units) == MOST
    assert many.left_out == 998 - MOST


def test_a_unit_of_many_says_the_worst_that_one_of_them_is() -> None:
    states = [State.DONE, State.FAILED, State.RUNNING]
    unit = Unit("~0", tuple(node(f"s{at}", state=state) for at, state in enumerate(states)))
    half = Unit("~1", (node("a"), node("b", state=State.QUEUED)))

    assert unit.state is State.FAILED
    assert (unit.over, unit.failed) == (2, 1)
    assert half.state is State.RUNNING
