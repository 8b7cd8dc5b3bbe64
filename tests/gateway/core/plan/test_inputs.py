"""What a plan is given is described like what a tool is given."""

from portico.gateway.core.plan.inputs import BadInputs, input_schema, inputs_for
from portico.gateway.core.plan.reading import read_plan
from portico.kernel.errors import Flaw
from portico.kernel.json import JsonObject
from tests.gateway.core.plan.naive import EXPRESSIONS

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
