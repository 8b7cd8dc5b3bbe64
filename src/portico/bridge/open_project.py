"""The way into a project: to be there, and to know that it is there."""

from dataclasses import dataclass

from portico.bridge.core.errors import Archived
from portico.bridge.core.project import Project, ProjectId
from portico.bridge.marks import Marks
from portico.bridge.places import at_place
from portico.bridge.ports import Projects
from portico.kernel.principal import Principal


@dataclass(frozen=True, slots=True)
class OpenProject:
    projects: Projects
    marks: Marks

    async def __call__(self, caller: Principal, project: ProjectId) -> tuple[Principal, Project]:
        """The caller in front of it. Raises `ProjectNotFound`."""
        there = at_place(caller, project)
        found = await self.projects.get(there, str(project))
        await self.marks.read(there, [found.label])
        return there, found

    async def to_write(self, caller: Principal, project: ProjectId) -> tuple[Principal, Project]:
        """Raises `ProjectNotFound`, `Archived`."""
        there, found = await self(caller, project)
        if found.archived_at is not None:
            raise Archived(found.name)
        return there, found
