"""What a run is given, what it notes and what happens in it, as JSON and back."""

import json
from dataclasses import fields
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal

import pytest

from portico.agents.core.activation import (
    KIND,
    CallTarget,
    RunInput,
    TurnNoted,
    shown,
    stop_topic,
)
from portico.agents.core.agents import Limits
from portico.agents.core.events import (
    TYPES,
    AgentEvent,
    InputReceived,
    ReasoningDelta,
    RunFinished,
    RunNotice,
    TextDelta,
    ToolCallAwaitingApproval,
    ToolCallFinished,
    ToolCallStarted,
    TurnFinished,
    TurnStarted,
    happening_json,
    happening_of,
)
from portico.agents.core.model_requests import (
    AssistantMessage,
    Finish,
    ToolCall,
    ToolMessage,
    Usage,
    UserMessage,
    calls_of,
    message_as_json,
    message_of,
)
from portico.agents.core.traces import AgentRunStatus, TracePlace
from portico.engine.core.errors import InvalidCursor
from portico.guard.core.authentication import as_principal
from portico.kernel.ids import ApprovalId, ContextId, RunId
from portico.kernel.json import canonical
from portico.kernel.label import PUBLIC
from portico.testing.agent_data import TEAM, an_agent
from portico.testing.guard import an_identity
from portico.testing.memory_store import BEGINNING, SeededEntropy

ENTROPY = SeededEntropy("given")
ANA = as_principal(an_identity("ana"))


@pytest.mark.parametrize("continues", [None, RunId.mint(BEGINNING, ENTROPY)])
def test_what_a_run_is_given_comes_back_as_it_was(continues: RunId | None) -> None:
    given = RunInput(
        agent=an_agent(ANA),
        context=ContextId.mint(BEGINNING, ENTROPY),
        requester={"key": "k"},
        label=TEAM,
        model="local:small",
        limits=Limits(turns=3),
        continues=continues,
    )

    assert RunInput.from_json(json.loads(json.dumps(given.as_json()))) == given


def test_each_run_is_told_to_stop_by_itself() -> None:
    one, other = RunId.mint(BEGINNING, ENTROPY), RunId.mint(BEGINNING, ENTROPY)

    assert stop_topic(one) != stop_topic(other)


@pytest.mark.parametrize(
    "message",
    [
        UserMessage("Hello."),
        AssistantMessage("Hm.", (ToolCall("c", "read", {"path": "/a"}),), {"kept": [1]}),
        ToolMessage("c", "read", "text", failed=True),
    ],
)
def test_what_is_said_comes_back_as_it_was(
    message: UserMessage | AssistantMessage | ToolMessage,
) -> None:
    assert message_of(json.loads(json.dumps(message_as_json(message)))) == message


def test_what_is_no_message_no_call_and_nothing_known_is_not_taken_for_one() -> None:
    with pytest.raises(ValueError, match="no JSON object"):
        message_of("Hello.")
    assert calls_of("none") == calls_of(None) == ()
    assert happening_of("weather.changed", {}) is None


@pytest.mark.parametrize(
    "noted",
    [
        TurnNoted(),
        TurnNoted(aims=(CallTarget("a.b"), None, CallTarget("c.d", inside=True)), lost=2),
        TurnNoted(stopped=True, error="code"),
    ],
)
def test_what_is_noted_of_a_turn_comes_back_as_it_was(noted: TurnNoted) -> None:
    assert TurnNoted.from_json(json.loads(json.dumps(noted.as_json()))) == noted


def test_what_a_tool_is_given_may_stand_inside_a_call() -> None:
    call = ToolCall("c", "call_tool", {"tool": "a.b", "arguments": {"x": 1}})

    assert CallTarget("a.b", inside=True).arguments(call) == {"x": 1}
    assert CallTarget("a.b").arguments(call) == call.arguments
    assert CallTarget("a.b", inside=True).arguments(ToolCall("c", "call_tool", {})) == {}


