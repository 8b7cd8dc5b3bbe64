"""Plans in files: what is written is read as the same, and faults have a line and a column."""

import json
import tomllib
from pathlib import Path

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from portico.kernel.json import JsonObject, JsonValue, pointed
from portico.workflows.core.plan import InvalidPlan, Plan, PlanDiagnostic
from portico.workflows.core.plan_documents import plan_document, plan_schema, read_plan
from portico.workflows.core.plan_files import (
    PlanFormat,
    json_places,
    placed,
    plan_text,
    read_plan_text,
    toml_places,
)
from tests.workflows.core.naive import EXPRESSIONS
from tests.workflows.core.plans import plan_documents

BOTH = pytest.mark.parametrize("form", PlanFormat)

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)


def faults(text: str, form: PlanFormat = PlanFormat.JSON) -> tuple[PlanDiagnostic, ...]:
    with pytest.raises(InvalidPlan) as refused:
        read_plan_text(text, form, EXPRESSIONS)
    return refused.value.diagnostics


@BOTH
@given(document=plan_documents())
def test_a_plan_goes_through_a_file(form: PlanFormat, document: JsonObject) -> None:
    plan = read_plan(document, EXPRESSIONS)

    assert read_plan_text(plan_text(plan, form), form, EXPRESSIONS) == plan


@BOTH
@given(value=JSON, default=JSON, name=TEXTS)
def test_any_value_goes_through_a_file(
    form: PlanFormat, value: JsonValue, default: JsonValue, name: str
) -> None:
    plan = read_plan(
        {
            "description": name,
            "inputs": {"x": {"enum": [value, name], "default": default}},
            "steps": [
                {
                    "id": "a",
                    "tool": "t.a",
                    "arguments": {
                        name: {"$literal": value},
                        f"{name}2": {"$from": "inputs.x", "default": {"$literal": default}},
                        "text": {"$text": name.replace("${", "")},
                    },
                },
            ],
            "output": [{"$literal": default}, None],
        },
        EXPRESSIONS,
    )

    assert read_plan_text(plan_text(plan, form), form, EXPRESSIONS) == plan


TOML = """\
# A plan
name = "digest"
description = '''
Reads, and "sends".'''
required = ["who"]   # of these

[inputs]
who = { type = "string" }

[[steps]]
id = "read"
tool = "files.read"

[steps.arguments]
path = { "$from" = "inputs.who" }
"odd key" = [1, 2.5, { deep = { x = true } }]

[[steps]]
id = "send"
tool = "mail.send"
when = "read.json.ok"
arguments.text = { "$text" = "Dear ${read.text}" }
arguments.cc = { "$json" = "null" }
"""


def test_toml_is_read_as_json_is() -> None:
    plan = read_plan_text(TOML, PlanFormat.TOML, EXPRESSIONS)

    again = read_plan_text(plan_text(plan, PlanFormat.JSON), PlanFormat.JSON, EXPRESSIONS)
    assert again == plan
    assert plan.step("send").arguments["cc"] is None


def test_a_plan_in_toml_is_laid_out_to_be_read() -> None:
    plan = read_plan_text(TOML, PlanFormat.TOML, EXPRESSIONS)

    assert (
        plan_text(plan, PlanFormat.TOML)
        == """\
name = "digest"
description = 'Reads, and "sends".'
required = ["who"]

[inputs]
who = { type = "string" }

[[steps]]
id = "read"
tool = "files.read"

[steps.arguments]
path = { "$from" = "inputs.who" }
"odd key" = [1, 2.5, { deep = { x = true } }]

[[steps]]
id = "send"
tool = "mail.send"
when = "read.json.ok"

[steps.arguments]
text = { "$text" = "Dear ${read.text}" }
cc = { "$json" = "null" }
"""
    )


def test_what_says_nothing_is_not_written() -> None:
    plan = read_plan({"steps": [{"id": "a", "tool": "t.a"}]}, EXPRESSIONS)

    assert plan_text(plan, PlanFormat.TOML) == '[[steps]]\nid = "a"\ntool = "t.a"\n'


def test_what_toml_cannot_say_is_said_in_json() -> None:
    given: JsonObject = {"x": {"$literal": {"$from": None}}, "y": {}}
    plan = read_plan(
        {
            "inputs": {"i": {"enum": [None]}},
            "steps": [{"id": "a", "tool": "t.a", "arguments": given}],
        },
        EXPRESSIONS,
    )

    text = plan_text(plan, PlanFormat.TOML)

    assert """i = { "$json" = '{"enum": [null]}' }""" in text
    assert """x = { "$json" = '{"$from": null}' }""" in text
    assert "y = {}" in text


def test_a_fault_in_toml_has_its_line() -> None:
    rows: list[tuple[str, str, str, int, int]] = [
        ('id = "read"', 'id = "1"', "/steps/0/id", 11, 1),
        ('tool = "files.read"', "", "/steps/0", 10, 1),
        ("inputs.who", "inputs.whom", "/steps/0/arguments/path/$from", 15, 10),
        ("x = true", "x = 2026-01-01", "/steps/0/arguments/odd key/2/deep/x", 16, 33),
        ("read.json.ok", "reed.json.ok", "/steps/1/when", 21, 1),
        ("${read.text}", "${read.txt}", "/steps/1/arguments/text/$text", 22, 20),
        ('["who"]   # of', '["whom"] # of', "/required/0", 5, 13),
        ('who = { type = "string" }', "who = 1", "/inputs/who", 8, 1),
    ]

    for old, new, place, line, column in rows:
        found = faults(TOML.replace(old, new), PlanFormat.TOML)

        assert (found[0].place, found[0].line, found[0].column) == (place, line, column)


