"""Edges that were accepted are references from then on, and nothing goes in circles for it."""

from graphlib import CycleError, TopologicalSorter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portico.adapters.jmespath.expressions import JmespathExpressions
from portico.gateway.core.accept_edges import with_edges
from portico.gateway.core.plan.faults import BadPlan
from portico.gateway.core.plan.graph import graph_of
from portico.gateway.core.plan.plan import Plan, Reference
from portico.gateway.core.plan.reading import read_plan
from portico.kernel.json import JsonObject

JMESPATH = JmespathExpressions()


def plan(*steps: JsonObject) -> Plan:
    return read_plan({"steps": list(steps)}, JMESPATH)


PLAIN = plan(
    {"id": "read", "tool": "s.a", "arguments": {"path": "/x"}},
    {"id": "write", "tool": "s.b", "arguments": {"mode": "new"}},
)


def test_an_accepted_edge_is_a_reference() -> None:
    accepted = with_edges(PLAIN, ['read.json.items[0]."x-id" -> write.path'], JMESPATH)

    assert accepted.step("write").arguments == {
        "mode": "new",
        "path": Reference("read", 'json.items[0]."x-id"'),
    }
    assert graph_of(accepted, JMESPATH).order == ("read", "write")


def test_without_any_a_plan_stays_what_it_is() -> None:
    assert with_edges(PLAIN, [], JMESPATH) is PLAIN


@pytest.mark.parametrize(
    ("edges", "place", "words"),
    [
        (["read.json -> write.path", "write.json -> read.to"], "/steps/0", "wait for one another"),
        (["write.json -> read.to"] * 2, "/accept/1", "has a value for 'to' already"),
        (["read.json -> write.mode"], "/accept/0", "has a value for 'mode' already"),
        (["read.json -> wrote.path"], "/accept/0", "no step 'wrote'"),
        (["reed.json -> write.path"], "/steps/1/arguments/path/$from", "reed"),
        (["read.json.[ -> write.path"], "/steps/1/arguments/path/$from", "expression is wrong"),
        (["read.json"], "/accept/0", "is not an edge"),
        (["read.json -> write"], "/accept/0", "is not an edge"),
        ([" -> write.path"], "/accept/0", "not a step's id"),
    ],
)
def test_an_edge_that_cannot_be_is_refused_with_its_place(
    edges: list[str], place: str, words: str
) -> None:
    with pytest.raises(BadPlan) as caught:
        with_edges(PLAIN, edges, JMESPATH)

    [fault] = caught.value.faults
    assert fault.place.startswith(place)
    assert words in fault.what


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=8, unique=True))
def test_whatever_is_accepted_ends_or_is_refused(pairs: list[tuple[int, int]]) -> None:
    bare = plan(*({"id": f"s{number}", "tool": "s.a"} for number in range(6)))
    edges = [f"s{one}.json.x -> s{other}.p{one}" for one, other in pairs]

    if _in_circles(pairs):
        with pytest.raises(BadPlan):
            with_edges(bare, edges, JMESPATH)
        return
    order = graph_of(with_edges(bare, edges, JMESPATH), JMESPATH).order

    assert len(order) == 6
    assert all(order.index(f"s{one}") < order.index(f"s{other}") for one, other in pairs)


def _in_circles(pairs: list[tuple[int, int]]) -> bool:
    sorter: TopologicalSorter[int] = TopologicalSorter()
    for one, other in pairs:
        sorter.add(other, one)
    try:
        sorter.prepare()
    except CycleError:
        return True
    return False
