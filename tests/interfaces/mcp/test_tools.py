"""The tools of the gateway's endpoint: search, call, workflows and programs."""

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given as given_
from hypothesis import strategies as st
from mcp_types import TextContent

from portico.bridge.core.errors import InvalidBridgeInput
from portico.debate.core.debates import DebateSpec, Source
from portico.debate.core.questions import Cap, Preset, QuestionKind
from portico.gateway.core.calls import ResultId, ToolResult, Verb
from portico.gateway.ports import ClientChannel
from portico.interfaces.mcp.bridge import definitions as bridge_tools
from portico.interfaces.mcp.bridge.definitions import ParsedArguments as BridgeGiven
from portico.interfaces.mcp.debate import definitions as debate_tools
from portico.interfaces.mcp.debate.definitions import (
    LONGEST_WAIT,
    InvalidDebateInput,
    ParsedArguments,
)
from portico.interfaces.mcp.tool_values import ERROR_META
from portico.interfaces.mcp.tools import SUGGESTION_META
from portico.kernel.json import JsonObject
from portico.kernel.label import InvalidLabel, Label
from portico.learning.core.intents import Outcome
from portico.testing.memory_store import BEGINNING
from portico.workflows.core.plan import InvalidPlan, PlanDiagnostic
from portico.workflows.core.plan_learning import SuggestionId
from portico.workflows.core.plan_report import (
    Mode,
    StepReport,
    StepStatus,
    Trouble,
    WorkflowReport,
    WorkflowStatus,
)
from portico.workflows.core.programs import ProgramReport, ProgramSpec
from portico.workflows.core.texts import WORKFLOW_META
from portico.workflows.runs import RunWorkflowSpec
from tests.interfaces.mcp.gateway import ERAS, RUN, Site, said
from tests.interfaces.mcp.wire import modern
from tests.learning.core.test_suggestions import ID, MADE

USUAL = Cap(tokens=100_000, money=Decimal(1))


def sent(tool: str, /, **fields: Any) -> BridgeGiven:
    """To the bridge."""
    return BridgeGiven.read(bridge_tools.BY_NAME[tool], fields)


def read(tool: str, /, **fields: Any) -> ParsedArguments:
    """Of a debate."""
    return ParsedArguments.read(debate_tools.BY_NAME[tool], fields)


def flaws(tool: str, /, **fields: Any) -> dict[str, str]:
    reading = sent if tool in bridge_tools.BY_NAME else read
    with pytest.raises((InvalidBridgeInput, InvalidDebateInput)) as refused:
        reading(tool, **fields)
    return {flaw.field: flaw.message for flaw in refused.value.field_errors}


def test_what_can_be_meant_is_taken() -> None:
    page = sent("read", conversations="cnv_1", limit=5.0, upto=None)
    said = sent("send", conversation="cnv_1", to=["ana", "bob", "ana"])
    kept = sent("memory_set", project="p", key="k", value=[1, {"a": None}])

    assert (page.texts("conversations"), page.number("limit")) == (["cnv_1"], 5)
    assert ("upto" in page, page.max_label) == (False, None)
    assert said.texts("to") == ["ana", "bob"]
    assert kept.value("value") == [1, {"a": None}]


def test_every_flaw_is_told_at_once() -> None:
    told = flaws("send", body=5, labels="x", ack="yes", to={"a": 1}, ack_within=1.5)

    assert told == {
        "conversation": "is needed",
        "body": "must be a text",
        "labels": "is not known; send takes conversation, body, mentions, to, ack_within, "
        "reply_to, ack, attachments, label, key",
        "ack": "must be true or false",
        "to": "must be a list of texts",
        "ack_within": "must be a whole number",
    }


@pytest.mark.parametrize(
    ("tool", "fields", "told"),
    [
        ("read", {"limit": True}, {"limit": "must be a whole number"}),
        ("whoami", {"who": "me"}, {"who": "is not known; whoami takes -"}),
        ("project_set", {"doing": "flying"}, {"doing": "must be one of there, busy, away"}),
        ("debate", {}, {"question": "is needed"}),
    ],
)
def test_what_cannot_be_meant_is_told(
    tool: str, fields: dict[str, Any], told: dict[str, str]
) -> None:
    assert flaws(tool, **fields) == told


