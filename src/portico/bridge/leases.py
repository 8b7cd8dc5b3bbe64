"""Leases: take, renew, release."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from portico.bridge.core.errors import raise_if_invalid
from portico.bridge.core.leases import (
    Lease,
    LeaseId,
    LeaseSpec,
    Waiting,
    flaws_of_resource,
    flaws_of_time,
    flaws_of_wish,
)
from portico.bridge.core.messages import check_shared
from portico.bridge.core.projects import ProjectId
from portico.bridge.ports import Leases
from portico.bridge.projects import OpenProject
from portico.bridge.taint import TaintRecorder
from portico.guard.core.principals import Scope
from portico.guard.principals import require_scope
from portico.kernel.clock import Clock, Entropy
from portico.kernel.principal import Principal

# Leases: to have something alone for a while, and to be told when that is over.
#
# Who holds what is known to everybody in the project, so it is written as secret as the project is,
# and by nobody who has read more.


@dataclass(frozen=True, slots=True, kw_only=True)
class TakeLease:
    open_project: OpenProject
    leases: Leases
    taint: TaintRecorder
    clock: Clock
    entropy: Entropy

    async def __call__(self, caller: Principal, wish: LeaseSpec) -> Lease:
        """Raises `NotPermitted`, `InvalidBridgeInput`, `ProjectNotFound`, `Archived`, `WriteDown`,
        `LeaseHeld`, `TooManyLeases`, `KeyReused`."""
        require_scope(caller, Scope.BRIDGE_WRITE)
        raise_if_invalid(flaws_of_wish(wish))
        caller, inside = await self.open_project.to_write(caller, wish.project)
        check_shared(inside.label, (await self.taint.at(caller)).label)
        return await self.leases.take(caller, self._id(caller, wish), wish)

    def _id(self, caller: Principal, wish: LeaseSpec) -> LeaseId:
        """The same for the same key in this project, and nobody else's."""
        if wish.key is None:
            return LeaseId.mint(self.clock.now(), self.entropy)
        return LeaseId.of_digest(f"{caller.space} {caller.id} {wish.project} {wish.key}".encode())


@dataclass(frozen=True, slots=True, kw_only=True)
class RenewLease:
    open_project: OpenProject
    leases: Leases
    taint: TaintRecorder

    async def __call__(
        self, caller: Principal, lease: LeaseId, token: int, *, for_: timedelta
    ) -> Lease:
        """From now on for so long. Raises `NotPermitted`, `InvalidBridgeInput`, `LeaseLost`,
        `Archived`, `WriteDown`."""
        require_scope(caller, Scope.BRIDGE_WRITE)
        raise_if_invalid(flaws_of_time(for_))
        found = await self.leases.get(caller, lease)
        caller, inside = await self.open_project.to_write(caller, found.project)
        check_shared(inside.label, (await self.taint.at(caller)).label)
        return await self.leases.renew(caller, lease, token, for_=for_)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseLease:
    open_project: OpenProject
    leases: Leases
    taint: TaintRecorder

    async def __call__(self, caller: Principal, lease: LeaseId, token: int) -> None:
        """Raises `NotPermitted`, `LeaseLost`, `WriteDown`."""
        require_scope(caller, Scope.BRIDGE_WRITE)
        found = await self.leases.get(caller, lease)
        caller, inside = await self.open_project(caller, found.project)
        check_shared(inside.label, (await self.taint.at(caller)).label)
        await self.leases.release(caller, lease, token)


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckLease:
    open_project: OpenProject
    leases: Leases

    async def __call__(
        self, caller: Principal, project: ProjectId, resource: str, token: int
    ) -> Lease:
        """For whoever guards the resource, and was shown this token. Raises `NotPermitted`,
        `InvalidBridgeInput`, `ProjectNotFound`, `LeaseLost`."""
        require_scope(caller, Scope.BRIDGE_READ)
        raise_if_invalid(flaws_of_resource(resource))
        caller, _ = await self.open_project(caller, project)
        return await self.leases.check(caller, project, resource, token)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListLeases:
    open_project: OpenProject
    leases: Leases

    async def __call__(
        self, caller: Principal, project: ProjectId
    ) -> tuple[Sequence[Lease], Sequence[Waiting]]:
        """Who holds what, and who waits, the first one first. Raises `NotPermitted`,
        `ProjectNotFound`."""
        require_scope(caller, Scope.BRIDGE_READ)
        caller, _ = await self.open_project(caller, project)
        return await self.leases.all(caller, project)
