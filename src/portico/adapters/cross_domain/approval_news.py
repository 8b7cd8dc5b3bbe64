"""What becomes of requests, told in the event log and to whoever waits for one."""

from dataclasses import dataclass
from typing import Final

from portico.engine.core.event_log import NewEntry
from portico.engine.ports import Bus, EventLog
from portico.guard.core.approvals import Approval
from portico.kernel.principal import Principal

APPROVALS: Final = "approvals"
"""The topic of every request's life in a space."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedNews:
    """The guard's `ApprovalNews`. Which request, and no more: who may see what it asks for is
    decided where it is shown."""

    log: EventLog
    bus: Bus
    """One that waits for the end of a transaction."""

    async def tell(self, caller: Principal, what: str, approval: Approval) -> None:
        told = NewEntry(
            topic=APPROVALS,
            type=f"approval.{what}",
            facts={
                "approval": str(approval.id),
                "status": str(approval.status),
                "outcome": None if approval.outcome is None else str(approval.outcome),
            },
            label=approval.label,
        )
        await self.log.append(caller, [told])
        for each in (approval.id, approval.replaces):
            if each is not None:
                self.bus.wake(caller.space, str(each))
