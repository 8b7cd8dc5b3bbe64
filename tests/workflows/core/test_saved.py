"""A saved plan as a tool: its name, its schema, and what may stand inside what."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from inline_snapshot import snapshot

from portico.gateway.core.calls import ToolResult
from portico.gateway.core.discovery import read_tools
from portico.gateway.core.reserved_metadata import admits, used_by, without_admission
from portico.kernel.effect import Effect
from portico.kernel.ids import RunId
from portico.kernel.json import JsonObject, JsonValue
from portico.testing.gateway import a_saved_workflow
from portico.testing.memory_store import BEGINNING
from portico.workflows.core.plan import Plan
from portico.workflows.core.plan_documents import input_schema
from portico.workflows.core.plan_progress import step_asked
from portico.workflows.core.plan_report import (
    Mode,
    StepReport,
    StepStatus,
    Trouble,
    WorkflowReport,
    WorkflowStatus,
)
from portico.workflows.core.plan_values import step_document
from portico.workflows.core.saved import (
    Admission,
    InvalidWorkflowName,
    WorkflowCycle,
    WorkflowNestedTooDeep,
    admitted,
    check_nesting,
    inner,
    tool_definition,
    tools_of,
    workflow_name,
)
from portico.workflows.core.texts import WORKFLOW_META, as_answer, facts, unfinished, words

PLAN = Plan(steps=(), inputs={"city": {"type": "string"}}, required=("city",))


def test_a_name_that_a_tool_can_have() -> None:
    for name in ("a", "Tidy-up_2", "x" * 48):
        assert workflow_name(name) == name


@pytest.mark.parametrize("name", ["", "2nd", "_x", "a.b", "a b", "a/b", "ä", "a\n", "x" * 49])
def test_a_name_that_a_tool_cannot_have(name: str) -> None:
    with pytest.raises(InvalidWorkflowName):
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
    assert without_admission(ToolResult([])) == ToolResult([])


def test_the_tool_says_which_others_it_calls() -> None:
    saved = a_saved_workflow("report", plan={"steps": [{"id": "a", "tool": "files.read"}]})
    definition = read_tools([tool_definition(saved, PLAN)]).definitions[0]

    assert used_by(definition) == ["files.read"]
    assert used_by(replace(definition, raw={})) == []


def test_what_a_tool_gives_is_no_admission() -> None:
    assert not admits(ToolResult([], {"plan": {}}))
    assert not admits(ToolResult([], meta={}))
    assert admitted({"structuredContent": {"plan": "of mine"}}) is None
    assert admitted({"text": "plan"}) is None


READ = StepReport(
    id="read",
    tool="files.read",
    state=StepStatus.DONE,
    finished_at=BEGINNING + timedelta(seconds=1),
)


def report(status: WorkflowStatus, *steps: StepReport, **more: Any) -> WorkflowReport:
    return WorkflowReport(
        run="run_1",
        status=status,
        mode=Mode.DURABLE,
        principal="prn_1",
        label="team",
        created_at=BEGINNING,
        steps=[READ, *steps],
        **more,
    )


def step(state: StepStatus, **more: Any) -> StepReport:
    return StepReport(id="send", tool="mail.send", state=state, **more)


def test_of_what_was_done_only_the_output_is_told() -> None:
    done = report(WorkflowStatus.DONE, output={"ä": [1, None]})

    assert words(done) == '{"ä": [1, null]}'
    assert words(replace(done, output="as it is\n")) == "as it is\n"
    assert words(replace(done, output=None)) == "null"


def test_what_is_too_long_is_told_by_its_handle() -> None:
    long = report(WorkflowStatus.DONE, output_handle="res_1", output_size=1_234_567)

    assert words(long) == snapshot(
        "[its output of 1,234,567 characters is kept here: "
        'read_result(result="res_1") reads it page by page]'
    )
    assert words(replace(long, output_size=None)).startswith("[its output is kept here")


def test_of_what_was_done_in_part_it_says_what_is_missing_and_why() -> None:
    partial = report(
        WorkflowStatus.PARTIAL,
        step(StepStatus.FAILED, error=Trouble(type="UpstreamDown", message="It broke off.")),
        step(StepStatus.SKIPPED, why="send gave nothing"),
        step(StepStatus.SKIPPED),
        output=1,
    )

    assert words(partial) == snapshot(
        """\
