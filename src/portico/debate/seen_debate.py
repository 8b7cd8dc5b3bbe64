"""A debate, for whoever may read it: their task has read it from then on."""

from dataclasses import dataclass

from portico.debate.core.debate import Debate, DebateId, WholeDebate
from portico.debate.core.errors import DebateNotFound
from portico.debate.places import at_debate
from portico.debate.ports import Blackboard, Tasks
from portico.kernel.principal import Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenDebate:
    blackboard: Blackboard
    tasks: Tasks

    async def __call__(self, caller: Principal, which: DebateId) -> tuple[Principal, WholeDebate]:
        """With whoever asks, where they are then. Raises `DebateNotFound`."""
        caller = at_debate(caller, which)
        whole = await self.blackboard.read(caller, which)
        await self.tasks.read(caller, whole.debate.label, untrusted=True)
        return caller, whole

    async def own(self, caller: Principal, which: DebateId) -> tuple[Principal, WholeDebate]:
        """For whoever steps in: only its starter does. Nobody else is told that there is one which
        they may not lead. Raises `DebateNotFound`."""
        caller, whole = await self(caller, which)
        if whole.debate.started_by != caller.id:
            raise DebateNotFound(str(which))
        return caller, whole


def top(debate: Debate) -> DebateId:
    """A part is led with its analysis."""
    return debate.part_of or debate.id
