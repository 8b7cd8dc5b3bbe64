"""What the routes of agents and of their traces can call."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request

from portico.agents.agent_files import ExportAgent, ImportAgent
from portico.agents.agent_versions import DiffVersions, ListVersions, RestoreVersion
from portico.agents.check_agent import CheckAgent
from portico.agents.list_templates import ListTemplates
from portico.agents.look_at_traces import (
    ExportTrace,
    ListTraces,
    ShowModelStats,
    ShowToolStats,
    ShowTrace,
)
from portico.agents.manage_agents import (
    ChangeAgent,
    CreateAgent,
    DuplicateAgent,
    ListAgents,
    RemoveAgent,
    ShowAgent,
)


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
