"""The trace of a run as other tools take it: the same ids, and nothing that was said."""

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from portico.adapters.telemetry.agent_spans import OtlpSpans
from portico.agents.core.trace import AgentRunStatus, RunTrace, WholeTrace
from portico.testing.agent_data import a_saying, a_turn, a_use, an_agent_run
from portico.testing.guard import a_person

RUN = an_agent_run(a_person())


def spans(run: RunTrace = RUN, **parts: Any) -> list[dict[str, Any]]:
    turns, uses = (a_turn(run), a_turn(run, 2)), (a_use(run), a_use(run, 2, code="tool_failed"))
    trace = WholeTrace(run=run, said=(a_saying(run),), turns=turns, uses=uses)
    told: Any = OtlpSpans("1.2").of(replace(trace, **parts))
    found: list[dict[str, Any]] = told["resourceSpans"][0]["scopeSpans"][0]["spans"]
    return found


def attributes(span: dict[str, Any]) -> dict[str, Any]:
    return {each["key"]: next(iter(each["value"].values())) for each in span["attributes"]}


@pytest.mark.requirement("agents:traces:otlp")
def test_tools_hang_on_turns_and_turns_on_the_run() -> None:
    run, first, second, use, failed = spans()

    assert {span["traceId"] for span in (run, first, second, use, failed)} == {RUN.trace_id}
    assert run["parentSpanId"] == ""
    assert first["parentSpanId"] == second["parentSpanId"] == run["spanId"]
    assert use["parentSpanId"] == first["spanId"] == f"{1:016x}"
    assert failed["parentSpanId"] == second["spanId"]
    assert [span["name"] for span in (run, first, use)] == [
        "invoke_agent clerk",
        "chat small",
        "execute_tool files.read",
    ]


def test_attributes_are_those_of_the_conventions() -> None:
    run, first, _, use, failed = map(attributes, spans())

    assert run["gen_ai.operation.name"] == "invoke_agent"
    assert run["gen_ai.agent.name"] == "clerk"
    assert (first["gen_ai.provider.name"], first["gen_ai.response.model"]) == ("local", "small")
    assert (first["gen_ai.usage.input_tokens"], first["gen_ai.usage.output_tokens"]) == (
        "100",
        "20",
    )
    assert use["portico.tool.early"] is False
    assert "error.type" not in use
    assert failed["error.type"] == "tool_failed"


def test_nothing_that_was_said_is_in_it() -> None:
    text = json.dumps(spans())

    for said in ("Write to Ana", "I shall look", "The letter says", "/letter"):
        assert said not in text


@pytest.mark.parametrize(
    ("status", "code", "error"),
    [
        (AgentRunStatus.RUNNING, 0, None),
        (AgentRunStatus.COMPLETED, 1, None),
        (AgentRunStatus.STOPPED, 1, None),
        (AgentRunStatus.FAILED, 2, "_OTHER"),
        (AgentRunStatus.EXHAUSTED, 2, "_OTHER"),
    ],
)
def test_how_it_ended_is_told(status: AgentRunStatus, code: int, error: str | None) -> None:
    run = spans(replace(RUN, status=status))[0]

    assert run["status"] == {"code": code}
    assert attributes(run).get("error.type") == error


def test_one_that_is_on_ends_where_it_is() -> None:
    on, over = spans()[0], spans(replace(RUN, ended_at=RUN.started_at + timedelta(hours=1)))[0]
    nothing = spans(turns=(), uses=())[0]

    assert int(on["endTimeUnixNano"]) - int(on["startTimeUnixNano"]) == 2_900_000_000
    assert int(over["endTimeUnixNano"]) - int(over["startTimeUnixNano"]) == 3_600 * 10**9
    assert nothing["endTimeUnixNano"] == nothing["startTimeUnixNano"]


def test_a_use_whose_turn_is_not_seen_hangs_on_the_run() -> None:
    run, use, _ = spans(turns=())

    assert use["parentSpanId"] == run["spanId"]
