"""Presence: report and list; who the caller is."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from portico.bridge.core.errors import flaws_of_line, raise_if_invalid
from portico.bridge.core.messages import check_shared
from portico.bridge.core.presence import GOOD_FOR, MOST_LETTERS, Presence, PresenceStatus
from portico.bridge.core.projects import ProjectId
from portico.bridge.ports import Presences
from portico.bridge.projects import OpenProject
from portico.bridge.taint import TaintRecorder, in_view_context
from portico.guard.core.principals import Scope
from portico.guard.principals import require_scope
from portico.kernel.clock import Clock
from portico.kernel.ids import PrincipalId
from portico.kernel.label import Label
from portico.kernel.principal import Principal, PrincipalKind


@dataclass(frozen=True, slots=True, kw_only=True)
class SayPresence:
    open_project: OpenProject
    presences: Presences
    taint: TaintRecorder
    clock: Clock

    async def __call__(
        self, caller: Principal, project: ProjectId, doing: PresenceStatus, note: str = ""
    ) -> None:
        """For a while; whoever stays says so again. Raises `NotPermitted`, `InvalidBridgeInput`,
        `ProjectNotFound`, `Archived`, `WriteDown`."""
        require_scope(caller, Scope.BRIDGE_WRITE)
        raise_if_invalid(flaws_of_line("note", note, least=0, most=MOST_LETTERS))
        caller, inside = await self.open_project.to_write(caller, project)
        check_shared(inside.label, (await self.taint.at(caller)).label)
        await self.presences.say(caller, project, doing, note, self.clock.now() + GOOD_FOR)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListPresence:
    open_project: OpenProject
    presences: Presences
    clock: Clock

    async def __call__(self, caller: Principal, project: ProjectId) -> Sequence[Presence]:
        """Raises `NotPermitted`, `ProjectNotFound`."""
        require_scope(caller, Scope.BRIDGE_READ)
        caller, _ = await self.open_project(caller, project)
        return await self.presences.all(caller, project, self.clock.now())


@dataclass(frozen=True, slots=True, kw_only=True)
class Self_:  # noqa: N801 # `Self` is the language's own
    principal: PrincipalId
    name: str
    kind: PrincipalKind
    clearance: Label
    mark: Label
    """What was read in this task: what is written in it is no less secret."""
    untrusted: bool
    """Strangers' words were read in this task."""
    scopes: AbstractSet[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class WhoAmI:
    taint: TaintRecorder

    async def __call__(self, caller: Principal) -> Self_:
        """Raises `NotPermitted`."""
        require_scope(caller, Scope.BRIDGE_READ)
        task = await self.taint.at(in_view_context(caller, None))
        return Self_(
            principal=caller.id,
            name=caller.name,
            kind=caller.kind,
            clearance=caller.clearance,
            mark=task.label,
            untrusted=task.untrusted,
            scopes=caller.scopes,
        )
