"""Remove a debate, with its parts, its notes and its log."""

import asyncio
from dataclasses import dataclass

from portico.debate.core.debate import DebateId
from portico.debate.core.errors import BadDebate
from portico.debate.ports import Blackboard, Logs, Tasks
from portico.debate.seen_debate import SeenDebate
from portico.guard.core.audit import AuditEntry
from portico.guard.core.principals import Scope
from portico.guard.ports import Audit, Together
from portico.guard.principals import permit
from portico.kernel.principal import Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveDebate:
    blackboard: Blackboard
    tasks: Tasks
    logs: Logs
    audit: Audit
    together: Together

    async def __call__(self, caller: Principal, which: DebateId) -> None:
        """Raises `NotPermitted`, `DebateNotFound`, `BadDebate`."""
        permit(caller, Scope.DEBATES_RUN)
        see = SeenDebate(blackboard=self.blackboard, tasks=self.tasks)
        caller, whole = await see.own(caller, which)
        its = whole.debate
        if not its.status.over:
            raise BadDebate(f"{which} is not over yet.", "Stop it first.")
        if its.part_of is not None:
            raise BadDebate(f"{which} is a part of {its.part_of}.", "Remove the whole analysis.")
        parts = await self.blackboard.parts(caller, which) if its.analysis else ()
        async with self.together(caller):
            await self.blackboard.remove(caller, which)
            await self.audit.note(caller, AuditEntry(action="debate.removed", subject=str(which)))
        for each in (which, *(part.id for part in parts)):
            await asyncio.to_thread(self.logs.remove, caller.space, each)
