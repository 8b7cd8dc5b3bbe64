"""References and templates are read from their text, and written back to the same."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portico.adapters.json_schema import JsonSchemaCheck
from portico.kernel.errors import FieldError
from portico.kernel.json import JsonObject
from portico.workflows.core.plan import (
    PlanDiagnostic,
    Reference,
    Template,
    Unreadable,
    read_reference,
    read_template,
    references,
    write_template,
)
from portico.workflows.core.plan_documents import InvalidInputs, input_schema, inputs_for, read_plan
from portico.workflows.core.plan_values import LiteralArguments
from tests.workflows.core.naive import EXPRESSIONS


def test_a_reference_is_a_step_and_a_path() -> None:
    rows: list[tuple[str, Reference]] = [
        ("read", Reference("read")),
        ("read.text", Reference("read", "text")),
        (" read.content[0].text ", Reference("read", "content[0].text")),
        ("item[0]", Reference("item", "[0]")),
        ("item.[0]", Reference("item", "[0]")),
        ('my-step.json."a b"', Reference("my-step", 'json."a b"')),
        ("a.b\n.c", Reference("a", "b\n.c")),
    ]

    for text, reference in rows:
        assert read_reference(text) == reference
        assert read_reference(str(reference)) == reference


@pytest.mark.parametrize("text", ["", ".", "a.", "1a.b", "a b", "a..", "ä.text", "a[", "a" * 65])
def test_what_is_none_is_not_taken_for_one(text: str) -> None:
    if text in {"a..", "a["}:
        # What comes after the step's id is for JMESPath to judge.
        assert read_reference(text + "]").step == "a"
        return

    with pytest.raises(Unreadable):
        read_reference(text)


def test_a_template_is_texts_and_references() -> None:
    rows: list[tuple[str, tuple[str | Reference, ...]]] = [
        ("", ()),
        ("plain $ {x} $x", ("plain $ {x} $x",)),
        ("${a.text}", (Reference("a", "text"),)),
        ("to ${a.text}${b.text}!", ("to ", Reference("a", "text"), Reference("b", "text"), "!")),
        ("$${a.text}", ("${a.text}",)),
        ("costs $$${a.text}", ("costs $", Reference("a", "text"))),
        ("$$$${", ("$${",)),
        ("${a.{x: text}}}", (Reference("a", "{x: text}"), "}")),
        ("${a.'}'}", (Reference("a", "'}'"),)),
        (r"${a.'\'}'}", (Reference("a", r"'\'}'"),)),
        ('${a.`"{"`}', (Reference("a", '`"{"`'),)),
    ]

    for text, parts in rows:
        template = read_template(text)

        assert template.parts == parts
        assert read_template(write_template(template)) == template, text


@pytest.mark.parametrize("text", ["${", "x ${a.text", "${a.{x}", "${a.'}"])
def test_an_open_reference_is_no_template(text: str) -> None:
    with pytest.raises(Unreadable, match="never closed"):
        read_template(text)


@given(st.lists(st.text("${}a", max_size=6) | st.just(Reference("a", "text")), max_size=6))
def test_any_text_can_be_written_around_references(parts: list[str | Reference]) -> None:
    merged: list[str | Reference] = []
    for part in parts:
        if isinstance(part, str) and merged and isinstance(merged[-1], str):
            merged[-1] += part
        elif part != "":
            merged.append(part)
    template = Template(tuple(merged))

    assert read_template(write_template(template)) == template


def test_references_are_found_wherever_they_stand() -> None:
    one, two = Reference("a"), Reference("b")

    found = references({"x/y": [1, one], "t": Template(("say ", two)), "n": None}, "/arguments")

    assert [*found] == [("/arguments/x~1y/1/$from", one), ("/arguments/t/$text", two)]


SCHEMA: JsonObject = {
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "lines": {"type": ["integer", "null"]},
        "tags": {"type": "array", "items": {"type": "string"}},
        "free": {},
        "odd": True,
    },
    "required": ["path"],
    "additionalProperties": False,
}
READ: JsonObject = {"id": "read", "tool": "t.read"}
FROM: JsonObject = {"$from": "read.text"}


def faults(arguments: JsonObject, schema: JsonObject = SCHEMA) -> Sequence[PlanDiagnostic]:
    user: JsonObject = {"id": "use", "tool": "t.use", "arguments": arguments}
    step = read_plan({"steps": [READ, user]}, EXPRESSIONS).step("use")
    literal = LiteralArguments(step, "/steps/1", schema)
    return [*literal.diagnostics(JsonSchemaCheck().field_errors(schema, literal.values))]


def places(arguments: JsonObject, schema: JsonObject = SCHEMA) -> Sequence[str]:
    return [fault.place.removeprefix("/steps/1/arguments") for fault in faults(arguments, schema)]


def test_what_fits_or_cannot_be_known_yet_is_let_by() -> None:
    assert places({"path": "a", "lines": None, "tags": ["x"]}) == []
    assert places({"path": FROM, "lines": FROM, "tags": [FROM, 1]}) == []
    assert places({"path": {"$text": "${read.text}"}, "free": {"$text": ""}}) == []
    assert places({"path": "a", "odd": {"$text": "x"}}) == []


def test_a_known_value_that_does_not_fit_is_named() -> None:
    [fault] = faults({"path": "a", "tags": ["x", 3]})

    assert fault == PlanDiagnostic("/steps/1/arguments/tags/1", "It must be string.")


def test_what_is_missing_is_missing_however_the_rest_is_given() -> None:
    assert [fault.what for fault in faults({})] == ["t.use needs the argument 'path'."]
    assert [fault.what for fault in faults({"lines": FROM})] == ["t.use needs the argument 'path'."]


def test_what_it_does_not_take_is_named_with_what_may_have_been_meant() -> None:
    [known] = faults({"path": "a", "tag": 1})
    [unknown] = faults({"path": "a", "tagz": FROM})

    assert known.place == "/steps/1/arguments/tag"
    assert (unknown.place, unknown.fix) == ("/steps/1/arguments/tagz", "Did you mean 'tags'?")


def test_a_template_is_a_text() -> None:
    [fault] = faults({"path": "a", "lines": {"$text": "${read.text}"}})

    assert fault.what == "t.use wants integer or null here, and not a text."


def test_what_concerns_the_whole_is_said_only_of_what_is_known_whole() -> None:
    either: JsonObject = {"type": "object", "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}

    assert places({"c": 1}, either) == [""]
    assert places({"c": 1, "d": FROM}, either) == []


def test_open_and_odd_schemas_refuse_nothing_that_is_not_known() -> None:
    by_pattern: JsonObject = {"additionalProperties": False, "patternProperties": {"^x": {}}}

    assert places({"y": FROM}, by_pattern) == []
    odd_ones: list[JsonObject] = [
        {"required": "y"},
        {"properties": []},
        {"properties": {"y": {"type": 3}}},
    ]
    for odd in odd_ones:
        user: JsonObject = {"id": "use", "tool": "t.use", "arguments": {"y": {"$text": "x"}}}
        step = read_plan({"steps": [user]}, EXPRESSIONS).step("use")
        assert [*LiteralArguments(step, "", odd).diagnostics([])] == []


STEPS = [{"id": "a", "tool": "t.a"}]


def test_its_parameters_are_a_schema() -> None:
    inputs: JsonObject = {"who": {"type": "string"}, "count": {"type": "integer", "default": 3}}
    plan = read_plan({"inputs": inputs, "required": ["who"], "steps": STEPS}, EXPRESSIONS)

    assert input_schema(plan) == {
        "type": "object",
        "properties": inputs,
        "required": ["who"],
        "additionalProperties": False,
    }
    assert inputs_for(plan, {"who": "Ada"}) == {"who": "Ada", "count": 3}
    assert inputs_for(plan, {"count": None}) == {"count": None}


def test_without_any_it_takes_nothing() -> None:
    schema = input_schema(read_plan({"steps": STEPS}, EXPRESSIONS))

    assert schema == {"type": "object", "properties": {}, "additionalProperties": False}


def test_inputs_that_do_not_fit_are_named_with_what_may_be_meant() -> None:
    inputs: JsonObject = {"folder": {"type": "string"}}
    plan = read_plan({"inputs": inputs, "steps": STEPS}, EXPRESSIONS)
    flaws = [
        FieldError("fodler", "is not known"),
        FieldError("folder", "must be string"),
        FieldError("", "no"),
    ]

    error = InvalidInputs(plan, flaws)

    assert [flaw.message for flaw in error.field_errors] == [
        "is not known. Did you mean 'folder'?",
        "must be string",
        "no",
    ]
    assert str(error).startswith("The plan was not begun, its inputs do not fit: fodler: is not")
    assert "inputs: no" in str(error)
