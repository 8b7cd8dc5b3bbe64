"""Which schemas of strangers are let in, where they refer to, and which say nothing."""

from typing import Any

import pytest

from portico.gateway.core.errors import SchemaRefused
from portico.gateway.core.local_ref import is_local, target
from portico.gateway.core.schema_limits import (
    MOST_BYTES,
    MOST_NODES,
    MOST_PATTERNS,
    check_schema,
    check_size,
)
from portico.gateway.core.vague_schema import vague
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