def test_runs_of_agents_are_shown_without_instructions_or_keys_and_others_as_they_are() -> None:
    given = RunInput(
        agent=an_agent(ANA),
        context=ContextId.mint(BEGINNING, SeededEntropy("task")),
        requester={"key": "k1"},
        label=PUBLIC,
        model="local:small",
        limits=Limits(),
    )

    told = shown(KIND, given.as_json())

    assert set(told) == {"agent", "label", "model", "limits", "continues"}
    assert told["agent"] == {
        "id": str(given.agent.id),
        "version": given.agent.version,
        "name": given.agent.name,
    }

    assert shown("drill", {"steps": 3}) == {"steps": 3}


RUN = RunId.mint(BEGINNING, ENTROPY)
ASKED = ApprovalId.mint(BEGINNING, ENTROPY)
USAGE = Usage(input=3, output=4, cached=1, reported=False)

EVERY: tuple[AgentEvent, ...] = (
    TurnStarted(turn=1, model="local:small"),
    TextDelta(turn=1, attempt=2, offset=3, text="é\n"),
    ReasoningDelta(turn=1, attempt=2, offset=3, text="hm"),
    ToolCallStarted(turn=1, call="c", tool="files.read", arguments={"path": ["/a", 1, None]}),
    ToolCallAwaitingApproval(turn=1, call="c", tool="files.read", approval=ASKED, expires_at=None),
    ToolCallAwaitingApproval(
        turn=1,
        call="c",
        tool="files.read",
        approval=ASKED,
        expires_at=datetime(2026, 1, 2, tzinfo=UTC),
    ),
    ToolCallFinished(turn=1, call="c", tool="files.read", text="x", failed=True, seconds=0.5),
    TurnFinished(
        turn=1,
        model="m",
        usage=USAGE,
        money=Decimal("0.10"),
        finish=Finish.LENGTH,
        notes=("a", "b"),
    ),
    InputReceived(number=2, text="And?"),
    RunNotice(code="fallback", message="Another one."),
    RunFinished(
        run=RUN,
        status=AgentRunStatus.FAILED,
        answer="",
        error_code="x",
        error="It broke.",
        fix="Mend it.",
        usage=USAGE,
        money=Decimal(0),
    ),
)


@pytest.mark.parametrize("happening", EVERY, ids=lambda each: type(each).__name__)
def test_each_comes_back_as_it_was(happening: AgentEvent) -> None:
    type_, facts = happening_json(happening)

    assert canonical(facts)
    assert set(facts) == {each.name for each in fields(happening)}
    assert happening_of(type_, facts) == happening


def test_every_kind_of_them_has_a_type_of_its_own() -> None:
    assert {type(each) for each in EVERY} == set(TYPES)
    assert len(set(TYPES.values())) == len(TYPES)


def test_what_is_not_as_it_must_be_is_as_little_as_can_be() -> None:
    began = ToolCallStarted(turn=1, call="c", tool="t", arguments={})
    ended = TurnFinished(turn=1, model="m", usage=USAGE, money=Decimal(0))

    assert happening_of("tool.began", {**happening_json(began)[1], "arguments": None}) == began
    assert happening_of("turn.ended", {**happening_json(ended)[1], "notes": None}) == ended


LISTED = RunId.mint(BEGINNING, SeededEntropy("run"))


def test_a_place_is_read_as_it_was_written() -> None:
    place = TracePlace(BEGINNING.astimezone(timezone(timedelta(hours=2))), LISTED)

    assert TracePlace.parse(str(place)) == place


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        f"yesterday {LISTED}",
        f"{BEGINNING.isoformat()} run_1",
        f"2026-01-01T00:00:00 {LISTED}",
    ],
)
def test_what_is_no_place_is_refused(text: str) -> None:
    with pytest.raises(InvalidCursor):
        TracePlace.parse(text)
