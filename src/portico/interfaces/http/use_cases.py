"""What the HTTP face can call, as the composition root hands it over."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request

from portico.engine.event_log import ReadRunEvents, Tails, WatchRun, WatchTopics
from portico.engine.idempotency import DoOnce
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
from portico.guard.audit import ExportAudit, ReadAudit, ShowAuditHead, VerifyAudit
from portico.guard.authentication import Authenticate
from portico.guard.contexts import CloseContext, EnterContext, ListContexts, OpenContext
from portico.guard.invitations import AcceptInvitation, InviteAgain, InvitePerson
from portico.guard.keys import IssueAgentKey, IssueKey, ListKeys, RevokeKey, RotateKey, ShowKey
from portico.guard.principals import AddPrincipal, ChangePrincipal, ListPrincipals, ShowPrincipal
from portico.guard.sessions import EndSession, LeaveSession, ListSessions, OpenSession, TakeSession
from portico.guard.spaces import DeleteSpace, ExportSpace, FoundSpace, RenameSpace, ShowSpace


@dataclass(frozen=True, slots=True, kw_only=True)
class UseCases:
    authenticate: Authenticate
    do_once: DoOnce
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
