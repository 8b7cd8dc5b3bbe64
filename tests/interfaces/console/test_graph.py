"""The tool graph: a picture for who sees it, lists that say the same, and ways hop by hop."""

import json
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import combinations
from math import hypot
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portico.gateway.core.catalog_snapshot import ToolRef
from portico.interfaces import console
from portico.interfaces.console.screens.tool_graph import (
    Dot,
    Placed,
    community_name,
    community_rows,
    frame_of,
    path_view,
    placed,
    radius_of,
)
from portico.learning.core.tool_graph import Community, Hop
from portico.learning.core.tool_graph import Path as Way
from portico.learning.tool_graph import Ways
from tests.interfaces.console.conftest import Browser
from tests.interfaces.console.shop import FIND, handed_on, offers

FOUND, DELETED = "shop.find_customer", "shop.delete_customer"
SHEET = Path(console.__file__).parent / "static" / "styles" / "graph.css"


async def test_the_page_says_in_words_what_the_picture_shows(console: Browser) -> None:
    await handed_on(console)

    text = await console.sees("/graph")
    answer = await console.get("/graph/data")
    mark = answer.headers["etag"]
    again = await console.get("/graph/data", (b"if-none-match", mark.encode()))

    assert "2 tools · 1 learnt link · 1 community" in text
    assert 'href="/graph?community=1"' in text
    assert f'href="/graph?tool={FOUND}"' in text
    data = json.loads(answer.body)
    assert [node[0] for node in data["nodes"]] == [DELETED, FOUND]
    [[start, end, sure, fed]] = data["edges"]
    assert (start, end, fed) == (1, 0, True)
    assert 0 < sure < 1
    assert data["names"] == {"1": "shop"}
    assert (again.status, again.body) == (304, b"")


async def test_tools_of_which_nothing_was_learnt_are_shown_if_asked_for(console: Browser) -> None:
    await handed_on(console)
    await offers(console, {**FIND, "name": "greet"}, server="other")

    few = json.loads((await console.get("/graph/data")).body)
    every = json.loads((await console.get("/graph/data?all=1")).body)

    assert len(few["nodes"]) == 2
    assert [node[0] for node in every["nodes"] if node[4] < 0] == ["other.greet"]
    assert every["names"]["-1"] == "other"


async def test_a_way_is_explained_hop_by_hop(console: Browser) -> None:
    await handed_on(console)

    page = await console.sees(f"/graph?from={FOUND}&to={DELETED}")
    part = (await console.get(f"/graph/path?from={FOUND}&to={DELETED}", part=True)).body.decode()
    back = await console.sees(f"/graph?from={DELETED}&to={FOUND}")

    for text in (page, part):
        assert [*re.findall(r'data-hop="([^"]+)"', text)] == [FOUND, DELETED]
        assert "in 1 task" in text
        assert "json.id becomes id" in text
    assert "No way from" in back


async def test_neighbours_and_members_are_lists(console: Browser) -> None:
    await handed_on(console)

    tool = (await console.get(f"/graph/chosen?tool={FOUND}", part=True)).body.decode()
    group = await console.sees("/graph?community=1")
    none = await console.sees("/graph?community=99")

    assert "Comes after it" in tool
    assert f'data-tool="{DELETED}"' in tool
    assert f'data-tool="{FOUND}"' in group
    assert "Choose a tool" in none


def _refs(*names: str) -> tuple[ToolRef, ...]:
    return tuple(ToolRef.parse(name) for name in names)


def test_a_community_is_named_by_its_servers() -> None:
    assert community_name(_refs("b.x", "a.x", "a.y")) == "a · b"
    assert community_name(_refs("a.x", "b.x", "c.x", "d.x")) == "a · b · c …"


def test_a_community_keeps_its_colour_when_another_outgrows_it() -> None:
    small, large = _refs("a.x", "a.y"), _refs("b.x", "b.y", "b.z")

    before = community_rows([Community(1, large), Community(2, small)])
    after = community_rows([Community(1, _refs("a.x", "a.y", "a.z", "a.v")), Community(2, large)])

    assert {row.name: row.colour for row in before} == {row.name: row.colour for row in after}


def _hop(earlier: str, later: str, confidence: float) -> Hop:
    return Hop(
        earlier=ToolRef.parse(earlier),
        later=ToolRef.parse(later),
        confidence=confidence,
        at_least=confidence / 2,
        needed=0.0,
        followed=3,
        took=0,
        tasks=2,
        last_seen=datetime(2026, 1, 1, tzinfo=UTC),
    )


def test_a_shorter_way_is_told_beside_the_likeliest() -> None:
    likeliest = Way((_hop("a.x", "a.y", 0.9), _hop("a.y", "a.z", 0.9)))
    shortest = Way((_hop("a.x", "a.z", 0.1),))

    found = path_view(Ways(likeliest, shortest))

    assert found is not None
    assert [hop.tool for hop in found.hops] == ["a.y", "a.z"]
    assert found.confidence == pytest.approx(0.81)
    assert found.shorter == "1 hop, confidence 0.10: a.x → a.z"
    assert path_view(Ways(None, None)) is None


def _light(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = [it / 12.92 if it <= 0.04 else ((it + 0.055) / 1.055) ** 2.4 for it in parts]
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _contrast(one: str, other: str) -> float:
    low, high = sorted([_light(one), _light(other)])
    return (high + 0.05) / (low + 0.05)


def test_every_colour_of_a_community_stands_out_in_both_themes() -> None:
    found = re.findall(r"\.graph-c(\d+)\{color:light-dark\((#\w{6}),(#\w{6})\)", SHEET.read_text())

    assert len(found) == 13
    for _, light, dark in found:
        assert _contrast(light, "#ffffff") >= 3
        assert _contrast(dark, "#111319") >= 3


def apart(spots: Sequence[Placed]) -> bool:
    return all(
        hypot(one.x - other.x, one.y - other.y) > one.radius + other.radius
        for one, other in combinations(spots, 2)
    )


@given(
    st.lists(st.tuples(st.integers(-3, 6), st.floats(0, 1)), min_size=1, max_size=60),
    st.lists(st.tuples(st.integers(0, 59), st.integers(0, 59)), max_size=120),
)
def test_no_two_tools_overlap(tools: list[tuple[int, float]], links: list[tuple[int, int]]) -> None:
    dots = tuple(Dot(f"s.t{n}", group, size) for n, (group, size) in enumerate(tools))
    edges = tuple(link for link in links if max(link) < len(dots))

    spots = placed(dots, edges)

    assert [spot.id for spot in spots] == [dot.id for dot in dots]
    assert apart(spots)


def test_nine_hundred_tools_do_not_overlap_either() -> None:
    dots = tuple(Dot(f"s.t{n}", n % 17 + 1, n % 11 / 10) for n in range(900))
    edges = tuple((n, (n * 7 + 3) % len(dots)) for n in range(len(dots)))

    assert apart(placed(dots, edges))


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
