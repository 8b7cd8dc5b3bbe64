"""Look at debates: a page of them, one with all its notes, the parts of an analysis."""

from collections.abc import Sequence
from dataclasses import dataclass

from portico.debate.core.debate import Debate, DebateId, DebateStatus, WholeDebate
from portico.debate.core.outcome import Outcome
from portico.debate.places import at_debate
from portico.debate.ports import Blackboard, Material, Outcomes, Tasks
from portico.debate.seen_debate import SeenDebate
from portico.guard.core.principals import Scope
from portico.guard.principals import permit
from portico.kernel.label import join
from portico.kernel.principal import Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class LookAtDebates:
    blackboard: Blackboard
    outcomes: Outcomes
    material: Material
    tasks: Tasks

    async def page(
        self,
        caller: Principal,
        *,
        project: str | None = None,
        status: DebateStatus | None = None,
        words: str | None = None,
        after: DebateId | None = None,
        limit: int = 50,
    ) -> Sequence[Debate]:
        """Newest first. Raises `NotPermitted`, `ProjectNotFound`."""
        permit(caller, Scope.DEBATES_READ)
        caller = at_debate(caller, None)
        which = None if project is None else (await self.material.project(caller, project))[0]
        found = await self.blackboard.page(
            caller, project=which, status=status, words=words, after=after, limit=limit
        )
        await self._read(caller, found)
        return found

    async def one(self, caller: Principal, which: DebateId) -> WholeDebate:
        """Raises `NotPermitted`, `DebateNotFound`."""
        permit(caller, Scope.DEBATES_READ)
        _, whole = await self._seen(caller, which)
        return whole

    async def parts(self, caller: Principal, which: DebateId) -> Sequence[Debate]:
        """In the order of its plan. Raises `NotPermitted`, `DebateNotFound`."""
        permit(caller, Scope.DEBATES_READ)
        caller, _ = await self._seen(caller, which)
        found = await self.blackboard.parts(caller, which)
        await self._read(caller, found)
        return found

    async def turned_out(self, caller: Principal, which: DebateId) -> Sequence[Outcome]:
        """Newest first. Raises `NotPermitted`, `DebateNotFound`."""
        permit(caller, Scope.DEBATES_READ)
        caller, _ = await self._seen(caller, which)
        return await self.outcomes.of(caller, which)

    async def _seen(self, caller: Principal, which: DebateId) -> tuple[Principal, WholeDebate]:
        return await SeenDebate(blackboard=self.blackboard, tasks=self.tasks)(caller, which)

    async def _read(self, caller: Principal, found: Sequence[Debate]) -> None:
        """Before any of it is handed out."""
        label = join(debate.label for debate in found)
        await self.tasks.read(caller, label, untrusted=bool(found))
