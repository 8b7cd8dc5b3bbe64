"""See what waits for an answer, and what became of the rest.

What is asked for is an agent's words, and as secret as its task: whichever task it is looked at in
has read it then.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from portico.guard.approval_ports import Approvals
from portico.guard.core.approval import Approval, Status
from portico.guard.core.errors import ApprovalNotFound
from portico.guard.core.roles import Scope
from portico.guard.permit import permit
from portico.guard.ports import Contexts
from portico.kernel.clock import Clock
from portico.kernel.ids import ApprovalId
from portico.kernel.label import join
from portico.kernel.principal import Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class ListApprovals:
    approvals: Approvals
    contexts: Contexts
    clock: Clock

    async def __call__(
        self,
        caller: Principal,
        *,
        statuses: Sequence[Status] = (),
        before: ApprovalId | None = None,
        limit: int,
    ) -> Sequence[Approval]:
        """Newest first: everybody's, or for whoever may not answer them, their own. Raises
        `NotPermitted`."""
        permit(caller, Scope.APPROVALS_READ)
        of = None if caller.may(Scope.APPROVALS_ANSWER) else caller.id
        now = self.clock.now()
        found = await self.approvals.page(
            caller, of=of, statuses=statuses, before=before, now=now, limit=limit
        )
        if found:
            read = join(each.label for each in found)
            await self.contexts.rise(caller, read, untrusted=True)
        return [each.as_of(now) for each in found]


@dataclass(frozen=True, slots=True, kw_only=True)
class CountApprovals:
    """How many wait, without what they ask for."""

    approvals: Approvals
    contexts: Contexts
    clock: Clock

    async def __call__(self, caller: Principal, *, most: int) -> int:
        """As many as `ListApprovals` would show, `most` at most. A number tells of them too:
        whichever task it is looked at in has read what they say of themselves. Raises
        `NotPermitted`."""
        permit(caller, Scope.APPROVALS_READ)
        of = None if caller.may(Scope.APPROVALS_ANSWER) else caller.id
        found = await self.approvals.count_waiting(caller, of=of, now=self.clock.now(), most=most)
        if found:
            await self.contexts.rise(caller, join(found), untrusted=True)
        return sum(found.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowApproval:
    approvals: Approvals
    contexts: Contexts
    clock: Clock

    async def __call__(self, caller: Principal, approval: ApprovalId) -> Approval:
        """One's own needs no scope: whoever may only call may know how theirs went. Raises
        `ApprovalNotFound`."""
        found = await self.approvals.get(caller, approval)
        if found.asker.id != caller.id and not caller.may(Scope.APPROVALS_ANSWER):
            raise ApprovalNotFound(str(approval))
        await self.contexts.rise(caller, found.label, untrusted=True)
        return found.as_of(self.clock.now())
