"""Who one is on the bridge, and what one's task has read."""

from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from portico.bridge.marks import Marks
from portico.bridge.places import at_place
from portico.guard.core.principals import Scope
from portico.guard.principals import permit
from portico.kernel.ids import PrincipalId
from portico.kernel.label import Label
from portico.kernel.principal import Principal, PrincipalKind


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
    marks: Marks

    async def __call__(self, caller: Principal) -> Self_:
        """Raises `NotPermitted`."""
        permit(caller, Scope.BRIDGE_READ)
        task = await self.marks.at(at_place(caller, None))
        return Self_(
            principal=caller.id,
            name=caller.name,
            kind=caller.kind,
            clearance=caller.clearance,
            mark=task.label,
            untrusted=task.untrusted,
            scopes=caller.scopes,
        )
