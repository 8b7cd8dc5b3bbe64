"""The run behind each request, started and woken through the engine."""

from dataclasses import dataclass
from itertools import count

from portico.engine.core.errors import AlreadyAnswered, RunOver
from portico.engine.ports import Bus, Line, Runs
from portico.engine.runs import RunWish, StartRun, control_topic
from portico.gateway.approved_calls import APPROVED_CALL
from portico.guard.approvals import topic_of
from portico.guard.core.approvals import Approval
from portico.kernel.ids import ApprovalId, RunId
from portico.kernel.principal import Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class RunErrands:
    """The guard's `Errands`. Its runs, its line and its bus wait for the end of a transaction."""

    start_run: StartRun
    runs: Runs
    line: Line
    bus: Bus
    kind: str = APPROVED_CALL
    """Of the runs that it begins; whichever stands behind a request can be woken."""

    def run_of(self, caller: Principal, approval: ApprovalId) -> RunId:
        return RunId.of_claim(caller.space, caller.id, self.kind, str(approval))

    async def begin(self, caller: Principal, approval: Approval) -> None:
        left = approval.expires_at - approval.asked_at
        wish = RunWish(
            kind=self.kind,
            input={"approval": str(approval.id), "left": left.total_seconds()},
            key=str(approval.id),
            label=approval.label,
        )
        await self.start_run(caller, wish)

    async def wake(self, caller: Principal, approval: Approval) -> bool:
        """By the request that it was begun for, also if another was approved in its place."""
        for number in count(1):
            try:
                turn = await self.runs.signal(
                    caller, approval.run, topic_of(approval.id, number), None
                )
            except AlreadyAnswered:
                continue
            except RunOver:
                return False
            self.bus.wake(caller.space, control_topic(approval.run))
            if turn is not None:
                await self.line.join(turn)
            return True
        raise AssertionError  # counting has no end

    async def again(self, caller: Principal, approval: Approval) -> None:
        """Raises `RunNotOver` in the moment before the run has noted its own end: it could not be
        taken up, and nobody would make the call."""
        await self.line.join(await self.runs.resume(caller, approval.run))
