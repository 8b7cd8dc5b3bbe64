"""Work in memory, and who is there."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from portico.bridge.core.errors import WorkNotFound
from portico.bridge.core.messages import secrecy
from portico.bridge.core.presence import Doing, Presence
from portico.bridge.core.projects import ProjectId
from portico.bridge.core.work_items import (
    NewWork,
    Work,
    WorkEnded,
    WorkId,
    WorkState,
    asked_alike,
    claimed,
    handed_over,
    over,
)
from portico.engine.core.errors import KeyReused
from portico.guard.core.errors import PrincipalNotFound
from portico.kernel.ids import PrincipalId
from portico.kernel.label import Label
from portico.kernel.principal import Principal
from portico.testing.bridge_walls import check_label, project_there
from portico.testing.world import KnownWork, MemoryWorld


class MemoryWorks:
    def __init__(self, world: MemoryWorld) -> None:
        self._world = world

    async def add(
        self,
        caller: Principal,
        id_: WorkId,
        work: NewWork,
        label: Label,
        at: datetime,
        *,
        untrusted: bool = False,
    ) -> Work:
        project_there(self._world, caller, work.project)
        if work.key is not None and (before := self._by_key(caller, work.key)):
            if not asked_alike(before, work):
                raise KeyReused(work.key, before.label)
            return before
        for needed in work.depends:
            if self._told(caller, needed).project != work.project:
                raise WorkNotFound(str(needed))
        check_label(self._world, caller, label)
        added = Work(
            id=id_,
            project=work.project,
            title=work.title,
            body=work.body,
            label=label,
            depends=tuple(dict.fromkeys(work.depends)),
            untrusted=untrusted,
            made_by=caller.id,
            made_at=at,
            changed_at=at,
        )
        self._world.works.insert((caller.space, id_), KnownWork(added, work.key))
        return self._told(caller, id_)

    async def get(self, caller: Principal, work: WorkId) -> Work:
        return self._told(caller, work)

    async def page(
        self,
        caller: Principal,
        project: ProjectId,
        *,
        state: WorkState | None,
        after: WorkId | None,
        limit: int,
    ) -> Sequence[Work]:
        every = [
            self._told(caller, known.work.id)
            for known in self._visible(caller)
            if known.work.project == project and state in (None, known.work.state)
        ]
        every.sort(key=lambda its: its.id.value)
        return [its for its in every if after is None or its.id.value > after.value][:limit]

    async def claim(self, caller: Principal, work: WorkId, at: datetime) -> Work:
        there = self._told(caller, work)
        return self._put(caller, claimed(there, caller.id, at))

    async def hand_over(
        self, caller: Principal, work: WorkId, token: int, to: PrincipalId | None, at: datetime
    ) -> Work:
        there = self._told(caller, work)
        changed = handed_over(there, caller.id, token, to, at)
        if to is not None and (caller.space, to) not in self._world.identities:
            raise PrincipalNotFound(str(to))
        return self._put(caller, changed)

    async def end(
        self, caller: Principal, ended: WorkEnded, at: datetime, *, untrusted: bool = False
    ) -> Work:
        there = self._told(caller, ended.work)
        return self._put(caller, over(there, ended, caller.id, at, untrusted=untrusted))

    def _put(self, caller: Principal, work: Work) -> Work:
        check_label(self._world, caller, work.label)
        known = self._world.works[caller.space, work.id]
        changed = replace(work, depends=known.work.depends)
        self._world.works[caller.space, work.id] = replace(known, work=changed)
        return self._told(caller, work.id)

    def _visible(self, caller: Principal) -> Sequence[KnownWork]:
        return [
            known
            for (space, _), known in self._world.works.items()
            if space == caller.space and caller.clearance.covers(known.work.label)
        ]

    def _told(self, caller: Principal, work: WorkId) -> Work:
        """As the caller sees it. Raises `WorkNotFound`."""
        seen = {known.work.id: known.work for known in self._visible(caller)}
        if work not in seen:
            raise WorkNotFound(str(work))
        its = seen[work]
        by = (
            None if its.claimed_by is None else self._world.identities[caller.space, its.claimed_by]
        )
        return replace(
            its,
            depends=tuple(each for each in its.depends if each in seen),
            held_up=any(each not in seen or not seen[each].state.over for each in its.depends),
            claimed_by_name=None if by is None else by.name,
        )

    def _by_key(self, caller: Principal, key: str) -> Work | None:
        mine = [
            known.work
            for known in self._visible(caller)
            if (known.work.made_by, known.key) == (caller.id, key)
        ]
        found = max(mine, key=lambda its: secrecy(its.label), default=None)
        return None if found is None else self._told(caller, found.id)


class MemoryPresences:
    def __init__(self, world: MemoryWorld) -> None:
        self._world = world

    async def say(
        self, caller: Principal, project: ProjectId, doing: Doing, note: str, until: datetime
    ) -> None:
        check_label(self._world, caller, project_there(self._world, caller, project).label)
        self._world.presences[caller.space, project, caller.id] = Presence(
            principal=caller.id, name=caller.name, doing=doing, note=note, until=until
        )

    async def all(self, caller: Principal, project: ProjectId, now: datetime) -> Sequence[Presence]:
        project_there(self._world, caller, project)
        every = [
            presence
            for (space, of, _), presence in self._world.presences.items()
            if (space, of) == (caller.space, project) and now < presence.until
        ]
        return sorted(every, key=lambda its: its.name)
