"""Share a debate with its project: whoever is in it and cleared may read it."""

from dataclasses import dataclass

from portico.debate.core.debate import Debate, DebateId
from portico.debate.core.errors import BadDebate
from portico.debate.ports import Blackboard, Tasks
from portico.debate.seen_debate import SeenDebate
from portico.guard.core.audit import AuditEntry
from portico.guard.core.principals import Scope
from portico.guard.ports import Audit, Together
from portico.guard.principals import permit
from portico.kernel.principal import Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareDebate:
    blackboard: Blackboard
    tasks: Tasks
    audit: Audit
    together: Together

    async def __call__(self, caller: Principal, which: DebateId) -> Debate:
        """As secret as it is; nothing goes down by it. Raises `NotPermitted`, `DebateNotFound`,
        `BadDebate`."""
        permit(caller, Scope.DEBATES_RUN)
        see = SeenDebate(blackboard=self.blackboard, tasks=self.tasks)
        caller, whole = await see.own(caller, which)
        if whole.debate.project is None:
            raise BadDebate(
                "It belongs to no project that it could be shared with.",
                "Start it in a project, with `project`.",
            )
        async with self.together(caller):
            shared = await self.blackboard.share(caller, which)
            await self.audit.note(caller, AuditEntry(action="debate.shared", subject=str(which)))
        return shared
