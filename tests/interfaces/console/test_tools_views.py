"""What is drawn of tools, from what is known of them."""

import json
from datetime import timedelta

import pytest

from portico.gateway.core.calls import Called, CallId, ToolResult
from portico.gateway.core.catalog_snapshot import ToolRef
from portico.gateway.core.search import MatchedWord, Why
from portico.interfaces.console.forms import Form, InvalidForm
from portico.interfaces.console.screens.schema_form import (
    MOST_ROWS,
    Input,
    arguments,
    fields,
    raw_arguments,
    schema_rows,
    typed,
)
from portico.interfaces.console.screens.tool_view import Matched, reasons, result, tool_href
from portico.kernel.json import JsonObject, JsonValue
from tests.interfaces.console.shop import HOSTILE


def of(schema: JsonObject, **more: JsonValue) -> JsonObject:
    return {"type": "object", "properties": {"it": schema}, **more}


@pytest.mark.parametrize(
    ("schema", "kind", "written", "value"),
    [
        ({"type": "string"}, Input.LINE, "a b", "a b"),
        ({"type": "string", "maxLength": 5000}, Input.TEXT, "a\nb", "a\nb"),
        ({"type": "integer"}, Input.WHOLE, "-7", -7),
        ({"type": "number"}, Input.NUMBER, "0.5", 0.5),
        ({"type": "number"}, Input.NUMBER, "3", 3),
        ({"type": "boolean"}, Input.TRUTH, "false", False),
        ({"enum": ["a", 1]}, Input.CHOICE, "1", 1),
        ({"const": "only"}, Input.CHOICE, '"only"', "only"),
        ({"type": "array", "items": {"type": "integer"}}, Input.LIST, "1\n\n 2", [1, 2]),
        ({"type": "array", "items": {"type": "object"}}, Input.JSON, '[{"a": 1}]', [{"a": 1}]),
        ({"type": "array"}, Input.JSON, "[1]", [1]),
        ({"type": "object"}, Input.JSON, '{"a": 1}', {"a": 1}),
        ({}, Input.JSON, '"x"', "x"),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, Input.WHOLE, "7", 7),
        ({"type": ["string", "null"]}, Input.LINE, "x", "x"),
        ({"$ref": "#/$defs/age"}, Input.WHOLE, "7", 7),
        ({"anyOf": [{"type": "integer"}, {"type": "string"}]}, Input.JSON, "7", 7),
    ],
)
def test_each_kind_has_a_field_and_is_read_from_it(
    schema: JsonObject, kind: Input, written: str, value: JsonValue
) -> None:
    known = fields(of(schema, **{"$defs": {"age": {"type": "integer"}}}))
    assert known is not None
    [field] = known

    [filled] = typed(Form({"arg.it": [written]}), known)

    assert field.input is kind
    assert arguments([filled]) == {"it": value}


@pytest.mark.parametrize(
    ("schema", "written"),
    [
        ({"type": "integer"}, "1.5"),
        ({"type": "integer"}, "x"),
        ({"type": "number"}, "nan"),
        ({"type": "number"}, "inf"),
        ({"type": "boolean"}, "yes"),
        ({"enum": ["a"]}, '"b"'),
        ({"type": "object"}, "{"),
        ({"type": "array", "items": {"type": "integer"}}, "1\nx"),
    ],
)
def test_what_is_none_is_refused_by_the_name_of_its_field(schema: JsonObject, written: str) -> None:
    known = fields(of(schema))
    assert known is not None

    with pytest.raises(InvalidForm, match="it: "):
        arguments(typed(Form({"arg.it": [written]}), known))


def test_what_is_left_empty_is_left_out() -> None:
    known = fields(of({"type": "string"}, required=["it"]))
    assert known is not None

    assert known[0].required
    assert arguments(typed(Form({"arg.it": ["  "]}), known)) == {}


@pytest.mark.parametrize("value", ["a", 7, 0.5, True, ["a", "b"], {"a": [1]}, None], ids=json.dumps)
def test_what_was_called_with_can_be_filled_in_again(value: JsonValue) -> None:
    kinds = {str: "string", int: "integer", float: "number", bool: "boolean", dict: "object"}
    kind: JsonObject = {"type": kinds.get(type(value), "object")}
    if isinstance(value, list):
        kind = {"type": "array", "items": {"type": "string"}}

    known = fields(of(kind), {"it": value})

    assert arguments(known or ()) == {"it": value}


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "object"},
        {"properties": {str(n): {} for n in range(100)}},
        {"$ref": "https://elsewhere.example/schema"},
    ],
)
def test_of_what_cannot_be_a_form_there_is_none(schema: JsonObject) -> None:
    assert fields(schema) is None


def test_raw_arguments_are_an_object() -> None:
    assert raw_arguments(None) == {}
    assert raw_arguments('{"a": 1}') == {"a": 1}
    for text in ("[]", "1", "{", "[" * 100_000):
        with pytest.raises(InvalidForm):
            raw_arguments(text)


def test_a_schema_is_a_table_of_its_places() -> None:
    schema: JsonObject = {
        "properties": {
            "who": {"type": "object", "properties": {"name": {"type": "string"}}},
            "lines": {"type": "array", "items": {"properties": {"sku": {"enum": ["a", "b"]}}}},
        },
        "required": ["who"],
    }

    rows = schema_rows(schema)

    assert [(row.path, row.kind, row.required) for row in rows] == [
        ("who", "object", True),
        ("who.name", "string", False),
        ("lines", "list of any", False),
        ("lines[].sku", '"a" | "b"', False),
    ]


def test_a_schema_that_holds_itself_ends() -> None:
    schema: JsonObject = {"properties": {f"a{n}": {"$ref": "#"} for n in range(9)}}

    assert len(schema_rows(schema)) == MOST_ROWS


def test_reasons_are_read_as_search_tells_them() -> None:
    why = Why((MatchedWord("post", ("name", "server")),), 0.624, 0.4, "post it")

    assert reasons(str(why)) == ([Matched("post", "name, server")], 0.62)
    assert reasons("nothing in common") == ([], None)


@pytest.mark.parametrize("name", ["a", "a/b", "a b", "../x", "ä", "?x#y", "%2F"])
def test_the_address_of_a_tool_is_one_segment(name: str) -> None:
    assert tool_href(ToolRef("s", name)).count("/") == 2
    assert not set("?# ") & set(tool_href(ToolRef("s", name)))


@pytest.mark.parametrize(
    ("block", "text", "note"),
    [
        ({"type": "text", "text": "plain"}, "plain", ""),
        ({"type": "text", "text": '{"a":1}'}, '{\n  "a": 1\n}', ""),
        ({"type": "text", "text": "{no"}, "{no", ""),
        (
            {"type": "image", "mimeType": "image/png", "data": "AAAA"},
            "",
            "image, image/png, 3 bytes",
        ),
        ({"type": "resource", "resource": {"text": HOSTILE}}, HOSTILE, ""),
    ],
)
def test_a_result_is_shown_as_text(block: JsonObject, text: str, note: str) -> None:
    found = result(Called(ToolResult([block]), CallId.of_digest(b"x")), timedelta(seconds=1))

    assert [(each.text, each.note) for each in found.blocks] == [(text, note)]
