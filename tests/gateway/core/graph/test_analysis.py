"""What is computed over the whole of a graph."""

from collections.abc import Mapping
from typing import Any

import pytest

from portico.adapters.graph.rust_math import RustGraphMath
from portico.gateway.core.graph.analysis import Analysis, analysed
from portico.gateway.core.graph.figures import graph_figures
from portico.gateway.core.graph.known_graph import KnownGraph
from portico.gateway.core.graph.node_link import node_link
from portico.gateway.core.graph.path import Fed
from tests.gateway.core.graph.drawn import drawn, ref

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
