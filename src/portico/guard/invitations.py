"""Invitations: invite a person, and accept."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from portico.guard.core.audit import about_key
from portico.guard.core.errors import InvitationUsed, PrincipalDisabled, PrincipalNotFound
from portico.guard.core.keys import ApiKey, Purpose, StoredKey, check_tools
from portico.guard.core.principals import Identity, Scope, check_reach
from portico.guard.keys import IssuedKey
from portico.guard.ports import Audit, Keys, Principals, UnitOfWork
from portico.guard.principals import AddPrincipal, PrincipalSpec, require_scope
from portico.kernel.clock import Clock, Entropy
from portico.kernel.ids import PrincipalId
from portico.kernel.principal import Principal, PrincipalKind

INVITATION_LIFETIME: Final = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class Invitation:
    identity: Identity
    key: ApiKey
    expires_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class InvitePerson:
    add_principal: AddPrincipal
    keys: Keys
    unit_of_work: UnitOfWork
    audit: Audit
    clock: Clock
    entropy: Entropy
    pepper: bytes

    async def __call__(self, caller: Principal, wish: PrincipalSpec) -> Invitation:
        """Raises `NotPermitted`, `Overreach`, `NameTaken`."""
        async with self.unit_of_work(caller):
            identity = await self.add_principal(caller, wish)
            stored, key = invitation_for(identity, self.clock.now(), self.entropy)
            await self.keys.add(caller, stored, key.digest(self.pepper))
            await self.audit.note(caller, about_key("invitation.made", stored))
        return Invitation(identity, key, self.clock.now() + INVITATION_LIFETIME)


@dataclass(frozen=True, slots=True, kw_only=True)
class InviteAgain:
    """For a person whose link was lost; whoever has found it cannot use it any more."""

    principals: Principals
    keys: Keys
    unit_of_work: UnitOfWork
    audit: Audit
    clock: Clock
    entropy: Entropy
    pepper: bytes

    async def __call__(self, caller: Principal, principal: PrincipalId) -> Invitation:
        """Raises `NotPermitted`, `Overreach`, `PrincipalNotFound`, `PrincipalDisabled`."""
        require_scope(caller, Scope.PRINCIPALS_WRITE)
        identity = await self.principals.get(caller, principal)
        if identity.kind is not PrincipalKind.PERSON:
            raise PrincipalNotFound(f"{identity.name} among the people")
        if identity.disabled_at is not None:
            raise PrincipalDisabled(identity.name)
        check_reach(caller, identity.scopes, identity.clearance)
        check_tools(caller, identity.tools)
        now = self.clock.now()
        stored, key = invitation_for(identity, now, self.entropy)
        async with self.unit_of_work(caller):
            await self.keys.end_invitations(caller, principal, now)
            await self.keys.add(caller, stored, key.digest(self.pepper))
            await self.audit.note(caller, about_key("invitation.renewed", stored))
        return Invitation(identity, key, now + INVITATION_LIFETIME)


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptInvitation:
    keys: Keys
    unit_of_work: UnitOfWork
    audit: Audit
    clock: Clock
    entropy: Entropy
    pepper: bytes

    async def __call__(self, guest: Principal, invitation_id: str) -> IssuedKey:
        """Of two who come with the same link one gets a key. Raises `InvitationUsed`."""
        require_scope(guest, Scope.INVITATION_ACCEPT)
        now = self.clock.now()
        key = ApiKey.mint(self.entropy)
        stored = StoredKey(
            id=key.id,
            space=guest.space,
            principal=guest.id,
            purpose=Purpose.ACCESS,
            name="first key",
            scopes=None,
            clearance=guest.clearance,
            created_at=now,
        )
        async with self.unit_of_work(guest):
            if not await self.keys.revoke(guest, invitation_id, now):
                raise InvitationUsed
            await self.keys.end_invitations(guest, guest.id, now)
            await self.keys.add(guest, stored, key.digest(self.pepper))
            entry = about_key("invitation.accepted", stored, invitation=invitation_id)
            await self.audit.note(guest, entry)
        return IssuedKey(key, stored)


def invitation_for(identity: Identity, now: datetime, entropy: Entropy) -> tuple[StoredKey, ApiKey]:
    key = ApiKey.mint(entropy)
    stored = StoredKey(
        id=key.id,
        space=identity.space,
        principal=identity.id,
        purpose=Purpose.INVITATION,
        name=f"invitation of {identity.name}",
        scopes=None,
        clearance=identity.clearance,
        created_at=now,
        expires_at=now + INVITATION_LIFETIME,
    )
    return stored, key
