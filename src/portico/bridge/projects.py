"""Projects: create, list, open."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from portico.bridge.core.errors import (
    Archived,
    ProjectNameTaken,
    flaws_of_line,
    flaws_of_text,
    raise_if_invalid,
)
from portico.bridge.core.messages import check_shared, flaws_of_limit, label_of
from portico.bridge.core.projects import Project, ProjectId
from portico.bridge.core.taint import about_archive
from portico.bridge.ports import Projects
from portico.bridge.taint import TaintRecorder, in_view_context, looking
from portico.guard.core.principals import Scope
from portico.guard.ports import Audit, UnitOfWork
from portico.guard.principals import require_scope
from portico.kernel.clock import Clock, Entropy
from portico.kernel.errors import FieldError
from portico.kernel.label import PUBLIC, Label
from portico.kernel.principal import Principal

_NAME: Final = 100
_DESCRIPTION: Final = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateProject:
    projects: Projects
    taint: TaintRecorder
    clock: Clock
    entropy: Entropy

    async def __call__(
        self, caller: Principal, name: str, description: str = "", label: Label | None = None
    ) -> Project:
        """Raises `NotPermitted`, `InvalidBridgeInput`, `ProjectNameTaken`, `WriteDown`,
        `AboveClearance`."""
        require_scope(caller, Scope.BRIDGE_WRITE)
        raise_if_invalid(_flaws(name, description))
        now = self.clock.now()
        id_ = ProjectId.mint(now, self.entropy)
        caller = in_view_context(caller, id_)
        mark = await self.taint.at(caller)
        labelled = label_of(label, inside=PUBLIC, mark=mark.label, clearance=caller.clearance)
        project = Project(
            id=id_,
            name=name,
            description=description,
            label=labelled.label,
            made_by=caller.id,
            made_at=now,
            active_at=now,
        )
        try:
            await self.projects.add(caller, project)
        except ProjectNameTaken:
            await self.taint.read(caller, [project.label])
            raise
        return project


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowProject:
    projects: Projects
    taint: TaintRecorder

    async def __call__(self, caller: Principal, which: str) -> Project:
        """By its id or its name. Raises `NotPermitted`, `ProjectNotFound`."""
        require_scope(caller, Scope.BRIDGE_READ)
        project = await self.projects.get(caller, which)
        await self.taint.read(in_view_context(caller, project.id), [project.label])
        return project


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeProject:
    projects: Projects
    taint: TaintRecorder
    unit_of_work: UnitOfWork
    audit: Audit
    clock: Clock

    async def __call__(
        self,
        caller: Principal,
        project: ProjectId,
        *,
        name: str | None = None,
        description: str | None = None,
        archived: bool | None = None,
    ) -> Project:
        """Raises `NotPermitted`, `InvalidBridgeInput`, `ProjectNotFound`, `ProjectNameTaken`,
        `WriteDown`."""
        require_scope(caller, Scope.BRIDGE_WRITE)
        raise_if_invalid(_flaws(name, description))
        caller = in_view_context(caller, project)
        was = await self.projects.get(caller, str(project))
        await self.taint.read(caller, [was.label])
        if archived is not None and was.made_by != caller.id:
            require_scope(caller, Scope.BRIDGE_MANAGE)
        check_shared(was.label, (await self.taint.at(caller)).label)
        changed = replace(
            was,
            name=was.name if name is None else name,
            description=was.description if description is None else description,
        )
        if archived is not None and archived != (was.archived_at is not None):
            changed = replace(changed, archived_at=self.clock.now() if archived else None)
        async with self.unit_of_work(caller):
            await self.projects.put(caller, changed)
            if changed.archived_at != was.archived_at:
                await self.audit.note(caller, about_archive("project", was.id, changed.archived_at))
        return changed


@dataclass(frozen=True, slots=True, kw_only=True)
class ListProjects:
    projects: Projects
    taint: TaintRecorder

    async def __call__(
        self,
        caller: Principal,
        *,
        archived: bool = False,
        after: str | None = None,
        limit: int = 50,
        upto: Label | None = None,
    ) -> Sequence[Project]:
        """The one with the latest news first. Raises `NotPermitted`, `InvalidBridgeInput`."""
        require_scope(caller, Scope.BRIDGE_READ)
        raise_if_invalid(flaws_of_limit(limit))
        caller = looking(in_view_context(caller, None), upto)
        found = await self.projects.page(caller, archived=archived, after=after, limit=limit)
        await self.taint.read(caller, [project.label for project in found])
        return found


def _flaws(name: str | None, description: str | None) -> Iterator[FieldError]:
    if name is not None:
        yield from flaws_of_line("name", name, most=_NAME)
    if description is not None:
        yield from flaws_of_text("description", description, most=_DESCRIPTION)


@dataclass(frozen=True, slots=True)
class OpenProject:
    projects: Projects
    taint: TaintRecorder

    async def __call__(self, caller: Principal, project: ProjectId) -> tuple[Principal, Project]:
        """The caller in front of it. Raises `ProjectNotFound`."""
        there = in_view_context(caller, project)
        found = await self.projects.get(there, str(project))
        await self.taint.read(there, [found.label])
        return there, found

    async def to_write(self, caller: Principal, project: ProjectId) -> tuple[Principal, Project]:
        """Raises `ProjectNotFound`, `Archived`."""
        there, found = await self(caller, project)
        if found.archived_at is not None:
            raise Archived(found.name)
        return there, found
