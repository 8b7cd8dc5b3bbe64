"""From the doors of agents as data to what faces can do with them; also for in-memory doors."""

from dataclasses import dataclass

from portico.adapters.agent_toml import TomlAgentFiles
from portico.adapters.telemetry.agent_spans import OtlpSpans
from portico.agents.agent_checks import CheckAgent
from portico.agents.agents import (
    ChangeAgent,
    CreateAgent,
    DiffVersions,
    DuplicateAgent,
    ExportAgent,
    ImportAgent,
    ListAgents,
    ListTemplates,
    ListVersions,
    RemoveAgent,
    RestoreVersion,
    ShowAgent,
)
from portico.agents.ports import Agents, Identities, ModelBook, ToolNames, Traces
from portico.agents.traces import (
    ExportTrace,
    ListTraces,
    Settling,
    ShowModelStats,
    ShowToolStats,
    ShowTrace,
    TraceReports,
)
from portico.guard.ports import Audit, Contexts, Together
from portico.interfaces.http.use_cases import AgentUseCases
from portico.kernel.clock import Clock, Entropy


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentDoors:
    agents: Agents
    identities: Identities
    traces: Traces
    reports: TraceReports
    settling: Settling
    book: ModelBook
    tools: ToolNames
    contexts: Contexts
    together: Together
    audit: Audit
    clock: Clock
    entropy: Entropy
    version: str


def assemble_agents(doors: AgentDoors) -> AgentUseCases:
    agents, contexts, files = doors.agents, doors.contexts, TomlAgentFiles()
    check = CheckAgent(book=doors.book, tools=doors.tools, contexts=contexts)
    create = CreateAgent(
        agents=agents,
        identities=doors.identities,
        check_agent=check,
        together=doors.together,
        audit=doors.audit,
        clock=doors.clock,
        entropy=doors.entropy,
    )
    change = ChangeAgent(
        agents=agents,
        identities=doors.identities,
        check_agent=check,
        together=doors.together,
        audit=doors.audit,
        clock=doors.clock,
    )
    show = ShowAgent(agents=agents, contexts=contexts)
    versions = ListVersions(agents=agents, contexts=contexts)
    return AgentUseCases(
        create_agent=create,
        change_agent=change,
        remove_agent=RemoveAgent(
            agents=agents,
            identities=doors.identities,
            together=doors.together,
            audit=doors.audit,
        ),
        duplicate_agent=DuplicateAgent(agents=agents, contexts=contexts, create_agent=create),
        show_agent=show,
        list_agents=ListAgents(agents=agents),
        check_agent=check,
        list_versions=versions,
        diff_versions=DiffVersions(list_versions=versions),
        restore_version=RestoreVersion(list_versions=versions, change_agent=change),
        export_agent=ExportAgent(show_agent=show, files=files),
        import_agent=ImportAgent(
            agents=agents,
            files=files,
            check_agent=check,
            create_agent=create,
            change_agent=change,
        ),
        list_templates=ListTemplates(),
        list_traces=ListTraces(reports=doors.reports, settling=doors.settling, contexts=contexts),
        show_trace=ShowTrace(traces=doors.traces, settling=doors.settling, contexts=contexts),
        export_trace=ExportTrace(traces=doors.traces, spans=OtlpSpans(doors.version)),
        show_tool_stats=ShowToolStats(reports=doors.reports),
        show_model_stats=ShowModelStats(reports=doors.reports),
    )
