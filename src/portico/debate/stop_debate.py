"""Stop a debate: whoever is being heard is hung up on, and it ends with the votes in hand."""

from contextlib import suppress
from dataclasses import dataclass

from portico.debate.core.debate import Debate, DebateId
from portico.debate.core.errors import DebateOver
from portico.debate.core.note import Note, NoteKind
from portico.debate.ports import Blackboard, Tasks
from portico.debate.seen_debate import SeenDebate, top
from portico.debate.stop_watch import stop_topic
from portico.engine.core.errors import AlreadyAnswered, RunNotFound, RunOver
from portico.engine.ports import Bus, Line, RunBook, Runs
from portico.engine.runs import control_topic
from portico.guard.core.audit import AuditEntry
from portico.guard.core.principals import Scope
from portico.guard.ports import Audit, Together
from portico.guard.principals import permit
from portico.kernel.clock import Clock
from portico.kernel.ids import RunId
from portico.kernel.label import join
from portico.kernel.principal import Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class StopDebate:
    blackboard: Blackboard
    tasks: Tasks
    book: RunBook
    runs: Runs
    line: Line
    bus: Bus
    audit: Audit
    together: Together
    clock: Clock

    async def __call__(self, caller: Principal, which: DebateId) -> Debate:
        """As it is then: it ends by itself, a moment later. A part is stopped with its analysis.
        Raises `NotPermitted`, `DebateNotFound`, `DebateOver`."""
        permit(caller, Scope.DEBATES_RUN)
        see = SeenDebate(blackboard=self.blackboard, tasks=self.tasks)
        caller, whole = await see.own(caller, which)
        its = whole.debate
        if its.status.over:
            raise DebateOver(str(which))
        note = Note(name="stopped", kind=NoteKind.STOPPED, at=self.clock.now())
        label = join([its.label, (await self.tasks.at(caller)).label])
        async with self.together(caller):
            await self.blackboard.note(caller, top(its), note, label)
            await self.audit.note(caller, AuditEntry(action="debate.stopped", subject=str(which)))
        self.bus.wake(caller.space, stop_topic(its.run))
        await self._woken(caller, its.run)
        return (await self.blackboard.read(caller, which)).debate

    async def _woken(self, caller: Principal, run: RunId) -> None:
        """One that waits for guests does not wait for them any more."""
        with suppress(RunNotFound, RunOver):
            for topic in (await self.book.get(caller, run)).waits_for:
                with suppress(AlreadyAnswered):
                    turn = await self.runs.signal(caller, run, topic, None)
                    if turn is not None:
                        await self.line.join(turn)
            self.bus.wake(caller.space, control_topic(run))