def test_a_time_that_nobody_lives_to_see_is_refused() -> None:
    with pytest.raises(InvalidBridgeInput):
        sent("lease", do="take", seconds=10**30).seconds("seconds")
    assert sent("lease", do="take", seconds=5).seconds("seconds") == timedelta(seconds=5)


@pytest.mark.parametrize("fields", [{}, {"text": "\ud800"}, {"base64": "%"}, {"base64": "a"}])
def test_a_file_that_cannot_be_read_is_refused(fields: dict[str, Any]) -> None:
    attached = sent("attach", project="p", name="n", **fields)

    with pytest.raises(InvalidBridgeInput):
        attached.content()


def test_all_of_a_wish_is_taken() -> None:
    wish = read(
        "debate",
        question="Which?",
        kind="choice",
        choices=["a", "b"],
        topic="birds",
        preset="quorum",
        voices="openai:gpt-5",
        roles=["critic"],
        thoroughness=1,
        budget=9000.0,
        deadline=60,
        guests=2,
        project="heron",
        memory=["notes"],
        material="a diff",
        label="team+finance",
        shared=True,
        unbounded=True,
        key="k",
    ).spec("question", USUAL)

    assert wish == DebateSpec(
        question="Which?",
        kind=QuestionKind.CHOICE,
        choices=("a", "b"),
        topic="birds",
        preset=Preset.QUORUM,
        debaters=("openai:gpt-5",),
        roles=("critic",),
        thoroughness=1.0,
        cap=replace(USUAL, tokens=9000),
        deadline=timedelta(minutes=1),
        guests=2,
        project="heron",
        memory=("notes",),
        material="a diff",
        label=Label.parse("team+finance"),
        shared=True,
        unbounded=True,
        key="k",
    )


def test_what_is_left_out_is_as_the_settings_have_it() -> None:
    wish = read("debate", question="Which?", kind=None).spec("question", USUAL)

    assert (wish.kind, wish.preset, wish.thoroughness, wish.cap) == (None, None, None, None)
    assert (wish.deadline, wish.label, wish.guests, wish.shared) == (None, None, 0, False)


def test_a_task_is_analysed_in_parts() -> None:
    wish = read("analyze", task="Move house", parts=3).spec("task", USUAL, analyze=True)

    assert (wish.question, wish.analyze, wish.parts_most) == ("Move house", True, 3)


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"question": 1}, "question"),
        ({"choices": [1]}, "choices"),
        ({"preset": "loudest"}, "preset"),
        ({"kind": "riddle"}, "kind"),
        ({"thoroughness": "high"}, "thoroughness"),
        ({"thoroughness": True}, "thoroughness"),
        ({"thoroughness": float("inf")}, "thoroughness"),
        ({"thoroughness": float("nan")}, "thoroughness"),
        ({"budget": 10**400}, "budget"),
        ({"budget": 1.5}, "budget"),
        ({"shared": "yes"}, "shared"),
        ({"material": "a\0b"}, "material"),
        ({"choices": ["a", "\ud800"]}, "choices"),
        ({"max_tokens": 5}, "max_tokens"),
    ],
)
def test_what_cannot_be_meant_of_a_debate_is_refused_by_its_name(
    fields: dict[str, Any], field: str
) -> None:
    assert list(flaws("debate", **{"question": "Which?", **fields})) == [field]


@pytest.mark.parametrize("seconds", [-1, 10**8])
def test_no_deadline_lasts_longer_than_a_year_or_is_over_already(seconds: int) -> None:
    with pytest.raises(InvalidDebateInput):
        read("debate", question="Which?", deadline=seconds).spec("question", USUAL)


def test_nobody_waits_longer_than_clients_do() -> None:
    usual = timedelta(seconds=7)

    assert read("debate_status").wait_timeout(usual) == usual
    assert read("debate_status", wait=0).wait_timeout(usual) == timedelta(0)
    assert read("debate_status", wait=3).wait_timeout(usual) == timedelta(seconds=3)
    assert read("debate_status", wait=3000).wait_timeout(usual) == LONGEST_WAIT


def test_an_outcome_by_a_model_is_a_later_correction_unless_it_says_otherwise() -> None:
    its = "dbt_" + "0" * 26

    assert read("outcome", debate=its, right=False).outcome.source is Source.CORRECTION
    assert read("outcome", debate=its, answer="a", source="test").outcome.source is Source.TEST


