"""What the routes of agents and of their traces can call."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request

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
from portico.agents.traces import ExportTrace, ListTraces, ShowModelStats, ShowToolStats, ShowTrace


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentUseCases:
    create_agent: CreateAgent
    change_agent: ChangeAgent
    remove_agent: RemoveAgent
    duplicate_agent: DuplicateAgent
    show_agent: ShowAgent
    list_agents: ListAgents
    check_agent: CheckAgent
    list_versions: ListVersions
    diff_versions: DiffVersions
    restore_version: RestoreVersion
    export_agent: ExportAgent
    import_agent: ImportAgent
    list_templates: ListTemplates
    list_traces: ListTraces
    show_trace: ShowTrace
    export_trace: ExportTrace
    show_tool_stats: ShowToolStats
    show_model_stats: ShowModelStats


def _agents(request: Request) -> AgentUseCases:
    found: AgentUseCases = request.app.state.agents
    return found


Agents = Annotated[AgentUseCases, Depends(_agents)]
