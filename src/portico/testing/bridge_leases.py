"""Leases in memory, by a clock that is handed in."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from portico.bridge.core.errors import LeaseHeld, LeaseLost
from portico.bridge.core.leases import (
    WAITS_FOR,
    Lease,
    LeaseId,
    LeaseWish,
    Waiting,
    check_alike,
    check_free,
    check_number,
    holds,
)
from portico.bridge.core.projects import ProjectId
from portico.kernel.clock import Clock
from portico.kernel.ids import SpaceId
from portico.kernel.principal import Principal
from portico.testing.bridge_walls import check_label, project_there
from portico.testing.kernel import TickingClock
from portico.testing.world import MemoryWorld


class MemoryLeases:
    def __init__(self, world: MemoryWorld, clock: Clock | None = None) -> None:
        self._world = world
        self._clock = clock or TickingClock()

    async def take(self, caller: Principal, id_: LeaseId, wish: LeaseWish) -> Lease:
        project = project_there(self._world, caller, wish.project)
        check_label(self._world, caller, project.label)
        held, queue = await self.all(caller, wish.project)
        for lease in held:
            if (lease.id, lease.holder) == (id_, caller.id):
                check_alike(wish, lease.resource)
                return lease
        waits = self._world.lease_queue.get((caller.space, wish.project, id_))
        if waits is not None and waits in queue and waits.principal == caller.id:
            check_alike(wish, waits.resource)
        check_number(wish, caller.id, held=held, queue=queue)
        try:
            check_free(wish, caller.id, held=held, queue=queue)
        except LeaseHeld:
            if wish.wait:
                self._wait(caller, id_, wish)
            raise
        self._stop_waiting(caller, wish)
        return self._give(caller, id_, wish)

    async def get(self, caller: Principal, lease: LeaseId) -> Lease:
        found = self._world.leases.get((caller.space, lease))
        if found is None or not found.held(self._clock.now()) or not self._sees(caller, found):
            raise LeaseLost(str(lease))
        return found

    async def renew(
        self, caller: Principal, lease: LeaseId, token: int, *, for_: timedelta
    ) -> Lease:
        found = await self._own(caller, lease, token)
        check_label(self._world, caller, self._world.projects[caller.space, found.project].label)
        renewed = replace(found, expires_at=self._clock.now() + for_)
        self._world.leases[caller.space, lease] = renewed
        return renewed

    async def release(self, caller: Principal, lease: LeaseId, token: int) -> None:
        found = await self._own(caller, lease, token)
        check_label(self._world, caller, self._world.projects[caller.space, found.project].label)
        del self._world.leases[caller.space, lease]

    async def check(
        self, caller: Principal, project: ProjectId, resource: str, token: int
    ) -> Lease:
        for lease in (await self.all(caller, project))[0]:
            if lease.token == token and holds(lease.resource, resource):
                return lease
        raise LeaseLost(resource)

    async def all(
        self, caller: Principal, project: ProjectId
    ) -> tuple[Sequence[Lease], Sequence[Waiting]]:
        project_there(self._world, caller, project)
        now = self._clock.now()
        held = [
            lease
            for (space, _), lease in self._world.leases.items()
            if (space, lease.project) == (caller.space, project) and lease.held(now)
        ]
        queue = [
            waiting
            for (space, of, _), waiting in self._world.lease_queue.items()
            if (space, of) == (caller.space, project) and now < waiting.until
        ]
        return sorted(held, key=lambda its: its.token), sorted(queue, key=lambda its: its.since)

    async def _own(self, caller: Principal, lease: LeaseId, token: int) -> Lease:
        found = await self.get(caller, lease)
        if (found.holder, found.token) != (caller.id, token):
            raise LeaseLost(found.resource)
        return found

    def _sees(self, caller: Principal, lease: Lease) -> bool:
        project = self._world.projects[caller.space, lease.project]
        return caller.clearance.covers(project.label)

    def _give(self, caller: Principal, id_: LeaseId, wish: LeaseWish) -> Lease:
        token = self._world.lease_tokens.get((caller.space, wish.project), 0) + 1
        now = self._clock.now()
        lease = Lease(
            id=id_,
            project=wish.project,
            resource=wish.resource,
            holder=caller.id,
            holder_name=caller.name,
            token=token,
            taken_at=now,
            expires_at=now + wish.lasts,
            purpose=wish.purpose,
        )
        self._world.lease_tokens[caller.space, wish.project] = token
        self._world.leases[caller.space, id_] = lease
        return lease

    def _wait(self, caller: Principal, id_: LeaseId, wish: LeaseWish) -> None:
        now = self._clock.now()
        for place, waiting in self._world.lease_queue.items():
            if _waits(caller, wish, place, waiting) and now < waiting.until:
                self._world.lease_queue[place] = replace(waiting, until=now + WAITS_FOR)
                return
        self._world.lease_queue[caller.space, wish.project, id_] = Waiting(
            principal=caller.id,
            name=caller.name,
            resource=wish.resource,
            since=now,
            until=now + WAITS_FOR,
        )

    def _stop_waiting(self, caller: Principal, wish: LeaseWish) -> None:
        """Also of what has expired since."""
        self._world.lease_queue.drop(lambda place, waiting: _waits(caller, wish, place, waiting))


def _waits(
    caller: Principal,
    wish: LeaseWish,
    place: tuple[SpaceId, ProjectId, LeaseId],
    waiting: Waiting,
) -> bool:
    return place[:2] == (caller.space, wish.project) and (
        (waiting.principal, waiting.resource) == (caller.id, wish.resource)
    )
