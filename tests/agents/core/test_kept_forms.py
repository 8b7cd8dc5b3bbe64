"""What a run is given, what it notes and what is said in it, as JSON and back."""

import json

import pytest

from portico.agents.core.agent import Limits
from portico.agents.core.given import RunGiven, stop_topic
from portico.agents.core.message import ModelSaid, ToolCall, ToolGave, UserSaid
from portico.agents.core.message_json import calls_of, message_as_json, message_of
from portico.agents.core.noted import Aim, TurnNoted
from portico.guard.core.authentication import as_principal
from portico.kernel.ids import ContextId, RunId
from portico.testing.agent_data import TEAM, an_agent
from portico.testing.guard import an_identity
from portico.testing.kernel import BEGINNING, SeededEntropy

ENTROPY = SeededEntropy("given")
ANA = as_principal(an_identity("ana"))


@pytest.mark.parametrize("continues", [None, RunId.mint(BEGINNING, ENTROPY)])
def test_what_a_run_is_given_comes_back_as_it_was(continues: RunId | None) -> None:
    given = RunGiven(
        agent=an_agent(ANA),
        context=ContextId.mint(BEGINNING, ENTROPY),
        asker={"key": "k"},
        label=TEAM,
        model="local:small",
        limits=Limits(turns=3),
        continues=continues,
    )

    assert RunGiven.from_json(json.loads(json.dumps(given.as_json()))) == given


def test_each_run_is_told_to_stop_by_itself() -> None:
    one, other = RunId.mint(BEGINNING, ENTROPY), RunId.mint(BEGINNING, ENTROPY)

    assert stop_topic(one) != stop_topic(other)


@pytest.mark.parametrize(
    "message",
    [
        UserSaid("Hello."),
        ModelSaid("Hm.", (ToolCall("c", "read", {"path": "/a"}),), {"kept": [1]}),
        ToolGave("c", "read", "text", failed=True),
    ],
)
def test_what_is_said_comes_back_as_it_was(message: UserSaid | ModelSaid | ToolGave) -> None:
    assert message_of(json.loads(json.dumps(message_as_json(message)))) == message


def test_what_is_no_message_is_not_taken_for_one() -> None:
    with pytest.raises(ValueError, match="no JSON object"):
        message_of("Hello.")


def test_no_calls_are_none() -> None:
    assert calls_of("none") == calls_of(None) == ()


@pytest.mark.parametrize(
    "noted",
    [
        TurnNoted(),
        TurnNoted(aims=(Aim("a.b"), None, Aim("c.d", inside=True)), lost=2),
        TurnNoted(stopped=True, error="code"),
    ],
)
def test_what_is_noted_of_a_turn_comes_back_as_it_was(noted: TurnNoted) -> None:
    assert TurnNoted.from_json(json.loads(json.dumps(noted.as_json()))) == noted


def test_what_a_tool_is_given_may_stand_inside_a_call() -> None:
    call = ToolCall("c", "call_tool", {"tool": "a.b", "arguments": {"x": 1}})

    assert Aim("a.b", inside=True).arguments(call) == {"x": 1}
    assert Aim("a.b").arguments(call) == call.arguments
    assert Aim("a.b", inside=True).arguments(ToolCall("c", "call_tool", {})) == {}