@given_(
    st.dictionaries(
        st.sampled_from([*debate_tools.BY_NAME["debate"].properties, "other"]),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
            st.lists,
            max_leaves=4,
        ),
    )
)
def test_whatever_is_sent_is_a_wish_or_is_refused(fields: dict[str, Any]) -> None:
    try:
        ParsedArguments.read(debate_tools.BY_NAME["debate"], fields).spec("question", USUAL)
    except (InvalidDebateInput, InvalidLabel):
        return


@pytest.mark.parametrize("tools", [bridge_tools, debate_tools], ids=["bridge", "debates"])
def test_the_schema_of_each_tool_names_what_it_needs(tools: Any) -> None:
    for tool in tools.EVERY:
        assert tools.schema_of(tool.name) == tool.input_schema
        assert set(tool.required) <= set(tool.properties)
    assert tools.schema_of("nothing") is None


# What a model sends to our own tools, read leniently; what cannot be read is told exactly.

RESULT = "res_00000000000000000000000001"


async def call(site: Site, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    answer = await modern(site, "tools/call", {"name": name, "arguments": arguments})
    found: dict[str, Any] = answer.json()["result"]
    return found


def text(result: dict[str, Any]) -> str:
    found: str = result["content"][0]["text"]
    return found


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"queries": ["a", "b"], "budget": 500}, ("find", "ana", ["a", "b"], 500)),
        ({"queries": "a"}, ("find", "ana", ["a"], None)),
        ({}, ("find", "ana", [], None)),
        ({"queries": [], "budget": 500.0}, ("find", "ana", [], 500)),
    ],
)
async def test_searching(site: Site, arguments: dict[str, Any], expected: object) -> None:
    result = await call(site, "search_tools", arguments)

    assert text(result) == "found box.echo"
    assert site.gateway.asked == [expected]


async def test_describing(site: Site) -> None:
    result = await call(site, "describe_tools", {"tools": ["box.echo"]})

    assert text(result) == "box.echo takes text"
    assert site.gateway.asked == [("describe", "ana", ["box.echo"], None)]


async def test_reading_on(site: Site) -> None:
    assert str(ResultId.parse(RESULT)) == RESULT
    result = await call(site, "read_result", {"result": RESULT, "page": 2})

    assert text(result) == "page two"
    assert site.gateway.asked == [("read", "ana", RESULT, 2)]


@pytest.mark.parametrize(
    ("arguments", "given"),
    [
        ({"tool": "box.echo"}, {}),
        ({"tool": "box.echo", "arguments": None}, {}),
        ({"tool": "box.echo", "arguments": {"a": 1}}, {"a": 1}),
        ({"tool": "box.echo", "arguments": '{"a": 1}'}, {"a": 1}),
        ({"tool": "box.echo", "arguments": ""}, {}),
    ],
)
async def test_calling(site: Site, arguments: dict[str, Any], given: object) -> None:
    async def echo(_arguments: JsonObject, _line: ClientChannel) -> ToolResult:
        return said("yes")

    site.gateway.tools["echo"] = echo
    result = await call(site, "call_write", arguments)

    assert text(result) == "yes"
    assert site.gateway.asked == [("call", "ana", "box.echo", given, Verb.WRITE, False)]


@pytest.mark.parametrize(
    ("name", "arguments", "told"),
    [
        ("call_read", {}, "tool: must be a text"),
        ("call_read", {"tool": "box"}, "bad_tool_ref"),
        ("call_read", {"tool": "box.echo", "arguments": [1]}, "arguments: must be an object"),
        ("call_read", {"tool": "box.echo", "arguments": "{"}, "arguments: must be an object"),
        ("search_tools", {"queries": [1]}, "queries: must be a list of texts"),
        ("search_tools", {"queries": {"a": 1}}, "queries: must be a list of texts"),
        ("search_tools", {"queries": ["a"], "budget": "x"}, "budget: must be a whole number"),
        ("search_tools", {"queries": ["a"], "budget": True}, "budget: must be a whole number"),
        ("search_tools", {"query": "a"}, "query: is not something that it takes, which is queries"),
        ("call_read", {"tool": "box.echo", "args": {}}, "args: is not something that it takes"),
        ("read_result", {"result": "nope"}, "bad_id"),
        ("call_everything", {}, "tool_not_found"),
    ],
)
async def test_what_cannot_be_read_is_told(
    site: Site, name: str, arguments: dict[str, Any], told: str
) -> None:
    result = await call(site, name, arguments)

    assert result["isError"]
    assert told in text(result)
    assert site.gateway.asked == []