1
[run_1: not everything was done]
- send (mail.send) failed: It broke off.
- send (mail.send) was left out: send gave nothing
- send (mail.send) was left out: no reason is known\
"""
    )


def test_who_is_waited_for_is_told_and_what_to_do_meanwhile() -> None:
    waiting = report(
        WorkflowStatus.WAITING,
        step(StepStatus.WAITING, approval="apr_1"),
        step(StepStatus.UNCERTAIN),
    )

    assert words(waiting).splitlines() == [
        "[run_1 waits for a person, who has been asked. Go on with something else if you can; "
        'workflow_status(run="run_1", wait=30) tells how it went on. '
        "Do not try to do it in another way.]",
        "- send (mail.send) has not been called yet: somebody has to approve it (apr_1)",
        "- send (mail.send): nobody knows whether it was done; a person has to look and say so: "
        "portico workflows resolve run_1 send",
    ]


def test_what_goes_on_says_how_far_it_is() -> None:
    running = report(WorkflowStatus.RUNNING, step(StepStatus.RUNNING))

    assert words(running) == snapshot(
        '[run_1: 1 of 2 steps are over; workflow_status(run="run_1", wait=30)]'
    )
    assert words(report(WorkflowStatus.QUEUED)).startswith("[run_1: 1 of 1 steps")


def test_what_failed_says_why() -> None:
    failed = report(WorkflowStatus.FAILED, error=Trouble(type="X", message="It is full."))

    assert words(failed) == "[run_1 failed: It is full.]"
    assert words(report(WorkflowStatus.FAILED)) == "[run_1 failed]"
    assert words(report(WorkflowStatus.CANCELLED)) == "[run_1 was cancelled]"


def test_of_many_that_went_wrong_some_are_told() -> None:
    many = [step(StepStatus.FAILED, why="no")] * 25

    told = words(report(WorkflowStatus.FAILED, *many)).splitlines()

    assert len(told) == 22
    assert told[-1] == "- and 5 more"


def test_a_program_finds_states_and_no_values() -> None:
    waiting = report(WorkflowStatus.WAITING, step(StepStatus.WAITING, approval="apr_1"), output=7)

    assert facts(waiting) == snapshot(
        {
            "run": "run_1",
            "status": "waiting",
            "output_handle": None,
            "approvals": ["apr_1"],
            "steps": {"read": "done", "send": "waiting"},
        }
    )


def test_as_a_tool_it_gives_what_it_gave() -> None:
    answer = as_answer(report(WorkflowStatus.DONE, output={"a": 1}))

    assert answer.content == [{"type": "text", "text": '{"a": 1}'}]
    assert answer.structured == {"a": 1}
    assert not answer.failed
    assert answer.meta is not None
    assert WORKFLOW_META in answer.meta
    assert as_answer(report(WorkflowStatus.DONE, output="text")).structured is None


def test_as_a_tool_it_says_behind_that_what_is_missing() -> None:
    answer = as_answer(
        report(WorkflowStatus.PARTIAL, step(StepStatus.SKIPPED, why="no"), output={"a": 1})
    )

    assert [block["text"] for block in answer.content] == [
        '{"a": 1}',
        "[run_1: not everything was done]\n- send (mail.send) was left out: no",
    ]
    assert answer.structured == {"a": 1}


def test_as_a_tool_it_has_failed_only_if_it_will_never_give_anything() -> None:
    assert as_answer(report(WorkflowStatus.FAILED)).failed
    assert as_answer(report(WorkflowStatus.CANCELLED)).failed
    waiting = as_answer(report(WorkflowStatus.WAITING))
    assert not waiting.failed
    assert "waits for a person" in str(waiting.content[0]["text"])


def test_who_was_not_asked_is_not_said_to_have_been() -> None:
    told = words(report(WorkflowStatus.WAITING, step(StepStatus.UNCERTAIN, why="it broke off")))

    assert "waits for a person. Go on" in told
    assert "it broke off; a person has to look" in told


RUN = "run_01kdvdna07e0083vtk892ms2mc"


def told(run: JsonValue, status: JsonValue) -> ToolResult:
    return ToolResult([], meta={WORKFLOW_META: {"run": run, "status": status}})


def test_one_that_goes_on_is_known_by_its_run() -> None:
    for status in ("queued", "running", "waiting"):
        assert unfinished(told(RUN, status)) == RunId.parse(RUN)


def test_any_other_answer_is_as_it_is() -> None:
    rows: list[ToolResult] = [
        ToolResult([]),
        ToolResult([], meta={}),
        ToolResult([], meta={WORKFLOW_META: "run"}),
        told(RUN, "done"),
        told(RUN, "partial"),
        told(RUN, "failed"),
        told(RUN, "cancelled"),
        told("run_", "running"),
        told(5, "running"),
    ]

    for answer in rows:
        assert unfinished(answer) is None


def test_a_topic_names_the_step_that_asks() -> None:
    rows: list[tuple[str, str]] = [
        ("~approval:read:1", "read"),
        ("~approval:read[3]~2:4", "read[3]"),
        ("~approval:outer/gone:1", "outer/gone"),
    ]

    for topic, step in rows:
        assert step_asked(topic) == step
