"""The use cases of runs of agents that faces call."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated

from fastapi import Depends, Request

from portico.agents.conversations import TakeQuestion
from portico.agents.runs import (
    AnswerInterrupts,
    AnswerOf,
    FollowRun,
    ResumeAgentRun,
    StartAgentRun,
    SteerRun,
    StopRun,
)
from portico.workflows.control import ResolveStep


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentRunUseCases:
    start_agent_run: StartAgentRun
    follow_run: FollowRun
    answer_of: AnswerOf
    steer_run: SteerRun
    stop_run: StopRun
    resume_agent_run: ResumeAgentRun
    resolve_step: ResolveStep
    """Of a call of which nobody knows whether it was made."""
    take_question: TakeQuestion
    answer_interrupts: AnswerInterrupts
    chat_patience: timedelta = timedelta(seconds=120)
    """How long a chat goes on while people are asked, before it ends and can be picked up."""


def _use(request: Request) -> AgentRunUseCases:
    found: AgentRunUseCases = request.app.state.agent_runs
    return found


Runs = Annotated[AgentRunUseCases, Depends(_use)]
