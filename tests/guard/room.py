"""The guard with in-memory doors: every use case over one world, one clock and one entropy."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

from portico.guard.authentication import Authenticate
from portico.guard.core.authentication import as_principal
from portico.guard.core.keys import ApiKey, StoredKey
from portico.guard.core.principals import Identity, Role
from portico.guard.core.spaces import Space
from portico.guard.invitations import AcceptInvitation, InviteAgain, InvitePerson
from portico.guard.keys import IssueKey, ListKeys, RevokeKey, RotateKey, ShowKey
from portico.guard.principals import AddPrincipal, ChangePrincipal, ListPrincipals, ShowPrincipal
from portico.guard.sessions import EndSession, LeaveSession, ListSessions, OpenSession, TakeSession
from portico.guard.spaces import (
    DeleteSpace,
    ExportSpace,
    FoundSpace,
    InstallHome,
    RenameSpace,
    ShowSpace,
)
from portico.kernel.label import Label
from portico.kernel.principal import Principal
from portico.testing.guard import (
    TEAM,
    MemoryAudit,
    MemoryKeyRing,
    MemoryKeys,
    MemoryLeavings,
    MemoryPrincipals,
    MemorySessions,
    MemorySpaces,
    a_space,
    an_identity,
)
from portico.testing.memory_store import (
    BEGINNING,
    InMemoryStore,
    SeededEntropy,
    TickingClock,
    together,
)

PEPPER = b"a pepper for tests"


class Room:
    def __init__(self) -> None:
        self.world = world = InMemoryStore()
        self.clock = clock = TickingClock(BEGINNING + timedelta(days=1))
        self.keys = keys = MemoryKeys(world)
        self.principals = principals = MemoryPrincipals(world)
        self.sessions = sessions = MemorySessions(world)
        self.spaces = spaces = MemorySpaces(world)
        self.audit = audit = MemoryAudit(world, clock)
        telling: dict[str, Any] = {"unit_of_work": together, "audit": audit, "clock": clock}
        minting: dict[str, Any] = {**telling, "entropy": SeededEntropy()}
        making: dict[str, Any] = {**minting, "pepper": PEPPER}
        self.authenticate = Authenticate(key_ring=MemoryKeyRing(world), clock=clock, pepper=PEPPER)
        self.issue_key = IssueKey(keys=keys, principals=principals, **making)
        self.list_keys = ListKeys(keys=keys)
        self.show_key = ShowKey(keys=keys)
        self.rotate_key = RotateKey(keys=keys, principals=principals, **making)
        self.revoke_key = RevokeKey(keys=keys, principals=principals, **telling)
        self.open_session = OpenSession(authenticate=self.authenticate, sessions=sessions, **making)
        self.take_session = TakeSession(
            authenticate=self.authenticate, sessions=sessions, keys=keys, **making
        )
        self.leave_session = LeaveSession(keys=keys, **telling)
        self.list_sessions = ListSessions(sessions=sessions, clock=clock)
        self.end_session = EndSession(keys=keys, principals=principals, **telling)
        self.add_principal = AddPrincipal(principals=principals, **minting)
        self.list_principals = ListPrincipals(principals=principals)
        self.show_principal = ShowPrincipal(principals=principals)
        self.change_principal = ChangePrincipal(principals=principals, keys=keys, **telling)
        self.invite_person = InvitePerson(add_principal=self.add_principal, keys=keys, **making)
        self.invite_again = InviteAgain(principals=principals, keys=keys, **making)
        self.accept_invitation = AcceptInvitation(keys=keys, **making)
        self.install_home = InstallHome(spaces=spaces, **making)
        self.found_space = FoundSpace(spaces=spaces, **making)
        self.show_space = ShowSpace(spaces=spaces)
        self.rename_space = RenameSpace(spaces=spaces, unit_of_work=together, audit=audit)
        self.export_space = ExportSpace(spaces=spaces)
        self.leavings = MemoryLeavings()
        self.delete_space = DeleteSpace(spaces=spaces, audit=audit, leavings=self.leavings)

    def holds(self, *identities: Identity, space: Space | None = None) -> None:
        """They were there before the story begins."""
        home = space or a_space()
        self.world.spaces[home.id] = home
        for identity in identities:
            self.world.identities[identity.space, identity.id] = identity

    def person(self, name: str, role: Role = Role.MEMBER, clearance: Label = TEAM) -> Principal:
        """Somebody who was there before the story begins, as they ask."""
        identity = an_identity(name, roles=[role], clearance=clearance)
        self.holds(identity)
        return as_principal(identity)

    def through(self, who: Principal, key: StoredKey) -> Principal:
        """Them, as they come in with a key that narrows nothing."""
        return replace(who, key=key.id, reach=key.clearance)

    async def enters(self, key: ApiKey) -> Principal:
        return (await self.authenticate(key.reveal())).principal

    async def in_session(self, key: ApiKey) -> Principal:
        return (await self.authenticate.session(key.reveal())).principal
