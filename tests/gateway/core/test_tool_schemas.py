"""Which schemas of strangers are let in, where they refer to, and which say nothing."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portico.gateway.core.errors import SchemaRefused
from portico.gateway.core.inferred_schema import vague
from portico.gateway.core.tool_schemas import (
    BEYOND,
    MOST_BYTES,
    MOST_NODES,
    MOST_PATTERNS,
    Effort,
    check_schema,
    check_size,
    cost,
    is_local,
    target,
)
from portico.kernel.json import JsonObject, JsonValue
from tests.gateway.core.catalogues import recorded
from tests.gateway.core.hostile_schemas import (
    ELSEWHERE,
    ENDLESS,
    TREE,
    bomb,
    chain,
    nested,
)


def test_every_schema_of_every_real_tool_is_let_in_and_costs_little() -> None:
    for tool in recorded():
        for word in ("inputSchema", "outputSchema"):
            if word in tool.raw:
                assert check_schema(tool.raw[word]).bound(12, 1) < 200


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        (bomb(22), "branches so often"),
        (bomb(24, "allOf"), "branches so often"),
        (bomb(8, "oneOf", branches=20), "branches so often"),
        (chain(3_000), "chain of more than 64 references"),
        (nested(5_000), "nested more than 64"),
        (nested(33), "nested more than 64"),
        ({"enum": ["x" * MOST_BYTES]}, "longer than 256 KiB"),
        ({"enum": list(range(MOST_NODES))}, "more than 10,000 parts"),
        ({"pattern": "x" * 1_001}, "pattern longer than"),
        ({"patternProperties": {"x" * 1_001: {}}}, "pattern longer than"),
        ({"patternProperties": {f"{n}": {} for n in range(MOST_PATTERNS + 1)}}, "more than 200"),
        ({"properties": {"a": {"$dynamicRef": "#a"}}}, "depend on where"),
        ({"properties": {"a": {"$recursiveRef": "#"}}}, "depend on where"),
        (
            {"properties": {"a": {"$id": "https://example.com/", "$ref": "#/x"}}},
            "address of its own",
        ),
        ({"$defs": {"a": {"$id": "a"}}}, "address of its own"),
        ({"$ref": "#/$defs/none"}, "which is not there"),
        ({"$ref": "#/title", "title": "text"}, "which is not there"),
        ({"$ref": 3}, "refers outside"),
        ({"title": "\ud800"}, "is not JSON"),
        ({"maximum": float("nan")}, "is not JSON"),
        *((each, "without end") for each in ENDLESS),
    ],
)
@pytest.mark.requirement("gateway:schemas:hostile")
def test_a_hostile_schema_is_refused_and_says_why(schema: Any, reason: str) -> None:
    with pytest.raises(SchemaRefused, match=reason):
        check_schema(schema)


@pytest.mark.parametrize("ref", ELSEWHERE)
@pytest.mark.parametrize(
    "around",
    [
        lambda ref: {"$ref": ref},
        lambda ref: {"properties": {"a": {"items": {"$ref": ref}}}},
        lambda ref: {"$defs": {"unused": {"$ref": ref}}},
        lambda ref: {"$ref": "#/hidden/place", "hidden": {"place": {"not": {"$ref": ref}}}},
    ],
)
@pytest.mark.requirement("gateway:schemas:hostile")
def test_no_reference_leads_outside(ref: str, around: Any) -> None:
    with pytest.raises(SchemaRefused, match="refers outside itself"):
        check_schema(around(ref))


def test_draft_04_calls_an_address_id() -> None:
    old = {"$schema": "http://json-schema.org/draft-04/schema#"}

    check_schema({"properties": {"a": {"id": "just a word"}}})
    with pytest.raises(SchemaRefused, match="address of its own"):
        check_schema({**old, "properties": {"a": {"id": "https://example.com"}}})


def test_what_is_only_unusual_is_let_in() -> None:
    rows: list[Any] = [
        {},
        {"$id": "https://example.com/tool", "type": "object"},
        {"properties": {"$id": {"type": "string"}, "$ref": {"type": "string"}}},
        {"properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": True}},
        {"properties": {"children": {"items": {"$ref": "#"}}}},
        {"$ref": "#/$defs/a", "$defs": {"a": {"properties": {"b": {"$ref": "#/$defs/a"}}}}},
        {"items": "nonsense", "anyOf": 3, "properties": [], "patternProperties": 1},
        TREE,
        nested(31),
    ]

    for schema in rows:
        check_schema(schema)


def test_anything_may_have_its_size_looked_at() -> None:
    check_size([1, "two", None, {"three": [3.5, True]}])
    with pytest.raises(SchemaRefused):
        check_size([[]] * MOST_NODES)


ROOT: JsonObject = {
    "$defs": {"a/b": {"type": "string"}, "c~d": 1, "e f": 2, "": 3},
    "allOf": [{"x": 1}, True],
    "title": "text",
}


def test_a_pointer_is_followed() -> None:
    rows: list[tuple[str, JsonValue]] = [
        ("#", ROOT),
        ("#/$defs/a~1b", {"type": "string"}),
        ("#/$defs/c~0d", 1),
        ("#/$defs/e%20f", 2),
        ("#/$defs/", 3),
        ("#/allOf/0/x", 1),
        ("#/allOf/1", True),
        ("#/allOf/2", None),
        ("#/allOf/-1", None),
        ("#/allOf/x", None),
        ("#/nowhere/at/all", None),
        ("#/title/0", None),
    ]

    for ref, found in rows:
        assert target(ROOT, ref) == found


def test_only_what_begins_at_the_root_is_local() -> None:
    rows: list[tuple[JsonValue, bool]] = [
        ("#", True),
        ("#/a", True),
        ("#name", False),
        ("", False),
        ("other.json#/a", False),
        ("https://example.com/", False),
        ("file:///etc/passwd", False),
        (3, False),
        (None, False),
    ]

    for ref, local in rows:
        assert is_local(ref) is local


_TEXT: JsonObject = {"type": "string"}


def test_a_schema_without_a_single_value_says_nothing() -> None:
    rows: list[JsonValue] = [
        {},
        {"type": "object"},
        {"type": "array"},
        {"type": "array", "items": {"type": "object"}},
        {"type": "object", "properties": {"result": {"type": "array", "items": {}}}},
        {"type": "object", "additionalProperties": {"type": "object"}},
        {"type": "object", "additionalProperties": True},
        {"anyOf": [{"type": "object"}, {"type": "array"}]},
        None,
    ]

    for schema in rows:
        assert vague(schema)


def test_one_that_describes_a_value_says_what_is_in_it() -> None:
    rows: list[JsonValue] = [
        _TEXT,
        {"enum": ["a"]},
        {"const": 1},
        {"$ref": "#/$defs/x"},
        {"type": ["string", "null"]},
        {"type": "array", "items": _TEXT},
        {"type": "object", "properties": {"a": {"type": "object"}, "b": _TEXT}},
        {"type": "object", "additionalProperties": _TEXT},
        {"oneOf": [{"type": "object"}, _TEXT]},
        {"allOf": [_TEXT]},
    ]

    for schema in rows:
        assert not vague(schema)


def test_what_is_nested_without_end_says_nothing() -> None:
    schema: JsonObject = _TEXT
    for _ in range(8):
        schema = {"type": "array", "items": schema}

    assert vague(schema)


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
