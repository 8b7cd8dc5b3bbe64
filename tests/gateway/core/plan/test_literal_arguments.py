"""What a plan is given, and arguments that are known before it is run."""

from collections.abc import Sequence

from portico.adapters.json_schema.check import JsonSchemaCheck
from portico.gateway.core.plan.faults import PlanFault
from portico.gateway.core.plan.inputs import BadInputs, input_schema, inputs_for
from portico.gateway.core.plan.literal_arguments import LiteralArguments
from portico.gateway.core.plan.reading import read_plan
from portico.kernel.errors import Flaw
from portico.kernel.json import JsonObject
from tests.gateway.core.plan.naive import EXPRESSIONS

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


def faults(arguments: JsonObject, schema: JsonObject = SCHEMA) -> Sequence[PlanFault]:
    user: JsonObject = {"id": "use", "tool": "t.use", "arguments": arguments}
    step = read_plan({"steps": [READ, user]}, EXPRESSIONS).step("use")
    literal = LiteralArguments(step, "/steps/1", schema)
    return [*literal.faults(JsonSchemaCheck().flaws(schema, literal.values))]


def places(arguments: JsonObject, schema: JsonObject = SCHEMA) -> Sequence[str]:
    return [fault.place.removeprefix("/steps/1/arguments") for fault in faults(arguments, schema)]


def test_what_fits_or_cannot_be_known_yet_is_let_by() -> None:
    assert places({"path": "a", "lines": None, "tags": ["x"]}) == []
    assert places({"path": FROM, "lines": FROM, "tags": [FROM, 1]}) == []
    assert places({"path": {"$text": "${read.text}"}, "free": {"$text": ""}}) == []
    assert places({"path": "a", "odd": {"$text": "x"}}) == []


def test_a_known_value_that_does_not_fit_is_named() -> None:
    [fault] = faults({"path": "a", "tags": ["x", 3]})

    assert fault == PlanFault("/steps/1/arguments/tags/1", "It must be string.")


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
        assert [*LiteralArguments(step, "", odd).faults([])] == []


def test_an_argument_that_is_not_there_is_told_what_may_be_meant() -> None:
    closed: JsonObject = {
        "type": "object",
        "properties": {"path": {"type": "string"}},
        "additionalProperties": False,
    }

    [fault] = faults({"pth": "x"}, closed)

    assert fault.fix == "Did you mean 'path'?"


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
    flaws = [Flaw("fodler", "is not known"), Flaw("folder", "must be string"), Flaw("", "no")]

    error = BadInputs(plan, flaws)

    assert [flaw.message for flaw in error.flaws] == [
        "is not known. Did you mean 'folder'?",
        "must be string",
        "no",
    ]
    assert str(error).startswith("The plan was not begun, its inputs do not fit: fodler: is not")
    assert "inputs: no" in str(error)
