"""What describes a plan to editors and what reads one agree."""

import json
from pathlib import Path

import jsonschema_rs
from hypothesis import given

from portico.gateway.core.plan.reading import read_plan
from portico.gateway.core.plan.schema import plan_schema
from portico.gateway.core.plan.writing import plan_document
from portico.kernel.json import JsonObject, JsonValue
from tests.gateway.core.plan.naive import EXPRESSIONS
from tests.gateway.core.plan.plans import plan_documents

VALIDATOR = jsonschema_rs.Draft202012Validator(dict(plan_schema()))


@given(plan_documents())
def test_whatever_is_read_fits_the_schema(document: JsonObject) -> None:
    assert VALIDATOR.is_valid(document)
    assert VALIDATOR.is_valid(plan_document(read_plan(document, EXPRESSIONS)))


STEP: JsonObject = {"id": "a", "tool": "t.a"}


def test_what_has_the_wrong_form_does_not_fit() -> None:
    rows: list[JsonValue] = [
        [],
        {},
        {"steps": []},
        {"steps": [STEP], "stepz": 1},
        {"steps": [STEP], "name": "a b"},
        {"steps": [STEP], "inputs": {"a b": {}}},
        {"steps": [STEP], "inputs": {"a": 1}},
        {"steps": [{"id": "a"}]},
        {"steps": [{**STEP, "id": "1"}]},
        {"steps": [{**STEP, "tool": "a"}]},
        {"steps": [{**STEP, "on_error": "skp"}]},
        {"steps": [{**STEP, "on_error": {}}]},
        {"steps": [{**STEP, "timeout": 0}]},
        {"steps": [{**STEP, "tries": 11}]},
        {"steps": [{**STEP, "when": ""}]},
        {"steps": [{**STEP, "for_each": {}}]},
        {"steps": [{**STEP, "for_each": {"in": [], "at_once": 0}}]},
        {"steps": [{**STEP, "arguments": {"x": {"$frm": "a"}}}]},
        {"steps": [{**STEP, "arguments": {"x": {"$from": "a", "x": 1}}}]},
        {"steps": [{**STEP, "arguments": {"x": [{"$text": 1}]}}]},
    ]

    for document in rows:
        assert not VALIDATOR.is_valid(document)


def test_the_file_for_editors_is_this_schema() -> None:
    shipped = Path("docs/reference/plan.schema.json")

    assert json.loads(shipped.read_text("utf-8")) == plan_schema()
