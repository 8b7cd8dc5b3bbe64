"""Take back a request: whoever asked wants it no more, or does it without anybody's yes."""

from dataclasses import dataclass, replace

from portico.guard.approval_ports import ApprovalNews, Approvals, Errands
from portico.guard.core.act import Act
from portico.guard.core.approval import Approval, Status, Waiter, check_waiting
from portico.guard.core.audit_entry import AuditEntry
from portico.guard.core.errors import ApprovalNotFound
from portico.guard.ports import Audit, Together
from portico.kernel.clock import Clock
from portico.kernel.ids import ApprovalId
from portico.kernel.principal import Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class WithdrawApproval:
    approvals: Approvals
    errands: Errands
    news: ApprovalNews
    audit: Audit
    together: Together
    clock: Clock

    async def __call__(self, caller: Principal, approval: ApprovalId) -> Approval:
        """One's own needs no scope. Raises `ApprovalNotFound`, `ApprovalOver`."""
        found = await self.approvals.get(caller, approval)
        if found.asker.id != caller.id:
            raise ApprovalNotFound(str(approval))
        check_waiting(found, self.clock.now())
        if not await self.closed(caller, found, "whoever asked has taken it back"):
            check_waiting(await self.approvals.get(caller, approval), self.clock.now())
        return replace(found, status=Status.WITHDRAWN)

    async def settled(self, act: Act) -> Approval | None:
        """Of an act that is allowed by now, before it is done: whatever waits for the same is
        closed, so that no yes that comes later does it again. The one that somebody has said yes
        to already, if there is one: that one does it, or has done it."""
        for each in await self.approvals.unfinished(act.caller, act.hash):
            found = each
            if found.status is Status.WAITING:
                if await self.closed(act.caller, found, "it is allowed without it by now"):
                    continue
                found = await self.approvals.get(act.caller, each.id)
            if found.does_it(self.clock.now()):
                return found
        return None

    async def settled_of(self, caller: Principal, waiter: Waiter) -> Approval | None:
        """As `settled`, of what a run has asked for itself."""
        found = await self.approvals.asked_by(caller, waiter)
        if found is None or found.over_at(self.clock.now()):
            return None
        if found.status is Status.WAITING and await self.closed(
            caller, found, "it is allowed without it by now"
        ):
            return None
        return await self.approvals.get(caller, found.id)

    async def closed(self, caller: Principal, approval: Approval, why: str) -> bool:
        """False if it was answered meanwhile, or is over."""
        async with self.together(caller):
            if not await self.approvals.withdraw(caller, approval.id, self.clock.now()):
                return False
            now = replace(approval, status=Status.WITHDRAWN)
            await self.errands.wake(caller, now)
            await self.audit.note(caller, _entry(now, why))
            await self.news.tell(caller, "withdrawn", now)
        return True


def _entry(approval: Approval, why: str) -> AuditEntry:
    return AuditEntry(
        action="approval.withdrawn",
        subject=approval.tool,
        reason=why,
        facts={"approval": str(approval.id), "hash": approval.hash},
    )
