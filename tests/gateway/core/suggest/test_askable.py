"""What a plan lacks becomes an input, and nothing else of it changes."""

from portico.adapters.jmespath.expressions import JmespathExpressions
from portico.gateway.core.plan.reading import read_plan
from portico.gateway.core.plan.writing import plan_document
from portico.gateway.core.suggest.askable import askable, input_name
from portico.kernel.json import JsonObject

EXPRESSIONS = JmespathExpressions()
PLAN = read_plan(
    {
        "steps": [
            {"id": "list", "tool": "files.list"},
            {"id": "read", "tool": "files.read", "arguments": {"head": 3}},
        ]
    },
    EXPRESSIONS,
)
SCHEMAS: JsonObject = {
    "path": {"type": "string", "description": "Which.", "$ref": "#/somewhere"},
    "a b": True,
}


def test_a_plan_that_lacks_nothing_stays_as_it_is() -> None:
    assert askable(PLAN, [], lambda _: SCHEMAS) is PLAN


def test_what_is_missing_is_an_input_that_has_to_be_given() -> None:
    asking = askable(PLAN, [("read", "path"), ("read", "a b")], lambda _: SCHEMAS)

    document = plan_document(asking)
    assert document["inputs"] == {
        "read_path": {"type": "string", "description": "Which."},
        "read_a_b": {},
    }
    assert document["required"] == ["read_path", "read_a_b"]
    assert asking.steps[0] == PLAN.steps[0]
    assert document["steps"] == [
        {"id": "list", "tool": "files.list"},
        {
            "id": "read",
            "tool": "files.read",
            "arguments": {
                "head": 3,
                "path": {"$from": "inputs.read_path"},
                "a b": {"$from": "inputs.read_a_b"},
            },
        },
    ]
    assert read_plan(document, EXPRESSIONS) == asking


def test_its_name_can_stand_in_a_path_as_it_is() -> None:
    assert input_name("read-it", "é.path") == "read_it___path"
