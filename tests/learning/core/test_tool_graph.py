"""The graph of tools: edges, confidence, paths, figures."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from portico.adapters.graph import RustGraphMath
from portico.adapters.jmespath.expressions import JmespathExpressions
from portico.gateway.core.catalog_snapshot import ToolRef
from portico.gateway.core.inferred_schema import ToolPlace
from portico.gateway.core.servers import ServerId
from portico.learning.core import tool_graph
from portico.learning.core.tool_graph import (
    Analysis,
    EdgeKind,
    Fed,
    Hop,
    KnownGraph,
    Sightings,
    TaskBound,
    ToolEdge,
    analysed,
    at_least,
    fresh,
    graph_figures,
    node_link,
    plan_edges,
    share,
)
from portico.testing.gateway import a_server
from portico.testing.memory_store import BEGINNING, SeededEntropy
from portico.workflows.core.plan_documents import read_plan
from tests.learning.core.graph.drawn import add, drawn, ref


def test_nothing_is_known_at_first() -> None:
    graph = drawn()

    assert (graph.tools, graph.hops, graph.size, graph.tasks) == ([], [], 0, {})
    assert graph.path(ref("a"), ref("b")) is None
    assert graph.shortest(ref("a"), ref("b")) is None
    assert graph.after(ref("a")) == graph.before(ref("a")) == []


def test_what_came_after_is_told_with_its_share_the_likeliest_first() -> None:
    graph = drawn(("a -> b", 2), ("a -> c", 6), ("d -> c", 9))

    found = graph.after(ref("a"))

    assert [(str(hop.later), hop.times, round(hop.confidence, 2)) for hop in found] == [
        ("s.c", 6, 0.6),
        ("s.b", 2, 0.2),
    ]
    assert all(0 < hop.at_least < hop.confidence for hop in found)
    assert [str(hop.earlier) for hop in graph.before(ref("c"))] == ["s.d", "s.a"]
    assert graph.after(ref("a"), 1) == found[:1]
    assert len(graph.before(ref("c"), 1)) == 1


def test_what_both_followed_and_took_is_seen_once() -> None:
    graph = drawn(("a -> b", 4), ("a => b", 3), ("a -> c", 4))

    [hop, _] = graph.after(ref("a"))

    assert (hop.followed, hop.took, hop.times, hop.tasks) == (4, 3, 4, 4)
    assert hop.confidence == pytest.approx(4 / 10)
    assert graph.tasks == {("s.a", "s.b"): 4, ("s.a", "s.c"): 4}
    assert graph.size == len(graph.hops) == 2


def test_what_was_seen_long_ago_gives_way_to_what_is_seen_now() -> None:
    graph = drawn(("a -> b", 8), days=120)
    add(graph, ("a -> c", 4))

    assert [str(hop.later) for hop in graph.after(ref("a"))] == ["s.c", "s.b"]
    assert graph.after(ref("a"))[1].last_seen == BEGINNING - timedelta(days=120)


@pytest.mark.requirement("seed001:05")
@pytest.mark.requirement("seed001:17")
@pytest.mark.requirement("seed001:19")
def test_the_likeliest_way_need_not_be_the_shortest() -> None:
    graph = drawn(("a -> b", 90), ("b -> c", 90), ("a -> c", 3))

    likeliest, shortest = graph.path(ref("a"), ref("c")), graph.shortest(ref("a"), ref("c"))

    assert likeliest is not None
    assert shortest is not None
    assert str(likeliest) == "s.a -> s.c, by way of s.b (0.95 x 0.98 = 0.93)"
    assert str(shortest) == "s.a -> s.c, directly (0.03)"
    assert (likeliest.direct, shortest.direct) == (False, True)
    assert [str(tool) for tool in likeliest.tools] == ["s.a", "s.b", "s.c"]
    assert likeliest.at_least < likeliest.confidence


def test_there_is_no_way_against_the_arrows() -> None:
    graph = drawn(("a -> b", 1))

    assert graph.path(ref("b"), ref("a")) is None
    assert graph.shortest(ref("b"), ref("a")) is None


def test_a_tool_comes_after_itself_only_if_it_did() -> None:
    graph = drawn(("a -> a", 3), ("a -> b", 3))

    assert str(graph.path(ref("a"), ref("a"))) == "s.a -> s.a, directly (0.38)"
    assert graph.shortest(ref("a"), ref("a")) == graph.path(ref("a"), ref("a"))
    assert graph.path(ref("b"), ref("b")) is None
    assert graph.weighted() == [(0, 1, 3.0)]


def test_ways_know_at_once_of_what_is_seen_later() -> None:
    graph = drawn(("a -> b", 1))
    assert graph.path(ref("a"), ref("b")) is not None
    before = graph.version

    add(graph, ("b -> c", 1), ("a -> d", 40), ("d -> c", 40))

    found = graph.path(ref("a"), ref("c"))
    assert found is not None
    assert [str(tool) for tool in found.tools] == ["s.a", "s.d", "s.c"]
    assert graph.version > before


EDGES = some.lists(
    some.tuples(some.sampled_from("abcde"), some.sampled_from("abcde"), some.integers(1, 9)),
    min_size=1,
    max_size=20,
)


@given(EDGES, some.integers(0, 20))
def test_put_together_at_once_or_one_by_one_it_is_the_same_graph(
    edges: list[tuple[str, str, int]], first: int
) -> None:
    drawing = [(f"{one} -> {other}", times) for one, other, times in edges]
    whole, grown = drawn(*drawing), drawn(*drawing[:first])
    grown.path(ref("a"), ref("b"))
    for edge in drawing[first:]:
        add(grown, edge)

    for one in "abcde":
        assert [_rounded(hop) for hop in grown.after(ref(one))] == [
            _rounded(hop) for hop in whole.after(ref(one))
        ]
        for other in "abcde":
            assert _sure(grown, one, other) == _sure(whole, one, other)


def _rounded(hop: Hop) -> tuple[object, ...]:
    return hop.later, hop.times, hop.tasks, round(hop.confidence, 9), round(hop.needed, 9)


def _sure(graph: KnownGraph, one: str, other: str) -> float | None:
    found = graph.path(ref(one), ref(other))
    return None if found is None else round(found.confidence, 9)


def test_it_is_told_by_which_way_a_result_became_an_argument() -> None:
    graph = drawn(("a => b", 9), ("c => b", 3), ("d -> b", 12))
    ways = [Fed("json.id", "id", 2), Fed("json.a", "path", 9), Fed("json.z", "id", 2)]

    graph.fed(lambda: {(ref("a"), ref("b")): ways, (ref("x"), ref("b")): ways})

    told = {str(hop.earlier): hop for hop in graph.before(ref("b"))}
    assert told["s.a"].fed == (ways[1], ways[0], ways[2])
    assert [told[f"s.{name}"].fed for name in "cd"] == [(), ()]
    assert [round(told[f"s.{name}"].needed, 2) for name in "acd"] == [0.64, 0.21, 0.0]


def test_beyond_so_many_edges_only_known_ones_grow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tool_graph, "MOST", 2)
    graph = drawn(("a -> b", 1), ("a -> c", 1), ("a -> d", 1))

    add(graph, ("a -> b", 5), ("x -> y", 5))

    assert [(hop.later.name, hop.times) for hop in graph.after(ref("a"))] == [("b", 6), ("c", 1)]
    assert graph.size == 2


def test_of_one_sighting_nothing_is_sure() -> None:
    assert share(1, 1) == pytest.approx(1 / 3)
    assert at_least(1, 1) < 0.1


def test_with_many_it_comes_near_the_share_that_was_seen() -> None:
    assert share(80, 100) == pytest.approx(0.784, abs=0.001)
    assert at_least(80, 100) == pytest.approx(0.711, abs=0.001)


@given(some.floats(0, 1e6), some.floats(0, 1e6))
def test_the_lower_bound_is_below_the_share_and_both_are_shares(part: float, rest: float) -> None:
    assert 0 <= at_least(part, part + rest) <= share(part, part + rest) + 1e-12
    assert share(part, part + rest) < 1


@given(some.floats(0.1, 1e5), some.floats(1.1, 10))
def test_the_same_share_of_more_is_surer(part: float, times: float) -> None:
    assert at_least(part * times, 2 * part * times) > at_least(part, 2 * part)


def test_what_is_long_ago_counts_for_less() -> None:
    seen = Sightings(8, 1, BEGINNING)

    assert fresh(seen, BEGINNING) == 8
    assert fresh(seen, BEGINNING + timedelta(days=60)) == 4
    assert fresh(seen, BEGINNING - timedelta(days=1)) == 8


TWO = (
    *((f"{one} -> {other}", 9) for one, other in ("ab", "bc", "ca", "xy", "yx")),
    ("c -> x", 1),
    ("solo -> solo", 4),
)


def analysis(graph: KnownGraph) -> Analysis:
    return analysed(graph.tools, graph.weighted(), RustGraphMath())


@pytest.mark.requirement("seed001:04")
def test_who_is_used_together_belongs_together() -> None:
    groups = analysis(drawn(*TWO)).communities

    assert [(each.number, sorted(it.name for it in each.tools)) for each in groups.groups] == [
        (1, ["a", "b", "c"]),
        (2, ["x", "y"]),
        (3, ["solo"]),
    ]
    assert {tool.name for tool in groups.beside(ref("a"))} == {"b", "c"}
    assert len(groups.beside(ref("a"), 1)) == 1
    assert groups.beside(ref("nobody")) == []
    assert groups.of(ref("nobody")) is None
    assert groups.numbers["s.y"] == 2


def test_the_same_graph_always_has_the_same_communities() -> None:
    graph = drawn(*((f"t{n % 30} -> t{n * 7 % 30}", n % 5 + 1) for n in range(200)))

    assert analysis(graph) == analysis(graph)


def test_what_much_leads_to_is_central() -> None:
    found = analysis(drawn(("a -> hub", 5), ("b -> hub", 5), ("c -> hub", 5), ("hub -> d", 1)))

    assert sum(found.ranks.values()) == pytest.approx(1)
    assert found.ranks[ref("hub")] > found.ranks[ref("a")]


def test_its_figures_are_told() -> None:
    graph = drawn(*TWO, ("a => b", 2))
    told = graph_figures(graph, analysis(graph), 50)

    assert (told.tools, told.offered, told.edges, told.feeding) == (6, 50, 7, 1)
    assert (told.communities, round(told.density, 3)) == (2, 0.194)
    assert len(told.central) == 6
    assert told.surest[0].at_least == max(hop.at_least for hop in graph.hops)


def test_of_an_empty_graph_there_are_figures_too() -> None:
    graph = drawn()
    told = graph_figures(graph, analysis(graph), 3)

    assert (told.tools, told.edges, told.density, told.communities) == (0, 0, 0.0, 0)
    assert (told.central, told.surest) == ([], [])


@pytest.mark.requirement("seed001:18")
def test_as_json_it_has_nodes_and_edges_between_them() -> None:
    graph = drawn(("a => b", 2), ("b -> a", 1))
    graph.fed(lambda: {(ref("a"), ref("b")): [Fed("json.id", "id", 2)]})

    told: Mapping[str, Any] = node_link(graph, analysis(graph))

    assert [(node["id"], node["community"]) for node in told["nodes"]] == [("s.a", 1), ("s.b", 1)]
    assert told["edges"][0] == {
        "source": "s.a",
        "target": "s.b",
        "confidence": 0.5,
        "at_least": pytest.approx(0.18, abs=0.03),
        "needed": 0.5,
        "followed": 0,
        "took": 2,
        "tasks": 2,
        "last_seen": graph.now.isoformat(),
        "fed": [{"path": "json.id", "parameter": "id", "times": 2}],
    }


def test_a_tool_that_was_not_analysed_yet_has_no_rank() -> None:
    graph = drawn(("a -> b", 1))

    told: Mapping[str, Any] = node_link(graph, analysis(drawn()))

    assert [(node["rank"], node["community"]) for node in told["nodes"]] == [(0.0, None)] * 2
    assert len(told["edges"]) == graph.size


EXPRESSIONS = JmespathExpressions()
FILES = ServerId.mint(BEGINNING, SeededEntropy("files"))
PLAN = read_plan(
    {
        "steps": [
            {"id": "list", "tool": "files.list"},
            {
                "id": "read",
                "tool": "files.read",
                "arguments": {"a": {"$from": "list.json.a"}, "b": {"$from": "list.json.b"}},
            },
            {"id": "log", "tool": "files.log", "after": ["read"]},
            {
                "id": "each",
                "tool": "files.each",
                "for_each": {"in": {"$from": "list.json.all"}},
                "when": "read.json",
            },
            {"id": "gone", "tool": "mail.send", "arguments": {"a": {"$from": "list.text"}}},
        ]
    },
    EXPRESSIONS,
)


def place(ref: ToolRef) -> ToolPlace | None:
    return ToolPlace(FILES, ref.name) if ref.server == "files" else None


def edge(earlier: str, later: str, kind: EdgeKind) -> ToolEdge:
    return ToolEdge(ToolPlace(FILES, earlier), ToolPlace(FILES, later), kind)


def test_every_edge_is_learnt_once_and_none_to_a_tool_that_is_gone() -> None:
    found = [*plan_edges(PLAN, {step.id for step in PLAN.steps}, place, EXPRESSIONS)]

    assert sorted(found, key=str) == sorted(
        [
            edge("list", "read", EdgeKind.FEEDS),
            edge("read", "log", EdgeKind.FOLLOWS),
            edge("list", "each", EdgeKind.FOLLOWS),
            edge("read", "each", EdgeKind.FOLLOWS),
        ],
        key=str,
    )


def test_a_step_that_was_left_out_teaches_nothing() -> None:
    found = [*plan_edges(PLAN, {"list", "read"}, place, EXPRESSIONS)]

    assert found == [edge("list", "read", EdgeKind.FEEDS)]


SERVER = a_server("files").id
EDGE = ToolEdge(ToolPlace(SERVER, "a"), ToolPlace(SERVER, "b"), EdgeKind.FOLLOWS)


def test_the_first_time_counts_as_a_task_the_second_as_a_time_and_more_not_at_all() -> None:
    bound = TaskBound()

    counted = [bound.counted("task", EDGE, BEGINNING) for _ in range(4)]

    assert counted == [Sightings(1, 1, BEGINNING), Sightings(1, 0, BEGINNING), None, None]


def test_each_task_and_each_edge_counts_for_itself() -> None:
    bound = TaskBound()
    other = replace(EDGE, kind=EdgeKind.FEEDS)

    for task, edge in (("one", EDGE), ("other", EDGE), ("one", other)):
        assert bound.counted(task, edge, BEGINNING) == Sightings(1, 1, BEGINNING)


def test_half_an_hour_later_it_counts_again_however_often_it_was_tried_meanwhile() -> None:
    bound = TaskBound()
    minutes = [timedelta(minutes=number) for number in range(62)]

    counted = [bound.counted("task", EDGE, BEGINNING + each) for each in minutes]

    assert [number for number, each in enumerate(counted) if each] == [0, 1, 31, 32]


def test_of_very_many_the_oldest_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tool_graph, "_MOST", 2)
    bound = TaskBound()

    for task in "aabbcc":
        bound.counted(task, EDGE, BEGINNING)

    assert bound.counted("b", EDGE, BEGINNING) is None
    assert bound.counted("a", EDGE, BEGINNING) == Sightings(1, 1, BEGINNING)
