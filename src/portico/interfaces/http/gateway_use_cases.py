"""What the gateway's routes can call."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request

from portico.gateway.calls import CallTool, ListCalls, ShowFigures
from portico.gateway.catalog import ListTools, ShowTool
from portico.gateway.confinement import SetProfile, ShowProfile
from portico.gateway.results import ReadResult
from portico.gateway.search import FindTools
from portico.gateway.server_approval import AcceptTools, ApproveLaunch, ReviewServers, SetEffects
from portico.gateway.servers import (
    AddServer,
    LabelServer,
    ListServers,
    RemoveServer,
    RestartServer,
    ShowServer,
    SwitchServer,
)
from portico.interfaces.http.ahead_use_cases import AheadUseCases
from portico.interfaces.http.approval_use_cases import ApprovalUseCases
from portico.interfaces.http.graph_use_cases import GraphUseCases
from portico.interfaces.http.login_use_cases import LoginUseCases
from portico.interfaces.http.policy_use_cases import PolicyUseCases
from portico.interfaces.http.program_use_cases import ProgramUseCases
from portico.interfaces.http.saved_use_cases import SavedUseCases
from portico.interfaces.http.secret_use_cases import SecretUseCases
from portico.interfaces.http.suggest_use_cases import SuggestUseCases
from portico.interfaces.http.workflow_use_cases import WorkflowUseCases
from portico.learning.dataflow.propose_edges import ProposeEdges
from portico.workflows.plan_checks import CheckPlan
from portico.workflows.runs import RunWorkflow


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayUseCases:
    add_server: AddServer
    remove_server: RemoveServer
    switch_server: SwitchServer
    restart_server: RestartServer
    list_servers: ListServers
    show_server: ShowServer
    show_profile: ShowProfile
    set_profile: SetProfile
    approve_launch: ApproveLaunch
    review_servers: ReviewServers
    accept_tools: AcceptTools
    label_server: LabelServer
    set_effects: SetEffects
    policy: PolicyUseCases
    approvals: ApprovalUseCases
    logins: LoginUseCases
    secrets: SecretUseCases
    list_tools: ListTools
    show_tool: ShowTool
    propose_edges: ProposeEdges
    check_plan: CheckPlan
    workflows: WorkflowUseCases
    run_workflow: RunWorkflow
    suggest: SuggestUseCases
    programs: ProgramUseCases
    saved: SavedUseCases
    ahead: AheadUseCases
    graph: GraphUseCases
    find_tools: FindTools
    call_tool: CallTool
    read_result: ReadResult
    list_calls: ListCalls
    show_figures: ShowFigures


def _gateway(request: Request) -> GatewayUseCases:
    found: GatewayUseCases = request.app.state.gateway
    return found


Gateway = Annotated[GatewayUseCases, Depends(_gateway)]
