"""Ask that a debate be read by people who are cleared for less: a person has to say yes first."""

from dataclasses import dataclass

from portico.debate.core.debate import DebateId
from portico.debate.core.errors import BadDebate
from portico.debate.ports import Blackboard, Promotion, Tasks
from portico.debate.seen_debate import SeenDebate
from portico.guard.core.principals import Scope
from portico.guard.principals import permit
from portico.kernel.ids import ApprovalId
from portico.kernel.label import Label
from portico.kernel.principal import Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class PromoteDebate:
    blackboard: Blackboard
    tasks: Tasks
    promotion: Promotion

    async def __call__(self, caller: Principal, which: DebateId, to: Label) -> ApprovalId:
        """What is asked of that person. Raises `NotPermitted`, `DebateNotFound`, `BadDebate`,
        `NotLower`, `TooManyAsked`."""
        permit(caller, Scope.DEBATES_RUN)
        see = SeenDebate(blackboard=self.blackboard, tasks=self.tasks)
        caller, whole = await see.own(caller, which)
        if not whole.debate.status.over:
            raise BadDebate(f"{which} is not over yet.", "Wait for its end, or stop it.")
        return await self.promotion.propose(caller, whole, to)
