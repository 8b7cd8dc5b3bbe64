"""Which schemas of strangers are let in."""

from typing import Any

import pytest

from portico.gateway.core.errors import SchemaRefused
from portico.gateway.core.schema_limits import (
    MOST_BYTES,
    MOST_NODES,
    MOST_PATTERNS,
    check_schema,
    check_size,
)
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


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"$id": "https://example.com/tool", "type": "object"},
        {"properties": {"$id": {"type": "string"}, "$ref": {"type": "string"}}},
        {"properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": True}},
        {"properties": {"children": {"items": {"$ref": "#"}}}},
        {"$ref": "#/$defs/a", "$defs": {"a": {"properties": {"b": {"$ref": "#/$defs/a"}}}}},
        {"items": "nonsense", "anyOf": 3, "properties": [], "patternProperties": 1},
        TREE,
        nested(31),
    ],
)
def test_what_is_only_unusual_is_let_in(schema: Any) -> None:
    check_schema(schema)


def test_anything_may_have_its_size_looked_at() -> None:
    check_size([1, "two", None, {"three": [3.5, True]}])
    with pytest.raises(SchemaRefused):
        check_size([[]] * MOST_NODES)
