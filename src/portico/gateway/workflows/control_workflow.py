"""Step in: end a run that calls tools, or take it up again. For plans and programs alike."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from typing import Final

from portico.engine.core.errors import AlreadyAnswered, LedElsewhere, RunNotOver
from portico.engine.core.runs import Run, RunStatus, Step
from portico.engine.runs import control_topic
from portico.gateway.core.plan.outline import outline_from
from portico.gateway.core.plan.standings import owner
from portico.gateway.core.plan.trying_again import failed_calls, open_calls, rows_of
from portico.gateway.core.plan.waiting_topics import later_topic
from portico.gateway.core.program.program import PROGRAM
from portico.gateway.core.program.report import taken_in
from portico.gateway.workflows.acting import asker_of
from portico.gateway.workflows.engines import Engines, EngineSide
from portico.gateway.workflows.errors import Unsettled
from portico.gateway.workflows.find_begun import Begun, FindBegun
from portico.gateway.workflows.run_plan import WORKFLOW
from portico.gateway.workflows.take_over import take_over
from portico.guard.approvals import Approvals, WithdrawApproval
from portico.guard.core.approvals import Approval, Outcome, Status, Waiter
from portico.guard.core.audit import AuditEntry
from portico.guard.core.principals import Scope
from portico.guard.ports import Audit, Contexts, Together
from portico.guard.principals import permit
from portico.kernel.ids import RunId
from portico.kernel.json import JsonObject
from portico.kernel.principal import Principal

_ENDED_ITSELF: Final = "program_failed"
"""A program that raised has taken in how its calls ended: made again, they would end for nobody."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelWorkflow:
    engines: Engines
    approvals: Approvals
    withdraw: WithdrawApproval
    audit: Audit
    together: Together

    async def __call__(self, caller: Principal, run: RunId) -> Run:
        """What it has done stays done; what it asked for, and nobody has answered, is asked for no
        more. Raises `NotPermitted`, `RunNotFound`, `RunOver`."""
        found, side = await self.engines.find(caller, run)
        check_control(caller, found)
        async with self.together(caller):
            turn = await side.runs.cancel(caller, run)
            entry = AuditEntry(action="workflow.cancelled", subject=str(run))
            await self.audit.note(caller, entry)
        side.bus.wake(caller.space, control_topic(run))
        if turn is not None:
            await side.line.leave(turn.leg)
        for asked in await self.approvals.of_run(caller, run):
            if asked.status is Status.WAITING:
                await self.withdraw.closed(caller, asked, "the run that asked was cancelled")
        return await side.book.get(caller, run)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumeWorkflow:
    engines: Engines
    find_begun: FindBegun
    withdraw: WithdrawApproval
    contexts: Contexts
    audit: Audit
    together: Together

    async def __call__(self, caller: Principal, run: RunId) -> Run:
        """Every step that failed is tried again, unless the plan has gone on without it, and what
        it needed approval for is asked for anew, unless somebody has said yes to it. One's own goes
        on with the key and the task that one comes with; another's as whoever started it.

        Raises `NotPermitted`, `RunNotFound`, `RunNotOver`, `Unsettled`.
        """
        found, side = await self.engines.find(caller, run)
        check_control(caller, found)
        if not _can_go_on(found):
            raise RunNotOver(str(run), found.status)
        journal = await side.book.steps(caller, run)
        begun = await self.find_begun(caller, found, journal)
        for step in sorted(begun.unheard):
            raise Unsettled(str(run), step)
        given = await self._lent(caller, found)
        anew = _to_forget(found, journal, begun)
        async with self.together(caller):
            turn = await side.runs.resume(caller, run, anew=anew, given=given)
            entry = AuditEntry(action="workflow.resumed", subject=str(run))
            await self.audit.note(caller, entry)
        await self._told(caller, side, begun)
        await side.line.join(turn)
        return await side.book.get(caller, run)

    async def _lent(self, caller: Principal, found: Run) -> JsonObject | None:
        if found.principal != caller.id:
            return None
        await take_over(self.contexts, caller, found.input)
        return {**found.input, "asker": asker_of(caller)}

    async def _told(self, caller: Principal, side: EngineSide, begun: Begun) -> None:
        """What it still waits for may have ended while nobody could be told; what it asks anew is
        not asked twice."""
        for asked in begun.asked:
            if asked.status is Status.WAITING:
                await self.withdraw.closed(caller, asked, "the run that asked asks anew")
            elif asked.waiter is not None and self.find_begun.to_tell(asked):
                await _signalled(caller, side, asked, asked.waiter)


async def _signalled(
    caller: Principal, side: EngineSide, approval: Approval, waiter: Waiter
) -> None:
    unknown = approval.outcome is Outcome.UNCERTAIN
    word: JsonObject = {"approval": str(approval.id), "uncertain": unknown}
    for look in count(1):
        with suppress(AlreadyAnswered):
            topic = later_topic(waiter.topic, look)
            await side.runs.signal(caller, waiter.run, topic, word)
            return


def _can_go_on(run: Run) -> bool:
    ended_itself = run.failure is not None and run.failure.code == _ENDED_ITSELF
    return run.status.over and run.status is not RunStatus.DONE and not ended_itself


def _to_forget(run: Run, journal: Sequence[Step], begun: Begun) -> Sequence[str]:
    """What nobody knows stays so, and so do calls of a program that has taken in how they ended."""
    known = taken_in(journal) if run.kind == PROGRAM else frozenset[str]()
    steps = begun.lost | {owner(call) for call in begun.approved}
    again = failed_calls(outline_from(run.input), run, journal, steps) | open_calls(journal)
    return sorted(rows_of(again - known - begun.approved, journal))


def check_control(caller: Principal, run: Run) -> None:
    """One's own, or with the right to speak for others. Raises `NotPermitted`, and `LedElsewhere`
    for a run of another room."""
    if run.kind not in {WORKFLOW, PROGRAM}:
        raise LedElsewhere(str(run.id), run.kind)
    permit(caller, Scope.TOOLS_CALL if run.principal == caller.id else Scope.RUNS_CONTROL)
