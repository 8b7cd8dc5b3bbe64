"""Who is there: to say so, and to see who does."""

from collections.abc import Sequence
from dataclasses import dataclass

from portico.bridge.core.labelling import check_shared
from portico.bridge.core.presence import GOOD_FOR, MOST_LETTERS, Doing, Presence
from portico.bridge.core.project import ProjectId
from portico.bridge.core.spelling import check_flaws, flaws_of_line
from portico.bridge.marks import Marks
from portico.bridge.open_project import OpenProject
from portico.bridge.thing_ports import Presences
from portico.guard.core.principals import Scope
from portico.guard.principals import permit
from portico.kernel.clock import Clock
from portico.kernel.principal import Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class SayPresence:
    open_project: OpenProject
    presences: Presences
    marks: Marks
    clock: Clock

    async def __call__(
        self, caller: Principal, project: ProjectId, doing: Doing, note: str = ""
    ) -> None:
        """For a while; whoever stays says so again. Raises `NotPermitted`, `BadBridgeInput`,
        `ProjectNotFound`, `Archived`, `WriteDown`."""
        permit(caller, Scope.BRIDGE_WRITE)
        check_flaws(flaws_of_line("note", note, least=0, most=MOST_LETTERS))
        caller, inside = await self.open_project.to_write(caller, project)
        check_shared(inside.label, (await self.marks.at(caller)).label)
        await self.presences.say(caller, project, doing, note, self.clock.now() + GOOD_FOR)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListPresence:
    open_project: OpenProject
    presences: Presences
    clock: Clock

    async def __call__(self, caller: Principal, project: ProjectId) -> Sequence[Presence]:
        """Raises `NotPermitted`, `ProjectNotFound`."""
        permit(caller, Scope.BRIDGE_READ)
        caller, _ = await self.open_project(caller, project)
        return await self.presences.all(caller, project, self.clock.now())
