"""A saved plan as a tool: its name, its schema, and what may stand inside what."""

from dataclasses import replace
from datetime import timedelta

import pytest

from portico.gateway.core.call import Answer
from portico.gateway.core.plan.inputs import input_schema
from portico.gateway.core.plan.output import step_document
from portico.gateway.core.plan.plan import Plan
from portico.gateway.core.reading import read_tools
from portico.gateway.core.saved_workflow import (
    Admission,
    admits,
    admitted,
    check_nesting,
    inner,
    tool_definition,
    tools_of,
    used_by,
    without_admission,
    workflow_name,
)
from portico.gateway.core.saved_workflow_errors import (
    BadWorkflowName,
    WorkflowCycle,
    WorkflowNestedTooDeep,
)
from portico.kernel.effect import Effect
from portico.kernel.json import JsonObject
from portico.testing.saved_workflows import a_saved_workflow

PLAN = Plan(steps=(), inputs={"city": {"type": "string"}}, required=("city",))


def test_a_name_that_a_tool_can_have() -> None:
    for name in ("a", "Tidy-up_2", "x" * 48):
        assert workflow_name(name) == name


@pytest.mark.parametrize("name", ["", "2nd", "_x", "a.b", "a b", "a/b", "ä", "a\n", "x" * 49])
def test_a_name_that_a_tool_cannot_have(name: str) -> None:
    with pytest.raises(BadWorkflowName):
        workflow_name(name)


def test_the_tool_says_what_the_worst_of_its_steps_can_do() -> None:
    saved = a_saved_workflow("report", description="Reports.", effect=Effect.IRREVERSIBLE)

    assert tool_definition(saved, PLAN) == {
        "name": "report",
        "description": "Reports.",
        "inputSchema": input_schema(PLAN),
        "annotations": {"readOnlyHint": False, "destructiveHint": True},
        "_meta": {"portico/uses": [*tools_of(saved.plan)]},
    }
    reading = replace(saved, effect=Effect.LOCAL_READ, saved_at=saved.saved_at + timedelta(1))
    assert tool_definition(reading, PLAN)["annotations"] == {"readOnlyHint": True}


def test_what_a_plan_calls_is_read_from_how_it_is_written() -> None:
    plan: JsonObject = {
        "steps": [
            {"id": "a", "tool": "files.read"},
            {"id": "b", "tool": "workflows.tidy"},
            {"id": "c", "tool": "workflows.tidy"},
            {"id": "d", "tool": "workflows-2.other"},
            "no step",
        ]
    }

    assert tools_of(plan) == ["files.read", "workflows.tidy", "workflows-2.other"]
    assert inner(plan, "workflows") == ["tidy"]
    assert tools_of({"steps": None}) == []


def test_three_inside_one_another_are_allowed() -> None:
    calls: dict[str, list[str]] = {"a": ["b"], "b": ["c", "d"], "c": [], "d": []}

    assert check_nesting("a", calls) == 3


@pytest.mark.parametrize("changed", ["a", "b", "c", "d"])
def test_a_fourth_is_not_wherever_it_is_put(changed: str) -> None:
    with pytest.raises(WorkflowNestedTooDeep) as refused:
        check_nesting(changed, {"a": ["b"], "b": ["c"], "c": ["d"], "d": [], "e": []})

    assert refused.value.way == ("a", "b", "c", "d")


def test_what_was_too_deep_before_does_not_keep_others_from_being_saved() -> None:
    calls: dict[str, list[str]] = {"a": ["b"], "b": ["c"], "c": ["d"], "d": [], "e": ["d"]}

    assert check_nesting("e", calls) == 2


@pytest.mark.parametrize(
    ("calls", "way"),
    [
        ({"a": ["a"]}, ("a", "a")),
        ({"a": ["b"], "b": ["a"]}, ("a", "b", "a")),
        ({"a": ["x", "b"], "b": ["c"], "c": ["a"], "x": []}, ("a", "b", "c", "a")),
    ],
)
def test_a_circle_is_refused_and_named(calls: dict[str, list[str]], way: tuple[str, ...]) -> None:
    with pytest.raises(WorkflowCycle) as refused:
        check_nesting("a", calls)

    assert refused.value.way == way
    assert " -> ".join(way) in str(refused.value)


def test_one_that_is_not_saved_any_more_calls_nothing() -> None:
    assert check_nesting("a", {"a": ["gone"]}) == 2


def test_a_run_is_given_the_plan_and_finds_it_in_what_the_step_gave() -> None:
    plan = {"steps": [{"id": "a", "tool": "files.read"}]}

    admission = Admission(plan, {"to": "/x"})

    assert admits(admission.answer)
    assert admitted(step_document(admission.answer)) == admission


def test_what_another_server_says_of_itself_makes_it_no_admission() -> None:
    answer = Admission({}, {}).answer

    assert not admits(without_admission(replace(answer, meta={**(answer.meta or {}), "x": 1})))
    assert without_admission(replace(answer, meta={"x": 1})).meta == {"x": 1}
    assert without_admission(answer).meta is None
    assert without_admission(Answer([])) == Answer([])


def test_the_tool_says_which_others_it_calls() -> None:
    saved = a_saved_workflow("report", plan={"steps": [{"id": "a", "tool": "files.read"}]})
    definition = read_tools([tool_definition(saved, PLAN)]).definitions[0]

    assert used_by(definition) == ["files.read"]
    assert used_by(replace(definition, raw={})) == []


def test_what_a_tool_gives_is_no_admission() -> None:
    assert not admits(Answer([], {"plan": {}}))
    assert not admits(Answer([], meta={}))
    assert admitted({"structuredContent": {"plan": "of mine"}}) is None
    assert admitted({"text": "plan"}) is None
