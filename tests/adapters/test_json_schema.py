"""Arguments are held against strangers' schemas, and strangers gain nothing by it."""

import socket
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from portico.adapters import json_schema as checking
from portico.adapters.json_schema import MOST_FLAWS, JsonSchemaCheck
from portico.gateway.core.errors import SchemaRefused
from portico.gateway.core.tool_schemas import Effort, check_schema
from portico.kernel.errors import FieldError
from portico.kernel.json import JsonObject
from tests.gateway.core.catalogues import recorded
from tests.gateway.core.hostile_schemas import (
    ELSEWHERE,
    ENDLESS,
    SLOW_PATTERNS,
    TREE,
    bomb,
    chain,
    nested,
    tree_value,
)

SECRET = "hunter2-" * 8
LOOKS_AHEAD = r"^(?!\.)(?!.*\.\.)[\w.+-]+@(?:[\w-]+\.)+[a-z]{2,}$"
"""As generators of schemas write it for an e-mail address."""


def flaws(schema: Any, arguments: Any) -> list[FieldError]:
    return list(JsonSchemaCheck().field_errors(schema, arguments))


def said(schema: Any, value: Any) -> list[tuple[str, str]]:
    """Of one parameter, called p."""
    found = flaws({"type": "object", "properties": {"p": schema}}, {"p": value})
    return [(flaw.field, flaw.message) for flaw in found]


def test_arguments_that_fit_have_no_flaws() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}

    assert flaws(schema, {"a": "x", "more": 1}) == []


@pytest.mark.parametrize(
    ("schema", "value", "message"),
    [
        ({"type": "string"}, 3, "must be string"),
        ({"type": ["string", "null"]}, 3, "must be null or string"),
        ({"enum": ["a", 2]}, SECRET, "must be one of a, 2"),
        ({"enum": list(range(12))}, SECRET, f"must be one of {', '.join('0123456789')}, 2 more"),
        ({"const": {"a": 1}}, SECRET, 'must be {"a": 1}'),
        ({"pattern": "^a$"}, SECRET, "must match ^a$"),
        ({"minLength": 99}, SECRET, "must have at least 99 characters"),
        ({"maxLength": 3}, SECRET, "must have at most 3 characters"),
        ({"minimum": 5}, 1, "must be at least 5"),
        ({"maximum": 5}, 9, "must be at most 5"),
        ({"exclusiveMinimum": 5}, 5, "must be more than 5"),
        ({"exclusiveMaximum": 5}, 5, "must be less than 5"),
        ({"multipleOf": 5}, 7, "must be a multiple of 5"),
        ({"minItems": 2}, [], "must have at least 2 items"),
        ({"maxItems": 0}, [1], "must have at most 0 items"),
        ({"minProperties": 2}, {}, "must have at least 2 members"),
        ({"maxProperties": 0}, {"a": 1}, "must have at most 0 members"),
        ({"uniqueItems": True}, [1, 1], "has the same item twice"),
        ({"contains": {"const": 1}}, [], "has no item of the kind that is asked for"),
        ({"not": {"type": "string"}}, SECRET, "is of a kind that is not allowed"),
        (False, SECRET, "must not be there"),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, SECRET, "must be integer or null"),
        ({"oneOf": [{"type": "integer"}, {"minLength": 99}]}, SECRET, "fits none of the 2 allowed"),
        ({"anyOf": [{"items": {"type": "string"}}, {"type": "null"}]}, [3], "fits none of the 2"),
        ({"oneOf": [{"type": "string"}, {"minLength": 1}]}, SECRET, "fits several of the allowed"),
        (
            {"propertyNames": {"maxLength": 2}},
            {SECRET: 1},
            "has a member whose name is not allowed",
        ),
        ({"items": False}, [SECRET], "must not be there"),
        ({"unevaluatedItems": False}, [SECRET], "does not fit what 'unevaluatedItems' asks for"),
    ],
)
def test_a_flaw_is_told_without_what_was_sent(schema: Any, value: Any, message: str) -> None:
    [(field, told)] = said(schema, value)

    assert field.startswith("p")
    assert told.startswith(message)
    assert "hunter2" not in told


