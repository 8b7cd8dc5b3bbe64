"""A project: where people and agents work together."""

from dataclasses import dataclass
from datetime import datetime

from portico.kernel.ids import Id, PrincipalId
from portico.kernel.label import Label


class ProjectId(Id):
    __slots__ = ()
    prefix = "prj"


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    id: ProjectId
    name: str
    description: str = ""
    label: Label
    """Whoever is not cleared for it does not know of it. Nothing in it is less secret."""
    made_by: PrincipalId
    made_at: datetime
    archived_at: datetime | None = None
    """Since when it is out of the way: nothing is written in it any more."""
    active_at: datetime
    """When something was last said in it that the reader may see."""
