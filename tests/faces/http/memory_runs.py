"""Runs of agents behind the HTTP face on in-memory doors: the use cases are real, and what would
happen in a run is said by the test."""

from dataclasses import dataclass
from typing import Any

from portico.agents.answer_interrupts import AnswerInterrupts
from portico.agents.follow_run import AnswerOf, FollowRun
from portico.agents.resume_run import ResumeAgentRun
from portico.agents.start_run import AGENT, StartAgentRun
from portico.agents.steer_run import SteerRun
from portico.agents.stop_run import StopRun
from portico.agents.take_question import TakeQuestion
from portico.engine.kinds import Kind
from portico.faces.http.agent_run_use_cases import AgentRunUseCases
from portico.faces.http.gateway_use_cases import GatewayUseCases
from portico.faces.http.use_cases import UseCases
from portico.kernel.durable import Durable
from portico.kernel.json import JsonObject, JsonValue
from portico.main.assemble import Doors
from portico.testing.agent_data import MemoryAgents, MemoryTraces
from portico.testing.agents import MemoryIdentities, MemoryTalk, MemoryTasks
from portico.testing.world import MemoryWorld


@dataclass(frozen=True)
class MemoryRuns:
    use: AgentRunUseCases
    agents: MemoryAgents
    traces: MemoryTraces
    talk: MemoryTalk


async def _nothing(_durable: Durable, _given: JsonObject) -> JsonValue:
    return None


KIND = Kind(name=AGENT, work=_nothing)


def memory_runs(
    world: MemoryWorld, doors: Doors, use: UseCases, gateway: GatewayUseCases
) -> MemoryRuns:
    approvals = gateway.approvals
    agents, traces, talk, tasks = (
        MemoryAgents(world),
        MemoryTraces(world),
        MemoryTalk(),
        MemoryTasks(),
    )
    shared: dict[str, Any] = {
        "traces": traces,
        "book": doors.book,
        "runs": doors.runs,
        "line": doors.line,
        "audit": doors.audit,
        "together": doors.together,
    }
    start = StartAgentRun(
        agents=agents,
        identities=MemoryIdentities(),
        tasks=tasks,
        traces=traces,
        book=doors.book,
        start_run=use.start_run.start_run,
        audit=doors.audit,
        together=doors.together,
        clock=doors.clock,
        entropy=doors.entropy,
    )
    asked = approvals.show_approval.approvals
    follow = FollowRun(traces=traces, talk=talk, tasks=tasks, book=doors.book, clock=doors.clock)
    answer_of = AnswerOf(follow_run=follow, approvals=asked, clock=doors.clock)
    steer = SteerRun(traces=traces, tasks=tasks, clock=doors.clock)
    runs = AgentRunUseCases(
        start_agent_run=start,
        follow_run=follow,
        answer_of=answer_of,
        steer_run=steer,
        stop_run=StopRun(
            **shared,
            talk=talk,
            bus=doors.bus,
            approvals=asked,
            withdraw=approvals.withdraw_approval,
            clock=doors.clock,
        ),
        resume_agent_run=ResumeAgentRun(**shared),
        resolve_step=gateway.workflows.resolve_step,
        take_question=TakeQuestion(
            start_agent_run=start,
            steer_run=steer,
            answer_of=answer_of,
            traces=traces,
            clock=doors.clock,
        ),
        answer_interrupts=AnswerInterrupts(
            answer_approval=approvals.answer_approval, traces=traces
        ),
    )
    return MemoryRuns(runs, agents, traces, talk)