def test_a_flaw_names_its_field() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"items": {"required": ["b"]}}, "c": {"type": "integer"}},
        "additionalProperties": False,
    }

    found = flaws(schema, {"a": [{}, {"b": 1}], "c": "x", "d": 1, "e": 2})

    assert {(flaw.field, flaw.message) for flaw in found} == {
        ("a.0.b", "is missing"),
        ("c", "must be integer"),
        ("d", "is not something that it takes"),
        ("e", "is not something that it takes"),
    }


def test_messages_and_fields_are_short() -> None:
    [(field, told)] = said({"additionalProperties": {"enum": ["y" * 500] * 9}}, {"x" * 500: 1})

    assert len(field) <= 120
    assert len(told) <= 160


def test_formats_are_not_asserted_and_unknown_drafts_are_the_newest() -> None:
    assert said({"format": "email"}, "no address") == []
    assert flaws({"$schema": "https://example.com/mine", "prefixItems": [{}]}, {}) == []
    assert flaws({"$schema": 3, "type": "object"}, {}) == []


@pytest.mark.parametrize(
    ("draft", "schema", "arguments"),
    [
        ("http://json-schema.org/draft-04/schema#", {"minimum": 1, "exclusiveMinimum": True}, 1),
        ("http://json-schema.org/draft-06/schema#", {"exclusiveMinimum": 1}, 1),
        ("http://json-schema.org/draft-07/schema#", {"items": [{"type": "string"}]}, [1]),
        ("https://json-schema.org/draft/2019-09/schema", {"items": [{"type": "string"}]}, [1]),
        (
            "https://json-schema.org/draft/2020-12/schema",
            {"prefixItems": [{"type": "string"}]},
            [1],
        ),
    ],
)
def test_a_schema_is_read_in_the_draft_it_names(draft: str, schema: Any, arguments: Any) -> None:
    assert len(flaws({"$schema": draft, "properties": {"a": schema}}, {"a": arguments})) == 1


@pytest.fixture
def listening() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        yield server


@pytest.mark.parametrize("word", ["$ref", "$dynamicRef", "$recursiveRef", "$schema", "$id"])
@pytest.mark.requirement("gateway:schemas:hostile")
def test_nothing_is_ever_fetched(word: str, listening: socket.socket) -> None:
    address = f"http://127.0.0.1:{listening.getsockname()[1]}/latest/meta-data"
    for schema in (
        {word: address, "type": "object"},
        {"properties": {"a": {word: address}}},
        {"$id": address, "$ref": "other"},
    ):
        with suppress(SchemaRefused):
            flaws(schema, {"a": 1})

    with pytest.raises(BlockingIOError):
        listening.accept()


@pytest.mark.parametrize("ref", ELSEWHERE)
def test_a_reference_to_elsewhere_is_refused(ref: str) -> None:
    with pytest.raises(SchemaRefused):
        flaws({"properties": {"a": {"$ref": ref}}}, {"a": "x"})


@pytest.mark.parametrize(
    "schema", [*ENDLESS, bomb(22), bomb(60, "oneOf"), nested(5_000), chain(3_000)]
)
@pytest.mark.requirement("gateway:schemas:hostile")
def test_a_bomb_is_refused_before_it_goes_off(schema: Any) -> None:
    with pytest.raises(SchemaRefused):
        flaws(schema, {"a": "x"})


def test_a_schema_that_branches_into_itself_is_refused_for_a_deep_value_only() -> None:
    assert flaws(TREE, tree_value(3)) == []
    with pytest.raises(SchemaRefused, match="too long to check"):
        flaws(TREE, tree_value(30))


def test_checks_inside_checks_are_bounded_so_that_no_stack_runs_over() -> None:
    links: dict[str, Any] = {f"d{n}": {"$ref": f"#/$defs/d{n + 1}"} for n in range(40)}
    again = {"a": {"properties": {"a": {"$ref": "#/$defs/d0"}}}, "d40": {"$ref": "#/$defs/a"}}
    schema = {"$ref": "#/$defs/a", "$defs": {**links, **again}}

    assert flaws(schema, tree_value(5)) == []
    with pytest.raises(SchemaRefused, match="too long to check"):
        flaws(schema, tree_value(50))


@pytest.mark.parametrize("pattern", SLOW_PATTERNS)
@pytest.mark.requirement("gateway:schemas:hostile")
def test_a_slow_pattern_is_fast_or_left_out(pattern: str) -> None:
    schema = {"properties": {"a": {"pattern": pattern}}}

    assert len(flaws(schema, {"a": "ab" * 50_000 + "!"})) <= 1


