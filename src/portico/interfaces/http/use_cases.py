"""The use cases that HTTP can call, as the composition root hands them over."""

from dataclasses import dataclass, replace
from datetime import timedelta
from decimal import Decimal
from typing import Annotated, Final

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
from portico.agents.conversations import TakeQuestion
from portico.agents.model_requests import ListModels, ListProviders, ShowModel, TestModel
from portico.agents.runs import (
    AnswerInterrupts,
    AnswerOf,
    FollowRun,
    ResumeAgentRun,
    StartAgentRun,
    SteerRun,
    StopRun,
)
from portico.agents.traces import ExportTrace, ListTraces, ShowModelStats, ShowToolStats, ShowTrace
from portico.bridge.activity import FollowConversations
from portico.bridge.attachments import Attach, FetchAttachment
from portico.bridge.conversations import (
    ChangeConversation,
    CreateConversation,
    Join,
    Leave,
    ListConversations,
    ListParticipants,
    Mute,
    ShowConversation,
)
from portico.bridge.declassification import ListDeclassifications, ProposeDeclassification
from portico.bridge.export import ExportProject
from portico.bridge.leases import CheckLease, ListLeases, ReleaseLease, RenewLease, TakeLease
from portico.bridge.memory import Forget, ListMemory, MemoryHistory, Recall, Remember, SearchMemory
from portico.bridge.messages import (
    Acknowledge,
    DeleteMessage,
    EditMessage,
    ListAcknowledged,
    NamePeople,
    ReadBack,
    ReadMessages,
    ReadThread,
    SendMessage,
    ShowMessage,
    ShowVersions,
    TailCursor,
)
from portico.bridge.presence import ListPresence, SayPresence, WhoAmI
from portico.bridge.projects import ChangeProject, CreateProject, ListProjects, ShowProject
from portico.bridge.read_state import CountUnread, MarkOne, MarkRead, ShowInbox
from portico.bridge.search import SearchMessages
from portico.bridge.work_items import AddWork, ClaimWork, EndWork, HandOverWork, ListWork, ShowWork
from portico.debate.core.questions import Cap
from portico.debate.debaters import ListDebaters, ManagePersonas, ShortenAnswer
from portico.debate.debates import (
    AskInChat,
    QueryDebates,
    RemoveDebate,
    ShareDebate,
    StartDebate,
    StopDebate,
    WaitForDebate,
)
from portico.debate.estimates import EstimateDebate, ProjectBudget
from portico.debate.events import FollowDebate
from portico.debate.guests import AnswerAsGuest, JoinDebate, WaitAtSeat
from portico.debate.outcomes import MarkOutcome, PromoteDebate
from portico.debate.replay import ReplayDebate
from portico.engine.event_log import ReadRunEvents, Tails, WatchRun, WatchTopics
from portico.engine.idempotency import IdempotentWrite
from portico.engine.runs import (
    CancelRun,
    ForkRun,
    ListRuns,
    ResumeRun,
    ShowRun,
    SignalRun,
    StartForPeople,
    WaitForRun,
)
from portico.engine.store import ShowMetrics, ShowStatus
from portico.gateway.approved_calls import ReadApproved, ReadOutcome
from portico.gateway.calls import CallTool, ListCalls, ShowCallStats
from portico.gateway.catalog import ListTools, ShowTool
from portico.gateway.confinement import SetProfile, ShowProfile
from portico.gateway.logins import (
    ConfigureLogin,
    ForgetLoginClient,
    LogInToServer,
    LogOutOfServer,
    ShowLogin,
)
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
from portico.guard.approvals import (
    AnswerApproval,
    CountApprovals,
    ListApprovals,
    ResolveApproval,
    ShowApproval,
    WithdrawApproval,
)
from portico.guard.audit import ExportAudit, ReadAudit, ShowAuditHead, VerifyAudit
from portico.guard.authentication import Authenticate
from portico.guard.contexts import CloseContext, EnterContext, ListContexts, OpenContext
from portico.guard.invitations import AcceptInvitation, InviteAgain, InvitePerson
from portico.guard.key_trust import ShowTrust, TrustClient
from portico.guard.keys import IssueAgentKey, IssueKey, ListKeys, RevokeKey, RotateKey, ShowKey
from portico.guard.oauth_logins import FinishLogin, ShowPendingLogin
from portico.guard.policy import ExplainPolicy
from portico.guard.principals import AddPrincipal, ChangePrincipal, ListPrincipals, ShowPrincipal
from portico.guard.rules import AddRule, ListRules, RemoveRule
from portico.guard.secrets import ListSecrets, SetSecret, UnsetSecret
from portico.guard.sessions import EndSession, LeaveSession, ListSessions, OpenSession, TakeSession
from portico.guard.spaces import DeleteSpace, ExportSpace, FoundSpace, RenameSpace, ShowSpace
from portico.learning.dataflow import ProposeEdges
from portico.learning.prefetch import ListPrefetchEdges, ShowPrefetch, SwitchPrefetch
from portico.learning.suggestions import GiveFeedback, SuggestWorkflow
from portico.learning.tool_graph import (
    ExportGraph,
    FindWays,
    ListCommunities,
    ListNeighbours,
    ShowGraphMetrics,
)
from portico.workflows.control import CancelWorkflow, ForkWorkflow, ResolveStep, ResumeWorkflow
from portico.workflows.plan_checks import CheckPlan
from portico.workflows.programs import ShowProgram, StartProgram, WaitForProgram
from portico.workflows.run_queries import ListWorkflows, ShowWorkflow
from portico.workflows.runs import RunWorkflow, StartWorkflow, WaitForWorkflow
from portico.workflows.saved import ListSaved, RemoveSaved, SaveWorkflow, ShowSaved


