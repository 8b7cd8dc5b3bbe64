"""The drawing of a plan keeps its laws, whatever the plan is."""

import re
import time
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from portico.faces.web.screens.run.layout import HEIGHT, WIDTH, Dot, Layout, layered


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


@settings(max_examples=30)
@given(plans())
def test_every_node_has_a_place_within_the_drawing(plan: list[Dot]) -> None:
    drawn = layered(plan)

    assert set(drawn.boxes) == {dot.name for dot in plan}
    for box in drawn.boxes.values():
        assert 0 <= box.x <= drawn.width - WIDTH
        assert 0 <= box.y <= drawn.height - HEIGHT


@settings(max_examples=30)
@given(plans())
def test_no_two_nodes_overlap(plan: list[Dot]) -> None:
    drawn = layered(plan)

    assert not any(_overlap(drawn, one, other) for one, other in combinations(drawn.boxes, 2))


@settings(max_examples=30)
@given(plans())
def test_every_edge_is_drawn_and_goes_forward(plan: list[Dot]) -> None:
    drawn = layered(plan)

    assert sorted((edge.source, edge.target) for edge in drawn.edges) == sorted(
        {(need, dot.name) for dot in plan for need in dot.needs}
    )
    for edge in drawn.edges:
        source, target = drawn.boxes[edge.source], drawn.boxes[edge.target]
        assert source.x + WIDTH < target.x
        assert _ends(edge.path) == (source.x + WIDTH, target.x)


@settings(max_examples=30)
@given(plans())
def test_the_same_plan_gives_the_same_drawing(plan: list[Dot]) -> None:
    assert layered(plan) == layered([Dot(dot.name, tuple(dot.needs)) for dot in plan])


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


def _seconds(plan: list[Dot]) -> float:
    """Of this process's own time, and the best of three: others on the machine do not count."""
    took = []
    for _ in range(3):
        before = time.process_time()
        layered(plan)
        took.append(time.process_time() - before)
    return min(took)


@pytest.mark.timeout(30)
@pytest.mark.parametrize("plan", [_fan(998), _chain(1000), _chain_and_one_for_all(999)])
def test_a_thousand_nodes_are_laid_out_in_half_a_second(plan: list[Dot]) -> None:
    assert len(layered(plan).boxes) == 1000
    assert _seconds(plan) < 0.5


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
