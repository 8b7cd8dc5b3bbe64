"""Take up a run again that has failed: from what is written down of it, nothing is paid twice."""

from collections.abc import Sequence
from dataclasses import dataclass

from portico.agents.core.noted import TURN
from portico.agents.own_run import led
from portico.agents.ports import Traces
from portico.agents.start_run import asker_of
from portico.engine.core.errors import RunNotOver
from portico.engine.core.runs import Run, RunStatus
from portico.engine.ports import Line, RunBook, Runs
from portico.guard.core.audit import AuditEntry
from portico.guard.ports import Audit, Together
from portico.kernel.ids import RunId
from portico.kernel.json import JsonObject
from portico.kernel.principal import Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumeAgentRun:
    traces: Traces
    book: RunBook
    runs: Runs
    line: Line
    audit: Audit
    together: Together

    async def __call__(self, caller: Principal, run: RunId) -> None:
        """One's own goes on with the key that one comes with; another's as whoever started it. One
        that has ended as it should is continued by another run. Raises `NotPermitted`,
        `AgentRunNotFound`, `RunNotOver`."""
        await led(self.traces, caller, run)
        found = await self.book.get(caller, run)
        if not found.status.over or found.status is RunStatus.DONE:
            raise RunNotOver(str(run), found.status)
        given = _lent(caller, found) if found.principal == caller.id else None
        async with self.together(caller):
            turn = await self.runs.resume(caller, run, anew=_unanswered(found), given=given)
            await self.traces.reopen(caller, run)
            await self.audit.note(caller, AuditEntry(action="agent.resumed", subject=str(run)))
        await self.line.join(turn)


def _unanswered(found: Run) -> Sequence[str]:
    """The turn in which no model answered: it has come to its end in the journal, with that."""
    step = None if found.failure is None else found.failure.step
    return [step] if step is not None and step.startswith(TURN) else []


def _lent(caller: Principal, found: Run) -> JsonObject:
    return {**found.input, "asker": asker_of(caller)}
