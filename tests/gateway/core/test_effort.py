"""A bound on a check's steps is known before the check."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portico.gateway.core.effort import BEYOND, Effort, cost
from portico.gateway.core.errors import SchemaRefused
from tests.gateway.core.hostile_schemas import ENDLESS, TREE, bomb, chain


def test_steps_are_counted_where_a_value_meets_them() -> None:
    rows: list[tuple[Any, int, int]] = [
        ({}, 0, 1),
        ({"type": "string"}, 5, 1),
        ({"enum": [1, 2, 3]}, 0, 4),
        ({"required": ["a", "b"]}, 0, 3),
        ({"allOf": [{}, {"anyOf": [{}, {}]}]}, 0, 5),
        ({"not": {}, "if": {}, "then": {}, "else": {}}, 0, 5),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"enum": [1]}}}, 0, 3),
        ({"$ref": "#/$defs/a", "$defs": {"a": True}}, 0, 1),
        ({"$ref": "https://example.com"}, 0, 1),
        ({"dependentSchemas": {"a": {}}, "dependencies": {"b": {}, "c": ["d"]}}, 0, 3),
        ({"items": {"enum": [1, 2]}}, 1, 3),
        ({"items": [{"enum": [1, 2]}, {}], "additionalItems": {"enum": [1]}}, 1, 3),
        ({"prefixItems": [{"enum": [1, 2]}], "contains": {}, "unevaluatedItems": {}}, 1, 5),
        ({"additionalProperties": {"enum": [1, 2]}}, 1, 3),
        ({"patternProperties": {"a": {}, "b": {}}, "propertyNames": {}}, 1, 3),
        ({"unevaluatedProperties": {"enum": [1]}}, 1, 2),
        ({"items": {"enum": [1]}, "patternProperties": {"a": {"enum": [1]}}}, 1, 2),
        ({"properties": {"a": {"enum": [1]}, "b": {"enum": [1, 2]}}}, 0, 3),
    ]

    for schema, depth, steps in rows:
        assert cost(schema, depth, 1) == steps


def test_the_bound_grows_with_the_number_of_values() -> None:
    assert cost({"items": {}}, 1, 1000) == 1000


def test_letters_count_where_there_are_patterns() -> None:
    with_two: Any = {"properties": {"a": {"pattern": "x"}}, "patternProperties": {"y": {}}}

    assert Effort(with_two).bound(1, 1, 100) - Effort(with_two).bound(1, 1) == 100
    assert Effort({"items": {}}).bound(1, 1, 100) == 1


def test_each_level_of_a_bomb_doubles_the_bound() -> None:
    for word in ("anyOf", "oneOf", "allOf"):
        small, large = cost(bomb(5, word), 1, 1), cost(bomb(15, word), 1, 1)

        assert large > 1_000 * small, word
        assert cost(bomb(200, word), 1, 1) == BEYOND


def test_a_schema_that_branches_into_itself_costs_more_the_deeper_a_value_is() -> None:
    effort = Effort(TREE)

    assert effort.bound(2, 1) < 50
    assert effort.bound(20, 1) > 1_000_000
    assert effort.bound(300, 1) == BEYOND


def test_a_schema_that_goes_into_the_value_as_often_as_it_comes_back_costs_no_more() -> None:
    json_value: Any = {
        "anyOf": [
            {"type": "string"},
            {"type": "array", "items": {"$ref": "#"}},
            {"type": "object", "additionalProperties": {"$ref": "#"}},
        ]
    }

    assert cost(json_value, 64, 1) == 5


def test_a_chain_of_references_is_as_long_as_it_is() -> None:
    assert Effort({}).nesting(0) == 1
    assert Effort(chain(10)).nesting(0) == 12
    assert Effort(chain(10)).nesting(3) == 48
    assert Effort({"properties": {"a": {"properties": {"b": {}}}}}).nesting(0) == 1


@pytest.mark.parametrize("schema", ENDLESS)
def test_what_would_be_followed_for_ever_is_refused(schema: Any) -> None:
    with pytest.raises(SchemaRefused, match="without end"):
        Effort(schema)


schemas: st.SearchStrategy[dict[str, Any]] = st.recursive(
    st.sampled_from([{}, {"type": "integer"}, {"enum": [1, 2]}]),
    lambda inner: st.one_of(
        st.fixed_dictionaries({"anyOf": st.lists(inner, min_size=1, max_size=3)}),
        st.fixed_dictionaries({"allOf": st.lists(inner, min_size=1, max_size=3)}),
        st.fixed_dictionaries({"items": inner, "contains": inner}),
        st.fixed_dictionaries({"properties": st.dictionaries(st.sampled_from("ab"), inner)}),
    ),
    max_leaves=8,
)
values: st.SearchStrategy[Any] = st.recursive(
    st.integers(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab"), inner),
    max_leaves=8,
)


def met(schema: dict[str, Any], value: Any) -> int:
    """Steps of a validator that skips nothing."""
    steps = 1 + sum(
        met(each, value) for word in ("anyOf", "allOf") for each in schema.get(word, [])
    )
    if isinstance(value, list):
        words = [schema[word] for word in ("items", "contains") if word in schema]
        return steps + sum(met(inner, item) for inner in words for item in value)
    if isinstance(value, dict):
        members = schema.get("properties", {})
        return steps + sum(met(members[key], value[key]) for key in value if key in members)
    return steps


def shape(value: Any) -> tuple[int, int]:
    inside = value if isinstance(value, list) else value.values() if isinstance(value, dict) else ()
    shapes = [shape(item) for item in inside]
    depth = 1 + max(depth for depth, _ in shapes) if shapes else 0
    return depth, 1 + sum(size for _, size in shapes)


@given(schemas, values)
def test_no_check_takes_more_steps_than_its_bound(schema: dict[str, Any], value: Any) -> None:
    assert met(schema, value) <= cost(schema, *shape(value))
