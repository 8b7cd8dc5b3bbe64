"""What the routes of requests for approval can call."""

from dataclasses import dataclass

from portico.gateway.approved_calls import ReadApproved, ReadOutcome
from portico.guard.approvals import (
    AnswerApproval,
    CountApprovals,
    ListApprovals,
    ResolveApproval,
    ShowApproval,
    WithdrawApproval,
)
from portico.guard.key_trust import ShowTrust, TrustClient


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
