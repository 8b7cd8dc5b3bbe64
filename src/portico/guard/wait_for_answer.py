"""The first half of a run that stands behind a request: it waits until there is an answer.

A signal only wakes it; what was answered stands in the request.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from portico.guard.approval_ports import ApprovalNews, Approvals
from portico.guard.core.approval import Approval, Status
from portico.guard.core.audit_entry import AuditEntry
from portico.guard.ports import Audit, Together
from portico.kernel.clock import Clock
from portico.kernel.durable import Durable
from portico.kernel.ids import ApprovalId
from portico.kernel.json import JsonObject, JsonValue

_LATER: Final = timedelta(seconds=1)
"""It looks for the end of its request this much after it, so that it is over then."""


def topic_of(approval: ApprovalId, number: int) -> str:
    """What the run behind a request is woken by; the next number if that one was used up by
    somebody who had nothing to say."""
    return str(approval) if number == 1 else f"{approval}:{number}"


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitForAnswer:
    approvals: Approvals
    news: ApprovalNews
    audit: Audit
    together: Together
    clock: Clock

    async def __call__(self, durable: Durable, given: JsonObject) -> JsonValue:
        """Where the request stands once it does not wait any more; of one that was approved, with
        the id of what was approved, which is another if somebody has changed its arguments."""
        asked = ApprovalId.parse(str(given["approval"]))
        seen: JsonValue = {"status": Status.WAITING, "left": given["left"]}
        number = 0
        while isinstance(seen, Mapping) and seen["status"] == Status.WAITING:
            number += 1
            patience = timedelta(seconds=float(str(seen["left"]))) + _LATER
            await durable.wait_for_signal(topic_of(asked, number), patience=patience)
            seen = await durable.step(f"look-{number}", lambda _: self._look(durable, asked))
        if isinstance(seen, Mapping) and seen["status"] == Status.EXPIRED:
            return await durable.step("expire", lambda _: self.expire(durable, asked))
        return seen

    async def _look(self, durable: Durable, which: ApprovalId) -> JsonValue:
        now = self.clock.now()
        asked = await self.approvals.get(durable.caller, which)
        status = asked.status_at(now)
        if status is Status.REPLACED and asked.replaced_by is not None:
            return await self._look(durable, asked.replaced_by)
        left = (asked.expires_at - now).total_seconds()
        return {"status": status, "left": max(left, 0.0), "approval": str(asked.id)}

    async def expire(self, durable: Durable, which: ApprovalId) -> JsonValue:
        """Its time is over, and that is written down."""
        caller = durable.caller
        approval = await self.approvals.get(caller, which)
        async with self.together(caller):
            if await self.approvals.expire(caller, approval.id, self.clock.now()):
                await self.audit.note(caller, about_end("approval.expired", approval))
                await self.news.tell(caller, "expired", approval)
        return {"status": Status.EXPIRED}


def about_end(action: str, approval: Approval) -> AuditEntry:
    return AuditEntry(
        action=action,
        subject=approval.tool,
        facts={
            "approval": str(approval.id),
            "hash": approval.hash,
            "outcome": None if approval.outcome is None else str(approval.outcome),
        },
    )
