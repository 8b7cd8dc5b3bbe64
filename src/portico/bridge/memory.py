"""Memory: remember, recall, forget."""

from collections.abc import Sequence
from dataclasses import dataclass

from portico.bridge.core.errors import MemoryNotFound, raise_if_invalid
from portico.bridge.core.memory import MOST_VERSIONS, MemoryEntry, ToRemember, flaws_of_memory
from portico.bridge.core.messages import flaws_of_limit, label_of
from portico.bridge.core.projects import ProjectId
from portico.bridge.ports import Memory
from portico.bridge.projects import OpenProject
from portico.bridge.taint import TaintRecorder
from portico.guard.core.principals import Scope
from portico.guard.principals import require_scope
from portico.kernel.clock import Clock
from portico.kernel.label import Label
from portico.kernel.principal import Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class Remember:
    open_project: OpenProject
    memory: Memory
    taint: TaintRecorder
    clock: Clock

    async def __call__(self, caller: Principal, wanted: ToRemember) -> MemoryEntry:
        """Raises `NotPermitted`, `InvalidBridgeInput`, `NotCanonical`, `ProjectNotFound`,
        `Archived`, `WriteDown`, `BelowContainer`, `AboveClearance`, `MemoryChanged`."""
        require_scope(caller, Scope.BRIDGE_WRITE)
        now = self.clock.now()
        raise_if_invalid(flaws_of_memory(wanted, now))
        caller, inside = await self.open_project.to_write(caller, wanted.project)
        mark = await self.taint.at(caller)
        label = label_of(
            wanted.label, inside=inside.label, mark=mark.label, clearance=caller.clearance
        ).label
        # Which version it is, or is not, tells what others have written under this label.
        await self.taint.read(caller, [label])
        return await self.memory.put(caller, wanted, label, now, untrusted=mark.untrusted)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recall:
    open_project: OpenProject
    memory: Memory
    taint: TaintRecorder

    async def __call__(self, caller: Principal, project: ProjectId, key: str) -> MemoryEntry:
        """The most secret of this key that they may read. Raises `NotPermitted`,
        `ProjectNotFound`, `MemoryNotFound`."""
        require_scope(caller, Scope.BRIDGE_READ)
        caller, _ = await self.open_project(caller, project)
        found = await self.memory.get(caller, project, key)
        await _read(self.taint, caller, [found])
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Forget:
    open_project: OpenProject
    memory: Memory
    taint: TaintRecorder
    clock: Clock

    async def __call__(
        self, caller: Principal, project: ProjectId, key: str, label: Label | None = None
    ) -> None:
        """What is under this label; if none is given, what they would be given now. Raises
        `NotPermitted`, `ProjectNotFound`, `Archived`, `MemoryNotFound`, `WriteDown`,
        `BelowContainer`, `AboveClearance`."""
        require_scope(caller, Scope.BRIDGE_WRITE)
        caller, inside = await self.open_project.to_write(caller, project)
        if label is None:
            found = await self.memory.get(caller, project, key)
            await _read(self.taint, caller, [found])
            label = found.label
        mark = await self.taint.at(caller)
        label_of(label, inside=inside.label, mark=mark.label, clearance=caller.clearance)
        await self.taint.read(caller, [label])
        await self.memory.forget(caller, project, key, label, self.clock.now())


@dataclass(frozen=True, slots=True, kw_only=True)
class ListMemory:
    open_project: OpenProject
    memory: Memory
    taint: TaintRecorder

    async def __call__(
        self,
        caller: Principal,
        project: ProjectId,
        *,
        prefix: str = "",
        after: str | None = None,
        limit: int = 50,
    ) -> Sequence[MemoryEntry]:
        """By key, from the one `after` this. Raises `NotPermitted`, `InvalidBridgeInput`,
        `ProjectNotFound`."""
        require_scope(caller, Scope.BRIDGE_READ)
        raise_if_invalid(flaws_of_limit(limit))
        caller, _ = await self.open_project(caller, project)
        found = await self.memory.page(caller, project, prefix=prefix, after=after, limit=limit)
        await _read(self.taint, caller, found)
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchMemory:
    open_project: OpenProject
    memory: Memory
    taint: TaintRecorder

    async def __call__(
        self, caller: Principal, project: ProjectId, words: str, limit: int = 20
    ) -> Sequence[MemoryEntry]:
        """What has all of these words. Raises `NotPermitted`, `InvalidBridgeInput`,
        `ProjectNotFound`."""
        require_scope(caller, Scope.BRIDGE_READ)
        raise_if_invalid(flaws_of_limit(limit))
        caller, _ = await self.open_project(caller, project)
        found = await self.memory.find(caller, project, words, limit)
        await _read(self.taint, caller, found)
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryHistory:
    open_project: OpenProject
    memory: Memory
    taint: TaintRecorder

    async def __call__(
        self, caller: Principal, project: ProjectId, key: str
    ) -> Sequence[MemoryEntry]:
        """Its last versions under every label that they may read, the most secret first; also of
        what has expired or was forgotten. Raises `NotPermitted`, `ProjectNotFound`,
        `MemoryNotFound`."""
        require_scope(caller, Scope.BRIDGE_READ)
        caller, _ = await self.open_project(caller, project)
        found = await self.memory.versions(caller, project, key, MOST_VERSIONS)
        if not found:
            raise MemoryNotFound(key)
        await _read(self.taint, caller, found)
        return found


async def _read(marks: TaintRecorder, caller: Principal, found: Sequence[MemoryEntry]) -> None:
    untrusted = any(each.untrusted for each in found)
    await marks.read(caller, [each.label for each in found], untrusted=untrusted)
