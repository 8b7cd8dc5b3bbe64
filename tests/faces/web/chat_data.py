"""Makers of runs of agents, for what is drawn of them."""

from collections.abc import Sequence
from datetime import timedelta
from decimal import Decimal
from typing import Any

from portico.agents.core.agent import Agent, AgentId, AgentSpec
from portico.agents.core.asking import Finish, Usage
from portico.agents.core.trace import PersonSaid, RunTrace, ToolUse, TurnTrace, WholeTrace
from portico.kernel.ids import ContextId, PrincipalId, RunId, SpaceId
from portico.kernel.label import Label, Level
from portico.testing.kernel import BEGINNING, SeededEntropy

_entropy = SeededEntropy("chats")
RUN = RunId.mint(BEGINNING, _entropy)
ANA = PrincipalId.mint(BEGINNING, _entropy)
TEAM = Label(Level.TEAM)


def a_run(number: int, **changes: Any) -> RunTrace:
    """The later its number, the later it was started."""
    usual: dict[str, Any] = {
        "run": RunId.mint(BEGINNING + timedelta(hours=number), _entropy),
        "agent": AgentId.mint(BEGINNING, _entropy),
        "agent_name": "clerk",
        "agent_version": 1,
        "started_by": ANA,
        "acts_as": ANA,
        "context": ContextId.mint(BEGINNING, _entropy),
        "label": TEAM,
        "started_at": BEGINNING,
        "model": "local:small",
        "asked": f"Question {number}",
        "trace_id": "0" * 32,
    }
    return RunTrace(**{**usual, **changes})


def said(number: int, text: str) -> PersonSaid:
    return PersonSaid(run=RUN, number=number, text=text, by=ANA, at=BEGINNING)


def a_turn(number: int, text: str, **changes: Any) -> TurnTrace:
    usual: dict[str, Any] = {
        "run": RUN,
        "number": number,
        "model": "local:small",
        "attempts": 1,
        "heard": 1,
        "text": text,
        "usage": Usage(input=10, output=5),
        "counted": 15,
        "money": Decimal(0),
        "finish": Finish.STOP,
        "started_at": BEGINNING,
        "took": timedelta(seconds=1),
        "label": TEAM,
        "span_id": "0" * 16,
    }
    return TurnTrace(**{**usual, **changes})


def a_use(**changes: Any) -> ToolUse:
    usual: dict[str, Any] = {
        "run": RUN,
        "turn": 1,
        "place": 0,
        "call": "c1",
        "tool": "files.read",
        "arguments": {"path": "a"},
        "text": "Text.",
        "failed": False,
        "started_at": BEGINNING + timedelta(seconds=1),
        "took": timedelta(seconds=1),
        "label": TEAM,
        "span_id": "0" * 16,
    }
    return ToolUse(**{**usual, **changes})


def a_trace(
    turns: Sequence[TurnTrace], said: Sequence[PersonSaid], uses: Sequence[ToolUse] = ()
) -> WholeTrace:
    return WholeTrace(run=a_run(0, run=RUN), said=tuple(said), turns=tuple(turns), uses=tuple(uses))


def an_agent(spec: AgentSpec) -> Agent:
    return Agent(
        id=AgentId.mint(BEGINNING, _entropy),
        space=SpaceId.mint(BEGINNING, _entropy),
        principal=ANA,
        spec=spec,
        version=1,
        made_by=ANA,
        made_by_name="ana",
        made_at=BEGINNING,
        changed_at=BEGINNING,
    )
