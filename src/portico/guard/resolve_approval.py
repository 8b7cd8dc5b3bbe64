"""Say what became of an approved call that may have been made."""

from dataclasses import dataclass, replace
from typing import Final

from portico.guard.approval_ports import ApprovalNews, Approvals, Errands
from portico.guard.core.approval import Approval, Outcome, Resolution, check_answerer
from portico.guard.core.audit_entry import AuditEntry
from portico.guard.core.errors import ApprovalOver, BadAnswer
from portico.guard.core.roles import Scope
from portico.guard.permit import permit
from portico.guard.ports import Audit, Together
from portico.kernel.clock import Clock
from portico.kernel.ids import ApprovalId
from portico.kernel.principal import Principal

_OUTCOMES: Final = {
    Resolution.DONE: Outcome.DONE,
    Resolution.RETRY: None,
    Resolution.SKIP: Outcome.SKIPPED,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolveApproval:
    approvals: Approvals
    errands: Errands
    news: ApprovalNews
    audit: Audit
    together: Together
    clock: Clock

    async def __call__(
        self, caller: Principal, approval: ApprovalId, resolution: Resolution
    ) -> Approval:
        """To be tried again is a second use, which only a person can give. Raises
        `ApprovalNotFound`, `NotPermitted`, `PersonNeeded`, `OwnRequest`, `ApprovalOver` if it is
        not uncertain, `BadAnswer`."""
        if not isinstance(resolution, Resolution):
            raise BadAnswer(str(resolution), list(Resolution))
        permit(caller, Scope.APPROVALS_ANSWER)
        found = await self.approvals.get(caller, approval)
        check_answerer(caller, found)
        now = self.clock.now()
        again = resolution is Resolution.RETRY
        resolved = replace(
            found,
            outcome=_OUTCOMES[resolution],
            claimed_at=None if again else found.claimed_at,
            ended_at=None if again else now,
            expires_at=now + (found.expires_at - found.asked_at) if again else found.expires_at,
            resolved_by=caller.name,
        )
        async with self.together(caller):
            if not await self.approvals.resolve(caller, resolved):
                raise ApprovalOver(str(approval), found.outcome or found.status, None)
            if again:
                await self.errands.again(caller, resolved)
            await self.audit.note(caller, _entry(resolved, resolution))
            await self.news.tell(caller, "resolved", resolved)
        return resolved


def _entry(approval: Approval, resolution: Resolution) -> AuditEntry:
    return AuditEntry(
        action="approval.resolved",
        subject=approval.tool,
        facts={
            "approval": str(approval.id),
            "hash": approval.hash,
            "resolution": str(resolution),
        },
    )