@dataclass(frozen=True, slots=True, kw_only=True)
class UseCases:
    authenticate: Authenticate
    do_once: IdempotentWrite
    found_space: FoundSpace
    show_space: ShowSpace
    rename_space: RenameSpace
    export_space: ExportSpace
    delete_space: DeleteSpace
    add_principal: AddPrincipal
    list_principals: ListPrincipals
    show_principal: ShowPrincipal
    change_principal: ChangePrincipal
    invite_person: InvitePerson
    invite_again: InviteAgain
    accept_invitation: AcceptInvitation
    issue_key: IssueKey
    issue_agent_key: IssueAgentKey
    list_keys: ListKeys
    show_key: ShowKey
    rotate_key: RotateKey
    revoke_key: RevokeKey
    open_session: OpenSession
    take_session: TakeSession
    leave_session: LeaveSession
    list_sessions: ListSessions
    end_session: EndSession
    open_context: OpenContext
    list_contexts: ListContexts
    close_context: CloseContext
    enter_context: EnterContext
    show_status: ShowStatus
    start_run: StartForPeople
    wait_for_run: WaitForRun
    list_runs: ListRuns
    show_run: ShowRun
    cancel_run: CancelRun
    resume_run: ResumeRun
    fork_run: ForkRun
    signal_run: SignalRun
    watch_run: WatchRun
    watch_topics: WatchTopics
    read_run_events: ReadRunEvents
    tails: Tails
    read_audit: ReadAudit
    show_audit_head: ShowAuditHead
    export_audit: ExportAudit
    verify_audit: VerifyAudit
    show_metrics: ShowMetrics
    version: str
    base_url: str
    """What links to this server begin with."""


def _use_cases(request: Request) -> UseCases:
    found: UseCases = request.app.state.use_cases
    return found


Use = Annotated[UseCases, Depends(_use_cases)]


@dataclass(frozen=True, slots=True, kw_only=True)
class PrefetchUseCases:
    show: ShowPrefetch
    switch: SwitchPrefetch
    list_edges: ListPrefetchEdges


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalUseCases:
    list_approvals: ListApprovals
    count_approvals: CountApprovals
    show_approval: ShowApproval
    answer_approval: AnswerApproval
    withdraw_approval: WithdrawApproval
    resolve_approval: ResolveApproval
    read_outcome: ReadOutcome
    read_approved: ReadApproved
    show_trust: ShowTrust
    trust_client: TrustClient


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphUseCases:
    metrics: ShowGraphMetrics
    ways: FindWays
    communities: ListCommunities
    neighbours: ListNeighbours
    export: ExportGraph


@dataclass(frozen=True, slots=True, kw_only=True)
class LoginUseCases:
    start: LogInToServer
    show: ShowLogin
    end: LogOutOfServer
    configure: ConfigureLogin
    forget_client: ForgetLoginClient
    ahead: ShowPendingLogin
    finish: FinishLogin


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyUseCases:
    add_rule: AddRule
    list_rules: ListRules
    remove_rule: RemoveRule
    explain: ExplainPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramUseCases:
    start_program: StartProgram
    show_program: ShowProgram
    wait_for_program: WaitForProgram


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedUseCases:
    save_workflow: SaveWorkflow
    list_saved: ListSaved
    show_saved: ShowSaved
    remove_saved: RemoveSaved


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretUseCases:
    set_secret: SetSecret
    list_secrets: ListSecrets
    unset_secret: UnsetSecret


@dataclass(frozen=True, slots=True, kw_only=True)
class SuggestUseCases:
    suggest_workflow: SuggestWorkflow
    give_feedback: GiveFeedback


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowUseCases:
    start_workflow: StartWorkflow
    show_workflow: ShowWorkflow
    wait_for_workflow: WaitForWorkflow
    list_workflows: ListWorkflows
    cancel_workflow: CancelWorkflow
    resume_workflow: ResumeWorkflow
    fork_workflow: ForkWorkflow
    resolve_step: ResolveStep
    wait: timedelta = timedelta(seconds=50)
    """How long a client that runs a plan is kept waiting."""


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
    ahead: PrefetchUseCases
    graph: GraphUseCases
    find_tools: FindTools
    call_tool: CallTool
    read_result: ReadResult
    list_calls: ListCalls
    show_figures: ShowCallStats


