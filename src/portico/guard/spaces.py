"""Spaces: create, list, change."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass, replace

from portico.guard.core.audit import about_key, about_principal, about_space
from portico.guard.core.authentication import as_principal
from portico.guard.core.errors import NotConfirmed, SpaceNotFound
from portico.guard.core.keys import ApiKey, Purpose, StoredKey
from portico.guard.core.principals import OF_THE_INSTALLATION, Identity, Role, Scope
from portico.guard.core.spaces import ExportedRow, Space
from portico.guard.invitations import INVITATION_LIFETIME, Invitation, invitation_for
from portico.guard.keys import IssuedKey
from portico.guard.ports import Audit, Leavings, Spaces, UnitOfWork
from portico.guard.principals import require_scope
from portico.kernel.clock import Clock, Entropy
from portico.kernel.ids import PrincipalId, SpaceId
from portico.kernel.label import Label, Level
from portico.kernel.principal import Principal, PrincipalKind


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceSpec:
    name: str
    admin: str


@dataclass(frozen=True, slots=True)
class Installed:
    space: Space
    admin: Identity
    key: IssuedKey


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallHome:
    """The first space of an installation, whose admin may found others and see their figures."""

    spaces: Spaces
    unit_of_work: UnitOfWork
    audit: Audit
    clock: Clock
    entropy: Entropy
    pepper: bytes

    async def __call__(self, wish: SpaceSpec) -> Installed:
        now = self.clock.now()
        space, first = _founding(wish, self.clock, self.entropy)
        admin = replace(first, grants=OF_THE_INSTALLATION)
        key = ApiKey.mint(self.entropy)
        stored = StoredKey(
            id=key.id,
            space=space.id,
            principal=admin.id,
            purpose=Purpose.ACCESS,
            name="command line",
            scopes=None,
            clearance=admin.clearance,
            created_at=now,
        )
        caller = as_principal(admin)
        async with self.unit_of_work(caller):
            await self.spaces.found(space, admin, stored, key.digest(self.pepper))
            await self.audit.note(
                caller,
                about_space("space.founded", space),
                about_principal("principal.added", admin),
                about_key("key.issued", stored),
            )
        return Installed(space, admin, IssuedKey(key, stored))


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundSpace:
    """A new tenant. Its admin comes in by invitation; the founder has no way in."""

    spaces: Spaces
    unit_of_work: UnitOfWork
    audit: Audit
    clock: Clock
    entropy: Entropy
    pepper: bytes

    async def __call__(self, caller: Principal, wish: SpaceSpec) -> tuple[Space, Invitation]:
        """Raises `NotPermitted`."""
        require_scope(caller, Scope.SPACES_CREATE)
        space, admin = _founding(wish, self.clock, self.entropy)
        stored, key = invitation_for(admin, self.clock.now(), self.entropy)
        founded = about_space("space.founded", space, founder=str(caller.id))
        async with self.unit_of_work(caller):
            await self.spaces.found(space, admin, stored, key.digest(self.pepper))
            await self.audit.note(caller, founded)
            await self.audit.note(
                as_principal(admin),
                founded,
                about_principal("principal.added", admin),
                about_key("invitation.made", stored),
            )
        return space, Invitation(admin, key, self.clock.now() + INVITATION_LIFETIME)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowSpace:
    spaces: Spaces

    async def __call__(self, caller: Principal, space: SpaceId | None = None) -> Space:
        """One's own; any other does not exist. Raises `SpaceNotFound`."""
        require_scope(caller, Scope.SPACE_READ)
        return await _own(self.spaces, caller, space)


@dataclass(frozen=True, slots=True, kw_only=True)
class RenameSpace:
    spaces: Spaces
    unit_of_work: UnitOfWork
    audit: Audit

    async def __call__(self, caller: Principal, space: SpaceId, name: str) -> Space:
        require_scope(caller, Scope.SPACE_WRITE)
        before = await _own(self.spaces, caller, space)
        after = replace(before, name=name)
        async with self.unit_of_work(caller):
            await self.spaces.rename(caller, name)
            await self.audit.note(caller, about_space("space.renamed", after, was=before.name))
        return after


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportSpace:
    spaces: Spaces

    async def __call__(
        self, caller: Principal, space: SpaceId
    ) -> AsyncGenerator[ExportedRow, None]:
        require_scope(caller, Scope.SPACE_EXPORT)
        await _own(self.spaces, caller, space)
        return self.spaces.export(caller)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteSpace:
    """What was done in it goes with it, also what its programs have left; what stays is the head
    that its audit ended in, where heads are exported to."""

    spaces: Spaces
    audit: Audit
    leavings: Leavings

    async def __call__(self, caller: Principal, space: SpaceId, *, confirm: str) -> None:
        """Raises `NotConfirmed` unless `confirm` repeats the space's name."""
        require_scope(caller, Scope.SPACE_DELETE)
        doomed = await _own(self.spaces, caller, space)
        if confirm != doomed.name:
            raise NotConfirmed(doomed.name)
        await self.audit.note(caller, about_space("space.deleted", doomed))
        await self.spaces.delete(caller)
        await self.leavings.clear(doomed.id)


async def _own(spaces: Spaces, caller: Principal, space: SpaceId | None) -> Space:
    if space not in (None, caller.space):
        raise SpaceNotFound(str(space))
    return await spaces.get(caller)


def _founding(wish: SpaceSpec, clock: Clock, entropy: Entropy) -> tuple[Space, Identity]:
    now = clock.now()
    space = Space(SpaceId.mint(now, entropy), wish.name, now)
    admin = Identity(
        id=PrincipalId.mint(now, entropy),
        space=space.id,
        kind=PrincipalKind.PERSON,
        name=wish.admin,
        roles=frozenset({Role.ADMIN}),
        clearance=Label(Level.RESTRICTED),
        created_at=now,
    )
    return space, admin
