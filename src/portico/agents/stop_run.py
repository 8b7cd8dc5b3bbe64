"""Stop a run: it ends before its next step, and what it had said by then is its answer."""

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

from portico.agents.core.errors import AgentRunOver
from portico.agents.core.given import stop_topic
from portico.agents.core.trace import AgentRunStatus, RunTrace, WholeTrace
from portico.agents.outer_run import inner_runs
from portico.agents.own_run import ended_of, led
from portico.agents.ports import Talk, Traces
from portico.engine.core.runs import Run, RunStatus
from portico.engine.ports import Bus, Line, RunBook, Runs
from portico.engine.runs import control_topic
from portico.guard.approvals import Approvals, WithdrawApproval
from portico.guard.core.approvals import Status
from portico.guard.core.audit import AuditEntry
from portico.guard.ports import Audit, Together
from portico.kernel.clock import Clock
from portico.kernel.ids import RunId
from portico.kernel.principal import Principal

_UNCERTAIN: Final = "~uncertain:"


@dataclass(frozen=True, slots=True, kw_only=True)
class StopRun:
    traces: Traces
    talk: Talk
    book: RunBook
    runs: Runs
    line: Line
    bus: Bus
    approvals: Approvals
    withdraw: WithdrawApproval
    audit: Audit
    together: Together
    clock: Clock

    async def __call__(self, caller: Principal, run: RunId) -> None:
        """What it asked people for is asked for no more, which wakes it, so that it ends by itself.
        One that waits for a person's word on what nobody knows is ended here: nobody is asked for
        a word that they have not given. What it has started is stopped with it. Raises
        `NotPermitted`, `AgentRunNotFound`, `AgentRunOver`.
        """
        trace = await led(self.traces, caller, run)
        if trace.run.status.over:
            raise AgentRunOver(str(run), trace.run.status)
        await self._stop(caller, trace)
        its = trace.run
        inner = inner_runs(
            self.book, caller, of=its.acts_as, at=its.context, since=its.started_at, on=True
        )
        for each in [found.id async for found in inner]:
            with suppress(AgentRunOver):  # it may have ended just now
                await self._stop(caller, await self.traces.read(caller, each))

    async def _stop(self, caller: Principal, trace: WholeTrace) -> None:
        run = trace.run.run
        async with self.together(caller):
            await self.traces.stop(caller, run, self.clock.now())
            await self.audit.note(caller, AuditEntry(action="agent.stopped", subject=str(run)))
        self.bus.wake(caller.space, stop_topic(run))
        for asked in await self.approvals.of_run(caller, run):
            if asked.status is Status.WAITING:
                await self.withdraw.closed(caller, asked, "the run that asked was stopped")
        found = await self.book.get(caller, run)
        if _cannot_end_itself(found):
            await self._end(caller, found, trace)

    async def _end(self, caller: Principal, found: Run, trace: WholeTrace) -> None:
        async with self.together(caller):
            turn = None if found.status.over else await self.runs.cancel(caller, found.id)
            await self.traces.end(caller, _stopped(trace, self.clock))
        # What is kept, which is not this if it has ended by itself meanwhile.
        ended = (await self.traces.read(caller, found.id)).run
        self.bus.wake(caller.space, control_topic(found.id))
        if turn is not None:
            await self.line.leave(turn.leg)
        await self.talk.tell(caller, found.id, ended_of(ended), label=ended.label)


def _cannot_end_itself(run: Run) -> bool:
    waits = run.status is RunStatus.WAITING
    return run.status.over or (waits and any(its.startswith(_UNCERTAIN) for its in run.waits_for))


def _stopped(trace: WholeTrace, clock: Clock) -> RunTrace:
    last = trace.turns[-1].text if trace.turns else ""
    return replace(trace.run, status=AgentRunStatus.STOPPED, ended_at=clock.now(), answer=last)