# Many calls in one turn, over MCP: what a model sends, and what it is told; also where it says what
# it wants, and is suggested a plan.

PLAN = {"steps": [{"id": "read", "tool": "box.look"}]}
WAITS = StepReport(id="send", tool="mail.send", state=StepStatus.WAITING, approval="apr_1")
DONE = WorkflowReport(
    run=str(RUN),
    status=WorkflowStatus.DONE,
    mode=Mode.DURABLE,
    principal="prn_1",
    label="team",
    steps=[WAITS],
    created_at=BEGINNING,
    output={"a": 1},
)
WAITING = replace(DONE, status=WorkflowStatus.WAITING, output=None)


@pytest.mark.parametrize(
    ("given", "wish"),
    [
        ({"plan": PLAN}, RunWorkflowSpec(plan=PLAN, accept=[])),
        ({"plan": '{"steps": []}'}, RunWorkflowSpec(plan={"steps": []}, accept=[])),
        (
            {"name": "report", "inputs": {"city": "Lund"}, "mode": "inline"},
            RunWorkflowSpec(name="report", inputs={"city": "Lund"}, mode=Mode.INLINE, accept=[]),
        ),
        (
            {"plan": PLAN, "accept": "a.b -> c.d", "inputs": None},
            RunWorkflowSpec(plan=PLAN, accept=["a.b -> c.d"]),
        ),
    ],
)
async def test_a_plan_is_run_and_its_output_told(
    site: Site, given: dict[str, Any], wish: RunWorkflowSpec
) -> None:
    site.gateway.reports = [DONE]

    result = await call(site, "run_workflow", given)

    assert text(result) == '{"a": 1}'
    assert not result.get("isError")
    assert site.gateway.asked == [
        ("workflow", "ana", wish),
        ("wait", "ana", RUN, timedelta(seconds=50)),
    ]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"plan": "no json"}, "plan"),
        ({"plan": PLAN, "mode": "fast"}, "must be one of durable, inline"),
        ({"plan": PLAN, "accept": [1]}, "accept"),
        ({"plan": PLAN, "inputs": [1]}, "inputs"),
        ({"name": 7}, "name"),
    ],
)
async def test_what_cannot_be_read_is_told_exactly(
    site: Site, given: dict[str, Any], told: str
) -> None:
    result = await call(site, "run_workflow", given)

    assert result["isError"]
    assert told in text(result)
    assert site.gateway.asked == []


async def test_every_fault_of_a_plan_is_told_with_its_place(site: Site) -> None:
    faults = [PlanDiagnostic(f"/steps/{number}/tool", "No such tool.") for number in range(32)]
    site.gateway.reports = [InvalidPlan(faults)]

    result = await call(site, "run_workflow", {"plan": PLAN})

    told = text(result).splitlines()
    assert result["isError"]
    assert result["_meta"][ERROR_META]["code"] == "bad_plan"
    assert told[0].startswith("bad_plan: ")
    assert told[30] == "- /steps/29/tool: No such tool."
    assert told[31] == "- and 2 more"


async def test_waiting_for_somebody_is_no_failure_and_says_what_to_do(site: Site) -> None:
    site.gateway.reports = [WAITING]

    result = await call(site, "run_workflow", {"plan": PLAN})

    assert not result.get("isError")
    assert "somebody has to approve it (apr_1)" in text(result)
    assert "workflow_status" in text(result)
    assert result["_meta"][WORKFLOW_META]["approvals"] == ["apr_1"]
    assert "structuredContent" not in result


@pytest.mark.parametrize("status", [WorkflowStatus.FAILED, WorkflowStatus.CANCELLED])
async def test_what_will_give_nothing_is_called_an_error(
    site: Site, status: WorkflowStatus
) -> None:
    error = Trouble(type="X", message="It is full.")
    site.gateway.reports = [replace(DONE, status=status, output=None, error=error)]

    result = await call(site, "run_workflow", {"plan": PLAN})

    assert result["isError"]