def test_more_letters_than_a_pattern_can_be_held_against_are_refused() -> None:
    schema = {"properties": {"a": {"pattern": "^x"}, "b": {"type": "string"}}}

    with pytest.raises(SchemaRefused, match="too long to check"):
        flaws(schema, {"b": "y" * 1_000_001})
    assert flaws({"properties": {"b": {"type": "string"}}}, {"b": "y" * 5_000_000}) == []


@pytest.mark.parametrize("pattern", [LOOKS_AHEAD, r"(a)\1", r"(?<=a)b", r"\p{L}{1,600}", "("])
def test_a_pattern_that_our_engine_does_not_take_is_left_to_the_server(pattern: str) -> None:
    schema = {
        "properties": {"a": {"pattern": pattern, "type": "string"}, "b": {"pattern": "^b$"}},
        "patternProperties": {pattern: {"type": "string"}, "^c": {"type": "integer"}},
        "additionalProperties": False,
    }

    found = flaws(schema, {"a": 3, "b": "x", "c": "x", "unknown": 1})

    assert {flaw.field for flaw in found} == {"a", "b", "c"}
    assert schema["properties"]["a"]["pattern"] == pattern  # type: ignore[index] # it has one


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "objekt"},
        {"properties": []},
        {"required": "a"},
        {"enum": 3},
        {"pattern": 3},
        {"additionalProperties": "yes"},
    ],
)
def test_what_is_no_schema_is_refused(schema: Any) -> None:
    with pytest.raises(SchemaRefused, match="is none"):
        flaws(schema, {})


@pytest.mark.parametrize(
    ("schema", "arguments"),
    [
        ({"multipleOf": 5e-324}, 1.7e308),
        ({"multipleOf": 7}, 10**4000),
        ({"uniqueItems": True}, [[0] * 100 + [number] for number in range(500)]),
        ({"items": {"enum": [{"a": number} for number in range(300)]}}, [{"a": -1}] * 300),
        (
            {"allOf": [{"properties": {f"{n}": {}}} for n in range(99)], "unevaluatedItems": False},
            {f"{number}": 1 for number in range(99)},
        ),
        ({"contains": {"const": 1}, "minContains": 10**9}, [0] * 10_000),
        ({"minLength": 10**18, "maxLength": 0}, "x"),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"items": {"$ref": "#/$defs/a"}}}}, [[[[]]]]),
    ],
)
@pytest.mark.requirement("gateway:schemas:hostile")
def test_other_heavy_words_are_borne(schema: Any, arguments: Any) -> None:
    inner = {"properties": {"a": schema}} if "$defs" not in schema else schema

    assert isinstance(flaws(inner, {"a": arguments}), list)


def test_arguments_that_are_too_deep_or_not_json_are_flaws() -> None:
    assert flaws({"type": "object"}, tree_value(70)) == [
        FieldError("", "is nested more than 64 levels deep")
    ]
    assert flaws({"type": "object"}, tree_value(60)) == []
    assert flaws({"properties": {"a": {"pattern": "x"}}}, {"a": "\ud800"}) == [
        FieldError("", "is not JSON")
    ]


def test_many_flaws_are_cut_and_too_many_are_one() -> None:
    schema = {"properties": {"a": {"items": {"type": "string"}}}}

    assert len(flaws(schema, {"a": [1] * 200})) == MOST_FLAWS
    assert flaws(schema, {"a": [1] * 20_000}) == [
        FieldError("", "does not fit, and is too long to say where")
    ]


def test_a_schema_is_compiled_once_and_the_least_used_is_forgotten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compiled: list[str] = []

    def noted(schema: JsonObject) -> Effort:
        compiled.append(str(schema["title"]))
        return check_schema(schema)

    monkeypatch.setattr(checking, "check_schema", noted)
    one, two, three = ({"type": "object", "title": title} for title in "abc")
    checked = JsonSchemaCheck(kept=2)

    for schema in (one, two, one, three, one, two):
        checked.field_errors(schema, {})

    assert compiled == ["a", "b", "c", "b"]


def test_every_real_tool_can_be_checked() -> None:
    checked = JsonSchemaCheck()
    for tool in recorded():
        found = checked.field_errors(tool.definition.input_schema, {})
        needed = tool.definition.input_schema.get("required", [])

        assert isinstance(needed, list)
        assert {flaw.field for flaw in found if flaw.message == "is missing"} == set(needed)
