"""What became of a request that a run waits for, read by the run once it is over."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from portico.gateway.core.call import Answer
from portico.gateway.read_outcome import ReadOutcome
from portico.gateway.workflows.acting import Acting
from portico.gateway.workflows.keep_answer import kept_answer, kept_unknown, noted_of
from portico.gateway.workflows.needed import needed
from portico.guard.approvals import Approvals
from portico.guard.core.approvals import Approval, Outcome, Status
from portico.guard.core.errors import ApprovalOver, ApprovalRejected, ApprovedCallFailed
from portico.kernel.clock import Clock
from portico.kernel.ids import ApprovalId
from portico.kernel.json import JsonValue
from portico.kernel.principal import Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadEnd:
    approvals: Approvals
    read_outcome: ReadOutcome
    clock: Clock

    def action(self, acting: Acting, approval: ApprovalId) -> Callable[[str], Awaitable[JsonValue]]:
        """Of a durable step: where what it gave is kept, that it was left out, or None if it is
        not over yet. It raises what the request ended in otherwise, and `Broken` if that cannot be
        read: what was made has not failed for that."""

        async def action(_key: str) -> JsonValue:
            asker = await needed(acting.asker)
            found = await needed(lambda: self._followed(asker, approval))
            if not found.over_at(self.clock.now()):
                return None
            if found.outcome is Outcome.SKIPPED:
                by = found.resolved_by or "somebody"
                return {"left_out": f"{by} says that it was not done, and shall not be"}
            answer = await self._answer(asker, self._made(found))
            if answer is None:
                return noted_of(await needed(lambda: kept_unknown(acting)))
            return noted_of(await needed(lambda: kept_answer(acting, found.tool, answer, None)))

        return action

    async def _answer(self, asker: Principal, approval: Approval) -> Answer | None:
        """None if it was done, and nobody knows what it answered. Raises
        `ApprovedCallFailed`, `Broken`."""
        if approval.outcome is Outcome.DONE and approval.result is None:
            return None
        called = await needed(lambda: self.read_outcome(asker, approval))
        if called is not None:
            return called.answer
        said_no = approval.result is not None and approval.error is not None
        if approval.outcome is Outcome.DONE and not said_no:
            return None
        why = approval.error or "it is not said why."
        raise ApprovedCallFailed(approval.tool, str(approval.id), why)

    def _made(self, approval: Approval) -> Approval:
        """Raises `ApprovalRejected`, `ApprovalOver`."""
        status = approval.status_at(self.clock.now())
        if status is Status.REJECTED:
            reason = None if approval.answered is None else approval.answered.reason
            raise ApprovalRejected(approval.tool, str(approval.id), reason)
        if approval.outcome is None:
            raise ApprovalOver(str(approval.id), status, None)
        return approval

    async def _followed(self, asker: Principal, approval: ApprovalId) -> Approval:
        """The one that was approved in its place, if it was edited."""
        found = await self.approvals.get(asker, approval)
        if found.replaced_by is None:
            return found
        return await self._followed(asker, found.replaced_by)