def _gateway(request: Request) -> GatewayUseCases:
    found: GatewayUseCases = request.app.state.gateway
    return found


Gateway = Annotated[GatewayUseCases, Depends(_gateway)]


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


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelUseCases:
    list_models: ListModels
    show_model: ShowModel
    list_providers: ListProviders
    test_model: TestModel


def _model_use_cases(request: Request) -> ModelUseCases:
    found: ModelUseCases = request.app.state.models
    return found


Models = Annotated[ModelUseCases, Depends(_model_use_cases)]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationUseCases:
    create_project: CreateProject
    show_project: ShowProject
    change_project: ChangeProject
    list_projects: ListProjects
    create_conversation: CreateConversation
    show_conversation: ShowConversation
    change_conversation: ChangeConversation
    list_conversations: ListConversations
    list_participants: ListParticipants
    join: Join
    leave: Leave
    mute: Mute
    send_message: SendMessage
    edit_message: EditMessage
    delete_message: DeleteMessage
    show_versions: ShowVersions
    read_messages: ReadMessages
    look_back: ReadBack
    read_thread: ReadThread
    show_message: ShowMessage
    tail_cursor: TailCursor
    mark_read: MarkRead
    mark_one: MarkOne
    acknowledge: Acknowledge
    list_acknowledged: ListAcknowledged
    show_inbox: ShowInbox
    count_unread: CountUnread
    follow_conversations: FollowConversations
    search_messages: SearchMessages
    who_am_i: WhoAmI
    name_people: NamePeople


@dataclass(frozen=True, slots=True, kw_only=True)
class ThingUseCases:
    """What a project has besides talk."""

    remember: Remember
    recall: Recall
    forget: Forget
    list_memory: ListMemory
    search_memory: SearchMemory
    memory_history: MemoryHistory
    attach: Attach
    fetch_attachment: FetchAttachment
    take_lease: TakeLease
    renew_lease: RenewLease
    release_lease: ReleaseLease
    check_lease: CheckLease
    list_leases: ListLeases
    add_work: AddWork
    show_work: ShowWork
    list_work: ListWork
    claim_work: ClaimWork
    hand_over_work: HandOverWork
    end_work: EndWork
    say_presence: SayPresence
    list_presence: ListPresence


@dataclass(frozen=True, slots=True, kw_only=True)
class LettingOutUseCases:
    """What leaves: less secret than it was, or all of a project at once."""

    propose_declassification: ProposeDeclassification
    list_declassifications: ListDeclassifications
    export_project: ExportProject


@dataclass(frozen=True, slots=True, kw_only=True)
class BridgeUseCases:
    talk: ConversationUseCases
    things: ThingUseCases
    letting_out: LettingOutUseCases


def _talk(request: Request) -> ConversationUseCases:
    found: BridgeUseCases = request.app.state.bridge
    return found.talk


def _things(request: Request) -> ThingUseCases:
    found: BridgeUseCases = request.app.state.bridge
    return found.things


def _letting_out(request: Request) -> LettingOutUseCases:
    found: BridgeUseCases = request.app.state.bridge
    return found.letting_out


Talk = Annotated[ConversationUseCases, Depends(_talk)]
Things = Annotated[ThingUseCases, Depends(_things)]
LettingOut = Annotated[LettingOutUseCases, Depends(_letting_out)]

_LEAST: Final = Decimal("0.000000001")
"""Dollars: less than any call costs. A cap of nothing at all is refused as a slip where somebody
gives it, and is a setting all the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DebateUseCases:
    start_debate: StartDebate
    ask_in_chat: AskInChat
    shorten_answer: ShortenAnswer
    estimate_debate: EstimateDebate
    look: QueryDebates
    follow_debate: FollowDebate
    wait_for_debate: WaitForDebate
    stop_debate: StopDebate
    join_debate: JoinDebate
    wait_at_seat: WaitAtSeat
    answer_as_guest: AnswerAsGuest
    mark_outcome: MarkOutcome
    replay_debate: ReplayDebate
    share_debate: ShareDebate
    promote_debate: PromoteDebate
    remove_debate: RemoveDebate
    list_voices: ListDebaters
    personas: ManagePersonas
    budget: ProjectBudget

    @property
    def usual_cap(self) -> Cap:
        """Of the settings: it holds for whatever a caller says nothing about."""
        cap = self.start_debate.prepare.usual.cap
        return cap if cap.money is None else replace(cap, money=max(cap.money, _LEAST))


def _debate_use_cases(request: Request) -> DebateUseCases:
    found: DebateUseCases = request.app.state.debates
    return found


Debates = Annotated[DebateUseCases, Depends(_debate_use_cases)]
