"""Work items: create, claim, finish."""

from collections.abc import Sequence
from dataclasses import dataclass

from portico.bridge.core.errors import WriteDown, raise_if_invalid
from portico.bridge.core.messages import check_shared, flaws_of_limit, label_again
from portico.bridge.core.projects import ProjectId
from portico.bridge.core.work_items import (
    NewWorkItem,
    WorkEnded,
    WorkItem,
    WorkItemId,
    WorkItemStatus,
    flaws_of_end,
    flaws_of_work,
)
from portico.bridge.ports import Works
from portico.bridge.projects import OpenProject
from portico.bridge.taint import TaintRecorder
from portico.engine.core.errors import KeyReused
from portico.guard.core.access_request import TaintContext
from portico.guard.core.principals import Scope
from portico.guard.principals import require_scope
from portico.kernel.clock import Clock, Entropy
from portico.kernel.ids import PrincipalId
from portico.kernel.label import Label
from portico.kernel.principal import Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class AddWork:
    open_project: OpenProject
    works: Works
    taint: TaintRecorder
    clock: Clock
    entropy: Entropy

    async def __call__(self, caller: Principal, work: NewWorkItem) -> WorkItem:
        """The same key again is the same work. Raises `NotPermitted`, `InvalidBridgeInput`,
        `ProjectNotFound`, `Archived`, `WorkNotFound` of what it depends on, `WriteDown`,
        `BelowContainer`, `AboveClearance`, `KeyReused`."""
        require_scope(caller, Scope.BRIDGE_WRITE)
        raise_if_invalid(flaws_of_work(work))
        caller, inside = await self.open_project.to_write(caller, work.project)
        # It tells of what it depends on, and so it is no less secret than that.
        await _read(self.taint, caller, [await self.works.get(caller, id_) for id_ in work.depends])
        added = await self._added(caller, work, inside.label)
        await _read(self.taint, caller, [added])
        return added

    async def _added(self, caller: Principal, work: NewWorkItem, inside: Label) -> WorkItem:
        try:
            return await self._tried(caller, work, inside)
        except KeyReused as before:
            await self.taint.read(caller, [before.label])
            raise
        except WriteDown:
            if work.label is not None:
                raise
            # Something more secret was read in this task just now, by another request of it.
            return await self._tried(caller, work, inside)

    async def _tried(self, caller: Principal, work: NewWorkItem, inside: Label) -> WorkItem:
        mark = await self.taint.at(caller)
        now = self.clock.now()
        label = label_again(
            work.label,
            inside=inside,
            mark=mark.label,
            clearance=caller.clearance,
            again=work.key is not None,
        )
        id_ = WorkItemId.mint(now, self.entropy)
        return await self.works.add(caller, id_, work, label, now, untrusted=mark.untrusted)


@dataclass(frozen=True, slots=True)
class OpenWork:
    """The way to a piece of work: in front of its project, having read it."""

    open_project: OpenProject
    works: Works
    taint: TaintRecorder

    async def __call__(self, caller: Principal, work: WorkItemId) -> tuple[Principal, WorkItem]:
        """Raises `WorkNotFound`."""
        found = await self.works.get(caller, work)
        caller, _ = await self.open_project(caller, found.project)
        await _read(self.taint, caller, [found])
        return caller, found

    async def to_change(
        self, caller: Principal, work: WorkItemId
    ) -> tuple[Principal, TaintContext]:
        """Whoever may read it sees what becomes of it: it is not changed by somebody who has read
        more. Raises `WorkNotFound`, `Archived`, `WriteDown`."""
        caller, found = await self(caller, work)
        await self.open_project.to_write(caller, found.project)
        mark = await self.taint.at(caller)
        check_shared(found.label, mark.label)
        return caller, mark


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowWork:
    open_work: OpenWork

    async def __call__(self, caller: Principal, work: WorkItemId) -> WorkItem:
        """Raises `NotPermitted`, `WorkNotFound`."""
        require_scope(caller, Scope.BRIDGE_READ)
        _, found = await self.open_work(caller, work)
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class ListWork:
    open_project: OpenProject
    works: Works
    taint: TaintRecorder

    async def __call__(
        self,
        caller: Principal,
        project: ProjectId,
        *,
        state: WorkItemStatus | None = None,
        after: str | None = None,
        limit: int = 50,
    ) -> Sequence[WorkItem]:
        """The oldest first, from the one `after` this. Raises `NotPermitted`, `InvalidBridgeInput`,
        `InvalidId`, `ProjectNotFound`."""
        require_scope(caller, Scope.BRIDGE_READ)
        raise_if_invalid(flaws_of_limit(limit))
        last = None if after is None else WorkItemId.parse(after)
        caller, _ = await self.open_project(caller, project)
        found = await self.works.page(caller, project, state=state, after=last, limit=limit)
        await _read(self.taint, caller, found)
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimWork:
    open_work: OpenWork
    works: Works
    clock: Clock

    async def __call__(self, caller: Principal, work: WorkItemId) -> WorkItem:
        """By one alone; whoever has it already is refused as well, since another run of the same
        agent may be at it. Raises `NotPermitted`, `WorkNotFound`, `Archived`, `WriteDown`,
        `WorkTaken`, `WorkOver`, `WorkHeldUp`."""
        require_scope(caller, Scope.BRIDGE_WRITE)
        caller, _ = await self.open_work.to_change(caller, work)
        return await self.works.claim(caller, work, self.clock.now())


@dataclass(frozen=True, slots=True, kw_only=True)
class HandOverWork:
    open_work: OpenWork
    works: Works
    clock: Clock

    async def __call__(
        self, caller: Principal, work: WorkItemId, token: int, to: PrincipalId | None
    ) -> WorkItem:
        """To somebody, or to whoever comes. Raises `NotPermitted`, `WorkNotFound`, `Archived`,
        `WriteDown`, `WorkTaken`, `WorkOver`, `PrincipalNotFound`."""
        require_scope(caller, Scope.BRIDGE_WRITE)
        caller, _ = await self.open_work.to_change(caller, work)
        return await self.works.hand_over(caller, work, token, to, self.clock.now())


@dataclass(frozen=True, slots=True, kw_only=True)
class EndWork:
    open_work: OpenWork
    works: Works
    clock: Clock

    async def __call__(self, caller: Principal, ended: WorkEnded) -> WorkItem:
        """Raises `NotPermitted`, `InvalidBridgeInput`, `WorkNotFound`, `Archived`, `WriteDown`,
        `WorkTaken`, `WorkOver`."""
        require_scope(caller, Scope.BRIDGE_WRITE)
        raise_if_invalid(flaws_of_end(ended))
        caller, mark = await self.open_work.to_change(caller, ended.work)
        return await self.works.end(caller, ended, self.clock.now(), untrusted=mark.untrusted)


async def _read(marks: TaintRecorder, caller: Principal, found: Sequence[WorkItem]) -> None:
    untrusted = any(work.untrusted for work in found)
    await marks.read(caller, [work.label for work in found], untrusted=untrusted)
