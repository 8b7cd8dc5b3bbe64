"""What a program has asked for is asked for no more once it is over: nobody approves a call of
which nothing would come."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from portico.engine.ports import RunBook
from portico.gateway.workflows.acting import Acting
from portico.guard.approvals import Approvals, WithdrawApproval
from portico.guard.core.approvals import Status
from portico.guard.core.errors import ApprovalNotFound
from portico.kernel.ids import ApprovalId
from portico.kernel.principal import Principal

_WHY: Final = "the program that asked is over"


@dataclass(frozen=True, slots=True, kw_only=True)
class TakeBack:
    book: RunBook
    approvals: Approvals
    withdraw: WithdrawApproval

    async def __call__(self, acting: Acting) -> None:
        """What was answered already takes its way. Raises `KeyEnded`."""
        asker, durable = await acting.asker(), acting.durable
        for step in await self.book.steps(durable.caller, durable.run):
            if isinstance(step.output, Mapping) and "topic" in step.output:
                await self._taken_back(asker, str(step.output["approval"]))

    async def _taken_back(self, asker: Principal, approval: str) -> None:
        with suppress(ApprovalNotFound):
            found = await self.approvals.get(asker, ApprovalId.parse(approval))
            if found.status is Status.WAITING:
                await self.withdraw.closed(asker, found, _WHY)
