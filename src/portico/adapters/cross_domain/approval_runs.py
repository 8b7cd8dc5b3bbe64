"""Runs behind approvals, and runs that wait for one."""

from dataclasses import dataclass, replace
from itertools import count
from typing import Final

from portico.engine.core.errors import AlreadyAnswered, RunNotFound, RunOver
from portico.engine.ports import Bus, RunQueries, RunQueue, Runs
from portico.engine.runs import RunSpec, StartRun, control_topic
from portico.gateway.approved_calls import APPROVED_CALL
from portico.guard.approvals import ApprovalEvents, topic_of
from portico.guard.core.approvals import Approval, Outcome, Waiter
from portico.kernel.clock import Clock
from portico.kernel.ids import ApprovalId, RunId
from portico.kernel.json import JsonObject
from portico.kernel.label import join
from portico.kernel.principal import Principal
from portico.workflows.core.plan_progress import later_topic, leg_of, topic_asked


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineApprovalRuns:
    """The guard's `ApprovalRuns`. Its runs, its line and its bus wait for the end of a
    transaction."""

    start_run: StartRun
    runs: Runs
    queue: RunQueue
    bus: Bus
    kind: str = APPROVED_CALL
    """Of the runs that it begins; whichever stands behind a request can be woken."""

    def run_of(self, caller: Principal, approval: ApprovalId) -> RunId:
        return RunId.of_claim(caller.space, caller.id, self.kind, str(approval))

    async def start(self, caller: Principal, approval: Approval) -> None:
        left = approval.expires_at - approval.asked_at
        wish = RunSpec(
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
                await self.queue.join(turn)
            return True
        raise AssertionError  # counting has no end

    async def again(self, caller: Principal, approval: Approval) -> None:
        """Raises `RunNotOver` in the moment before the run has noted its own end: it could not be
        taken up, and nobody would make the call."""
        await self.queue.join(await self.runs.resume(caller, approval.run))


_WORDS: Final = 100
"""That a run is told of one request: each time that somebody wants it to be tried again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineApprovalEvents:
    """The guard's `ApprovalEvents`, around another. Its runs, its line and its bus wait for the end
    of a transaction."""

    news: ApprovalEvents
    runs: Runs
    queue: RunQueue
    bus: Bus
    clock: Clock

    async def publish(self, caller: Principal, what: str, approval: Approval) -> None:
        """The topic of runs before the one of requests, as whoever asks does it: two who write both
        would else wait for each other."""
        waiter, unknown = approval.waiter, approval.outcome is Outcome.UNCERTAIN
        if waiter is not None and (unknown or approval.over_at(self.clock.now())):
            await self._signalled(caller, waiter, approval)
        await self.news.publish(caller, what, approval)

    async def _signalled(self, caller: Principal, waiter: Waiter, approval: Approval) -> None:
        """Only that it is over, or that nobody knows: what became of it stands in the request, for
        its asker alone. So that it can be told, whoever answers reaches the run for this word."""
        reaching = replace(caller, clearance=join([caller.clearance, waiter.label]))
        unknown = approval.outcome is Outcome.UNCERTAIN
        word: JsonObject = {"approval": str(approval.id), "uncertain": unknown}
        for look in range(1, _WORDS + 1):
            topic = later_topic(waiter.topic, look)
            try:
                turn = await self.runs.signal(reaching, waiter.run, topic, word)
            except AlreadyAnswered:
                continue  # it has heard something else before
            except (RunNotFound, RunOver):
                return  # it does not wait any more
            break
        else:
            return
        self.bus.wake(caller.space, control_topic(waiter.run))
        if turn is not None:
            await self.queue.join(turn)


@dataclass(frozen=True, slots=True)
class RunsThatWait:
    """The guard's `Waiters`."""

    book: RunQueries

    async def wants(self, caller: Principal, waiter: Waiter) -> bool:
        """What the leg that is on has asked, or it is noted that it was: of what an earlier leg
        asked and did not note, nobody hears any more."""
        reaching = replace(caller, clearance=join([caller.clearance, waiter.label]))
        try:
            run = await self.book.get(reaching, waiter.run)
        except RunNotFound:
            return False
        if run.status.over:
            return False
        if leg_of(waiter.topic) == run.leg:
            return True
        steps = await self.book.steps(reaching, waiter.run)
        return any(topic_asked(step) == waiter.topic for step in steps)
