"""Makers of runs of agents, for what is drawn of them."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

from portico.agents.core.agents import Agent, AgentSpec
from portico.agents.core.traces import RunTrace, ToolUse, TurnTrace, UserInput, WholeTrace
from portico.testing import agent_data
from portico.testing.agent_data import TEAM, an_agent_run
from portico.testing.guard import a_person
from portico.testing.memory_store import BEGINNING

PERSON = a_person("ana")
ANA = PERSON.id
THE_RUN = an_agent_run(PERSON, 0)
RUN = THE_RUN.run


def a_run(number: int, **changes: Any) -> RunTrace:
    """The later its number, the later it was started."""
    at = BEGINNING + timedelta(hours=number)
    made = replace(an_agent_run(PERSON, number, at=at), asked=f"Question {number}")
    return replace(made, **changes)


def said(number: int, text: str) -> UserInput:
    return UserInput(run=RUN, number=number, text=text, by=ANA, at=BEGINNING)


def a_turn(number: int, text: str, **changes: Any) -> TurnTrace:
    made = agent_data.a_turn(THE_RUN, number, text)
    return replace(made, **{"started_at": BEGINNING, "took": timedelta(seconds=1), **changes})


def a_use(**changes: Any) -> ToolUse:
    made = agent_data.a_use(THE_RUN)
    usual = {"call": "c1", "text": "Text.", "took": timedelta(seconds=1)}
    return replace(made, **{**usual, **changes})


def a_trace(
    turns: Sequence[TurnTrace], said: Sequence[UserInput], uses: Sequence[ToolUse] = ()
) -> WholeTrace:
    run = replace(THE_RUN, asked="Question 0")
    return WholeTrace(run=run, said=tuple(said), turns=tuple(turns), uses=tuple(uses))


def an_agent(spec: AgentSpec) -> Agent:
    return agent_data.an_agent(PERSON, spec=spec)


__all__ = ["ANA", "RUN", "TEAM", "a_run", "a_trace", "a_turn", "a_use", "an_agent", "said"]
