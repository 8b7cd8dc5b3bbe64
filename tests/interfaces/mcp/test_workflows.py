"""Many calls in one turn, over MCP: what a model sends, and what it is told; also where it
says what it wants, and is suggested a plan."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from mcp_types import TextContent

from portico.interfaces.mcp.tool_values import ERROR_META
from portico.interfaces.mcp.tools import SUGGESTION_META
from portico.learning.core.intents import Outcome
from portico.testing.memory_store import BEGINNING
from portico.workflows.core.plan import BadPlan, PlanFault
from portico.workflows.core.plan_learning import SuggestionId
from portico.workflows.core.plan_report import (
    Mode,
    StepReport,
    StepStanding,
    Trouble,
    WorkflowReport,
    WorkflowStatus,
)
from portico.workflows.core.programs import ProgramReport, ProgramWish
from portico.workflows.core.texts import WORKFLOW_META
from portico.workflows.runs import RunWorkflowWish
from tests.interfaces.mcp.gateway import ERAS, RUN, Site
from tests.interfaces.mcp.test_calls import call, text
from tests.learning.core.test_suggestions import ID, MADE

PLAN = {"steps": [{"id": "read", "tool": "box.look"}]}
WAITS = StepReport(id="send", tool="mail.send", state=StepStanding.WAITING, approval="apr_1")
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
        ({"plan": PLAN}, RunWorkflowWish(plan=PLAN, accept=[])),
        ({"plan": '{"steps": []}'}, RunWorkflowWish(plan={"steps": []}, accept=[])),
        (
            {"name": "report", "inputs": {"city": "Lund"}, "mode": "inline"},
            RunWorkflowWish(name="report", inputs={"city": "Lund"}, mode=Mode.INLINE, accept=[]),
        ),
        (
            {"plan": PLAN, "accept": "a.b -> c.d", "inputs": None},
            RunWorkflowWish(plan=PLAN, accept=["a.b -> c.d"]),
        ),
    ],
)
async def test_a_plan_is_run_and_its_output_told(
    site: Site, given: dict[str, Any], wish: RunWorkflowWish
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
    faults = [PlanFault(f"/steps/{number}/tool", "No such tool.") for number in range(32)]
    site.gateway.reports = [BadPlan(faults)]

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
        ProgramWish(code="print(7)", inputs={"a": 1}),
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
            RunWorkflowWish(suggestion=ID, inputs={"to": "/b"}, accept=[]),
        ),
        (
            {"plan": PLAN, "intent": "look"},
            RunWorkflowWish(plan=PLAN, intent="look", accept=[]),
        ),
    ],
)
async def test_what_is_to_be_run_is_run(
    site: Site, given: dict[str, Any], wish: RunWorkflowWish
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
