"""The steps of a plan, as edges are proposed between them."""

from dataclasses import replace
from functools import reduce
from graphlib import CycleError, TopologicalSorter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portico.adapters.jmespath.expressions import JmespathExpressions
from portico.gateway.core.catalog_snapshot import ToolRef
from portico.gateway.core.inferred_schema import SeenShape, merged, shape_of
from portico.kernel.json import JsonObject, JsonValue
from portico.learning.core.dataflow.shape import OutputField, StepShape
from portico.learning.core.dataflow.step_shapes import KnownTool, step_shapes
from portico.workflows.core.plan import BadPlan, Plan, Reference, graph_of
from portico.workflows.core.plan_documents import read_plan, with_edges
from tests.gateway.core.tools import a_tool

JMESPATH = JmespathExpressions()
SCHEMA: JsonObject = {
    "type": "object",
    "properties": {
        "needed": {"type": "string"},
        "left_out": {"type": "string"},
        "kind": {"enum": ["a", "b"]},
        "limit": {"type": "integer", "default": 10},
        "said": {"type": "string"},
    },
    "required": ["needed", "said"],
}
BARE = a_tool("t", "Does it.", inputSchema=SCHEMA)


def seen(*results: JsonValue) -> KnownTool:
    shape = reduce(merged, map(shape_of, results))
    return KnownTool(BARE, SeenShape("p", len(results), shape))


def shapes(tool: KnownTool, *steps: JsonObject) -> list[StepShape]:
    plan = read_plan({"steps": list(steps)}, JMESPATH)
    return [*step_shapes(plan, graph_of(plan, JMESPATH), {ToolRef("s", "t"): tool})]


ONE: JsonObject = {"id": "one", "tool": "s.t", "arguments": {"said": "x"}}


def outputs(tool: KnownTool, **more: JsonValue) -> list[tuple[str, str | None]]:
    [shape] = shapes(tool, {**ONE, **more})
    return [(field.path, field.type) for field in shape.outputs]


def test_wanted_is_what_has_to_be_said_and_what_is_plainly_left_out() -> None:
    [shape] = shapes(KnownTool(BARE), ONE)

    assert [parameter.name for parameter in shape.wanted] == ["needed", "left_out"]
    assert shape.given == {"said"}
    assert (shape.step, shape.tool, shape.description) == ("one", "s.t", "Does it.")


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        (KnownTool(BARE), [("text", "string")]),
        (seen("a", "b"), [("text", "string")]),
        (seen(1, 2), [("json", "integer")]),
        (seen([1], [2]), [("json[0]", "integer")]),
        (seen([], []), [("json", "array")]),
        (seen({"a b": 1}, {}), []),
        (seen({"id": 1}, {"id": 2}), [("json.id", "integer")]),
        (seen([{"x-id": "a"}], [{"x-id": "b"}]), [('json[0]."x-id"', "string")]),
    ],
)
def test_what_a_step_gives_is_what_was_seen(
    tool: KnownTool, given: list[tuple[str, str | None]]
) -> None:
    assert outputs(tool) == given


def test_what_its_server_says_comes_first() -> None:
    says: JsonObject = {"type": "object", "properties": {"said": {"type": "string"}}}
    tool = replace(seen({"id": 1}, {"id": 2}), definition=replace(BARE, output_schema=says))

    assert outputs(tool) == [("json.said", "string")]


def test_of_a_step_done_for_each_it_is_a_list_of_all() -> None:
    each: JsonObject = {"in": [1]}

    assert outputs(seen({"id": 1}, {"id": 2}), for_each=each) == [("items[].json.id", "array")]
    assert outputs(KnownTool(BARE), for_each=each) == [("items[].text", "array")]


def test_steps_are_in_an_order_that_the_plan_allows_and_a_stand_in_gives_nothing() -> None:
    later: JsonObject = {**ONE, "id": "later", "after": ["one"]}
    stand_in: JsonObject = {**ONE, "id": "instead"}
    with_stand_in: JsonObject = {**ONE, "on_error": {"fallback": "instead"}}

    found = shapes(KnownTool(BARE), later, stand_in, with_stand_in)

    assert [shape.step for shape in found].index("one") < [shape.step for shape in found].index(
        "later"
    )
    assert {shape.step: bool(shape.outputs) for shape in found} == {
        "one": True,
        "instead": False,
        "later": True,
    }


def test_of_a_long_plan_each_step_has_fewer_fields() -> None:
    wide = {f"{a}{b}": 1 for a in "abcdefgh" for b in "abcdefg"}
    tool = seen(wide, wide)

    few = shapes(tool, ONE)
    many = shapes(tool, *({**ONE, "id": f"s{n}"} for n in range(500)))

    assert len(few[0].outputs) == 56
    assert {len(shape.outputs) for shape in many} == {8}
    assert OutputField(path="json.aa", type="integer") in many[0].outputs


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
def test_an_edge_that_cannot_be_is_refused(edges: list[str], place: str, words: str) -> None:
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
