"""The picture of the graph: no tool lies over another, and the same graph looks the same."""

from itertools import combinations
from math import hypot

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portico.faces.web.screens.graph.placing import Dot, Placed, frame_of, placed, radius_of
from tests.gateway.core.catalogues import recorded


def nearest(spots: tuple[Placed, ...]) -> float:
    """How far the two nearest ones are from touching."""
    cells: dict[tuple[int, int], list[Placed]] = {}
    for spot in spots:
        cells.setdefault((int(spot.x // 30), int(spot.y // 30)), []).append(spot)
    found = [float("inf")]
    for (column, row), here in cells.items():
        around = [
            other
            for i in (-1, 0, 1)
            for j in (-1, 0, 1)
            for other in cells.get((column + i, row + j), ())
        ]
        found += [
            hypot(a.x - b.x, a.y - b.y) - a.radius - b.radius
            for a in here
            for b in around
            if a is not b
        ]
    return min(found)


@given(
    st.lists(st.tuples(st.integers(-3, 6), st.floats(0, 1)), min_size=1, max_size=60),
    st.lists(st.tuples(st.integers(0, 59), st.integers(0, 59)), max_size=120),
)
def test_no_two_tools_overlap(tools: list[tuple[int, float]], links: list[tuple[int, int]]) -> None:
    dots = tuple(Dot(f"s.t{n}", group, size) for n, (group, size) in enumerate(tools))
    edges = tuple(link for link in links if max(link) < len(dots))

    spots = placed(dots, edges)

    assert [spot.id for spot in spots] == [dot.id for dot in dots]
    for one, other in combinations(spots, 2):
        assert hypot(one.x - other.x, one.y - other.y) > one.radius + other.radius


def test_nine_hundred_tools_do_not_overlap_either() -> None:
    names = [f"{it.server}.{it.raw['name']}" for it in recorded()]
    servers = sorted({name.partition(".")[0] for name in names})
    dots = tuple(
        Dot(name, servers.index(name.partition(".")[0]) // 3 + 1, n % 11 / 10)
        for n, name in enumerate(names)
    )
    edges = tuple((n, (n * 7 + 3) % len(dots)) for n in range(len(dots)))

    spots = placed(dots, edges)

    assert len(spots) > 500
    assert nearest(spots) > 0


def test_the_same_graph_looks_the_same() -> None:
    dots = tuple(Dot(f"s.t{n}", n % 4, n / 40) for n in range(40))
    edges = tuple((n, n * 3 % 40) for n in range(40))

    first = placed(dots, edges)
    placed.cache_clear()

    assert placed(dots, edges) == first


@pytest.mark.parametrize("count", [1, 2, 5])
def test_a_few_tools_are_not_drawn_as_giants(count: int) -> None:
    spots = placed(tuple(Dot(f"s.t{n}", 1, 1.0) for n in range(count)), ())

    left, right, top, bottom = frame_of(spots)

    assert min(right - left, bottom - top) > 20 * radius_of(1.0)
    for spot in spots:
        assert left < spot.x < right
        assert top < spot.y < bottom