PLAN = """\
{
  "name": "x",
  "steps": [
    {"id": "a", "tool": "t.a", "arguments": {"q\\"": [1, {"$from": "b.text"}]}},
    {"id": "c",
     "tool": "t"}
  ]
}
"""


def test_a_fault_in_json_has_its_line_and_they_come_in_order() -> None:
    found = faults(PLAN)

    assert [(fault.place, fault.line, fault.column) for fault in found] == [
        ('/steps/0/arguments/q"/1/$from', 4, 58),
        ("/steps/1/tool", 6, 6),
    ]
    assert str(found[1]).startswith("line 6, column 6 (/steps/1/tool): It must be of the form")


def test_what_cannot_be_parsed_says_where() -> None:
    assert (faults("{\n  x}")[0].line, faults("{\n  x}")[0].column) == (2, 3)
    [fault] = faults("a = 1\nb = ", PlanFormat.TOML)
    assert "It is not TOML: Invalid value" in fault.what
    [place] = faults("a = 1\nb == 2", PlanFormat.TOML)
    assert (place.line, place.column) == (2, 4)
    assert "It is not TOML" in faults("a = 1\na = 2", PlanFormat.TOML)[0].what


def test_what_is_there_twice_in_json_is_not_chosen_silently() -> None:
    [fault] = faults('{"steps": [{"id": "a",\n "id": "b", "tool": "t.a"}]}')

    assert (fault.place, fault.what, fault.line) == ("/steps/0/id", "It is there twice.", 2)


def test_what_is_too_long_too_deep_or_too_large_is_refused() -> None:
    assert "4,000,000" in faults(" " * 4_000_001)[0].what
    assert "nested too deep" in faults("[" * 200_000)[0].what
    assert "nested too deep" in faults("a = " + "[" * 5_000, PlanFormat.TOML)[0].what
    assert "cannot be read" in faults('{"steps": ' + "9" * 5_000 + "}")[0].what


def test_a_mark_at_the_beginning_is_no_fault() -> None:
    text = '\ufeff{"steps": [{"id": "a", "tool": "t.a"}]}'

    assert read_plan_text(text, PlanFormat.JSON, EXPRESSIONS).steps[0].id == "a"


def test_a_fault_of_something_else_is_shown_where_that_would_be() -> None:
    [fault] = placed([PlanDiagnostic("/steps/0/arguments", "x")], "[[steps]]\n", PlanFormat.TOML)

    assert (fault.line, fault.column) == (1, 1)


def pointers(value: JsonValue, pointer: str = "") -> list[str]:
    found = [pointer]
    if isinstance(value, dict):
        for key, inner in value.items():
            found += pointers(inner, pointed(pointer, key))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            found += pointers(inner, f"{pointer}/{number}")
    return found


@given(JSON, st.sampled_from([None, 1]))
def test_every_value_of_a_json_text_has_its_place(value: JsonValue, indent: int | None) -> None:
    text = json.dumps(value, indent=indent)

    places = json_places(text)

    assert set(places.starts) == set(pointers(value))
    assert not places.twice


@given(plan_documents())
def test_every_value_of_a_toml_text_has_its_place(document: JsonObject) -> None:
    plan: Plan = read_plan(document, EXPRESSIONS)
    text = plan_text(plan, PlanFormat.TOML)

    places = toml_places(text)

    assert set(places) == set(pointers(tomllib.loads(text)))


ODD_TOML = '''
a."b c".d = 1 # x = 2
'lit' = """one ] } , "" two"""""
arr = [ # comment ]
  "x]", 'y', """
z""", [1, [2]],
]
when = 1979-05-27 07:32:00
empty = []
none = {}
[[t]]
[[t]]
x = 1
[[t.inner]]
y.z = {k = 1, "q.r" = [3]}
[t.table]
v = \'\'\'lit '' eral\'\'\'
[plain . "dot.ted"]
w = "esc \\" ] \\\\"
'''


def test_toml_in_all_its_forms_is_gone_through() -> None:
    places = toml_places(ODD_TOML)

    assert set(places) == set(pointers(tomllib.loads(ODD_TOML)))
    assert ODD_TOML[places["/t/1/inner/0/y/z/q.r"] :].startswith('"q.r"')
    assert ODD_TOML[places["/plain/dot.ted/w"] :].startswith("w =")
    assert ODD_TOML[places["/arr/3/1"] :].startswith("[2]")


def test_a_text_of_several_lines_stands_on_several_lines() -> None:
    say: JsonObject = {"id": "say", "tool": "t.say", "arguments": {"text": "Dear Ana,\nyours."}}
    plan = read_plan({"steps": [say]}, EXPRESSIONS)

    written = plan_text(plan, PlanFormat.TOML)

    assert 'text = """\nDear Ana,\nyours."""' in written
    assert read_plan_text(written, PlanFormat.TOML, EXPRESSIONS) == plan


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