@pytest.mark.parametrize(("wait", "seconds"), [(None, 0), (20, 20), (900, 50), (-3, 0)])
async def test_asked_how_it_is_it_waits_as_long_as_is_wanted(
    site: Site, wait: int | None, seconds: int
) -> None:
    site.gateway.reports = [DONE]

    result = await call(site, "workflow_status", {"run": str(RUN), "wait": wait})

    assert text(result) == '{"a": 1}'
    assert site.gateway.asked == [("wait", "ana", RUN, timedelta(seconds=seconds))]


async def test_what_is_no_run_is_refused(site: Site) -> None:
    result = await call(site, "workflow_status", {"run": "apr_1"})

    assert result["isError"]


async def test_a_program_is_run_and_what_it_said_told(site: Site) -> None:
    site.gateway.reports = [ProgramReport(whole=replace(DONE, steps=[]), shown="seven")]

    result = await call(site, "run_program", {"code": "print(7)", "inputs": {"a": 1}})
    status = await call(site, "workflow_status", {"run": str(RUN)})

    assert text(result) == text(status) == "seven"
    assert result["_meta"][WORKFLOW_META] == {"run": str(RUN), "status": "done"}
    assert site.gateway.asked[0] == (
        "program",
        "ana",
        ProgramSpec(code="print(7)", inputs={"a": 1}),
    )


async def test_a_program_that_failed_is_an_error(site: Site) -> None:
    failed = replace(DONE, status=WorkflowStatus.FAILED, error=Trouble(type="X", message="no"))
    site.gateway.reports = [ProgramReport(whole=failed)]

    result = await call(site, "run_program", {"code": "1 / 0"})

    assert result["isError"]
    assert (await call(site, "run_program", {}))["isError"]


@pytest.mark.parametrize("era", ERAS)
async def test_a_client_of_either_era_hears_how_far_it_is(site: Site, era: str) -> None:
    site.gateway.reports = [WAITING, DONE]
    heard: list[tuple[float, float | None, str | None]] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        heard.append((progress, total, message))

    async with site.client(era) as client:
        listed = (await client.list_tools()).tools
        result = await client.call_tool(
            "run_workflow", {"plan": PLAN}, progress_callback=on_progress
        )

    assert {"run_workflow", "workflow_status", "run_program"} <= {tool.name for tool in listed}
    assert isinstance(result.content[0], TextContent)
    assert result.content[0].text == '{"a": 1}'
    assert heard == [(1.0, 1.0, "running")]


async def test_an_intent_alone_is_answered_by_a_plan(site: Site) -> None:
    site.gateway.suggestions = [MADE]

    result = await call(site, "run_workflow", {"intent": "copy it"})

    assert text(result).startswith("Suggested (0.93 sure).")
    assert not result.get("isError")
    assert result["_meta"][SUGGESTION_META]["suggestion"] == str(ID)
    assert site.gateway.asked == [("suggest", "ana", "copy it")]


@pytest.mark.parametrize(
    ("given", "wish"),
    [
        (
            {"suggestion": str(ID), "inputs": {"to": "/b"}},
            RunWorkflowSpec(suggestion=ID, inputs={"to": "/b"}, accept=[]),
        ),
        (
            {"plan": PLAN, "intent": "look"},
            RunWorkflowSpec(plan=PLAN, intent="look", accept=[]),
        ),
    ],
)
async def test_what_is_to_be_run_is_run(
    site: Site, given: dict[str, Any], wish: RunWorkflowSpec
) -> None:
    site.gateway.reports = [DONE]

    await call(site, "run_workflow", given)

    assert site.gateway.asked[0] == ("workflow", "ana", wish)


async def test_what_is_no_suggestion_is_not_looked_for(site: Site) -> None:
    result = await call(site, "run_workflow", {"suggestion": "the first"})

    assert result["isError"]
    assert "bad_id" in text(result)
    assert site.gateway.asked == []


@pytest.mark.parametrize("of", [ID, RUN])
async def test_what_it_was_worth_is_noted(site: Site, of: SuggestionId) -> None:
    result = await call(site, "feedback", {"run": str(of), "outcome": "modified"})

    assert text(result) == f"{of} is noted as modified."
    assert site.gateway.asked == [("feedback", "ana", str(of), Outcome.MODIFIED)]


@pytest.mark.parametrize("outcome", ["unclaimed", "fine", None])
async def test_other_words_are_refused(site: Site, outcome: str | None) -> None:
    result = await call(site, "feedback", {"run": str(ID), "outcome": outcome})

    assert result["isError"]
    assert site.gateway.asked == []
