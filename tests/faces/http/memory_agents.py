"""Agents as data behind the HTTP face, on in-memory doors."""

from portico.adapters.joins.agent_identities import AgentIdentities
from portico.faces.http.agent_run_use_cases import AgentRunUseCases
from portico.faces.http.agent_use_cases import AgentUseCases
from portico.main.assemble import Doors
from portico.main.assemble_agents import AgentDoors, assemble_agents
from portico.testing.agent_data import ListedTools, MemoryAgents, MemoryTraces
from portico.testing.agents import MemoryBook
from portico.testing.contexts import MemoryTaskContexts
from portico.testing.guard_policy import MemoryRules
from portico.testing.trace_reports import MemoryTraceReports
from portico.testing.world import MemoryWorld


def memory_agents(world: MemoryWorld, doors: Doors, runs: AgentRunUseCases) -> AgentUseCases:
    """With one model, `local:small`, and two tools of a server `files`."""
    identities = AgentIdentities(
        principals=doors.principals,
        approvals=runs.stop_run.approvals,
        withdraw=runs.stop_run.withdraw,
        rules=MemoryRules(world=world),
        audit=doors.audit,
        together=doors.together,
        clock=doors.clock,
    )
    return assemble_agents(
        AgentDoors(
            agents=MemoryAgents(world),
            identities=identities,
            traces=MemoryTraces(world),
            reports=MemoryTraceReports(world),
            settling=runs.follow_run,
            book=MemoryBook(),
            tools=ListedTools("files.read", "files.write", servers=["files", "builtin"]),
            contexts=MemoryTaskContexts(world),
            together=doors.together,
            audit=doors.audit,
            clock=doors.clock,
            entropy=doors.entropy,
            version=doors.version,
        )
    )
