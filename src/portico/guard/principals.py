"""Principals: create, list, change, and the check that each use case begins with."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from portico.guard.core.audit import about_principal, identity_facts
from portico.guard.core.errors import NotPermitted, OwnAccess, PrincipalNotFound
from portico.guard.core.keys import check_tools
from portico.guard.core.principals import Identity, Role, Scope, check_reach, scopes_of
from portico.guard.ports import Audit, Keys, Principals, UnitOfWork
from portico.kernel.clock import Clock, Entropy
from portico.kernel.ids import PrincipalId
from portico.kernel.label import Label
from portico.kernel.principal import Principal, PrincipalKind

# The one question that each use case of the guard asks first.


def require_scope(caller: Principal, scope: Scope) -> None:
    """Raises `NotPermitted`."""
    if not caller.may(scope):
        raise NotPermitted(caller.name, scope)


@dataclass(frozen=True, slots=True, kw_only=True)
class PrincipalSpec:
    kind: PrincipalKind
    name: str
    roles: frozenset[Role] = field(default_factory=lambda: frozenset({Role.MEMBER}))
    clearance: Label
    tools: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PrincipalChange:
    """What is None stays."""

    roles: frozenset[Role] | None = None
    clearance: Label | None = None
    tools: tuple[str, ...] | None = None
    """The whole list; one of `*` alone is every tool."""
    disabled: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AddPrincipal:
    principals: Principals
    unit_of_work: UnitOfWork
    audit: Audit
    clock: Clock
    entropy: Entropy

    async def __call__(self, caller: Principal, wish: PrincipalSpec) -> Identity:
        """Raises `NotPermitted`, `Overreach`, `NameTaken`."""
        require_scope(caller, Scope.PRINCIPALS_WRITE)
        check_reach(caller, scopes_of(wish.roles), wish.clearance)
        check_tools(caller, wish.tools)
        now = self.clock.now()
        identity = Identity(
            id=PrincipalId.mint(now, self.entropy),
            space=caller.space,
            kind=wish.kind,
            name=wish.name,
            roles=wish.roles,
            clearance=wish.clearance,
            tools=wish.tools,
            created_at=now,
        )
        async with self.unit_of_work(caller):
            await self.principals.add(caller, identity)
            await self.audit.note(caller, about_principal("principal.added", identity))
        return identity


@dataclass(frozen=True, slots=True, kw_only=True)
class ListPrincipals:
    principals: Principals

    async def __call__(
        self, caller: Principal, *, after: PrincipalId | None, limit: int
    ) -> Sequence[Identity]:
        """Without the agents that are more secret than the caller is cleared for."""
        require_scope(caller, Scope.PRINCIPALS_READ)
        known: list[Identity] = []
        while len(known) < limit:
            found = await self.principals.page(caller, after=after, limit=limit)
            known += [identity for identity in found if identity.known_to(caller)]
            if len(found) < limit:
                break
            after = found[-1].id
        return known[:limit]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowPrincipal:
    principals: Principals

    async def __call__(self, caller: Principal, principal: PrincipalId) -> Identity:
        """Oneself always; others with the scope. Raises `PrincipalNotFound`."""
        if principal != caller.id:
            require_scope(caller, Scope.PRINCIPALS_READ)
        identity = await self.principals.get(caller, principal)
        if not identity.known_to(caller):
            raise PrincipalNotFound(str(principal))
        return identity


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangePrincipal:
    principals: Principals
    keys: Keys
    unit_of_work: UnitOfWork
    audit: Audit
    clock: Clock

    async def __call__(
        self, caller: Principal, principal: PrincipalId, change: PrincipalChange
    ) -> Identity:
        """Raises `NotPermitted`, `OwnAccess`, `Overreach`, `PrincipalNotFound`."""
        require_scope(caller, Scope.PRINCIPALS_WRITE)
        if principal == caller.id:
            raise OwnAccess
        now = self.clock.now()
        async with self.unit_of_work(caller):
            before = await self.principals.hold(caller, principal)
            after = _changed(before, change, now)
            for identity in (before, after):
                check_reach(caller, identity.scopes, identity.clearance)
                check_tools(caller, identity.tools)
            await self.principals.save(caller, after)
            if after.disabled_at is not None:
                await self.keys.end_invitations(caller, principal, now)
            if after != before:
                entry = about_principal("principal.changed", after, was=identity_facts(before))
                await self.audit.note(caller, entry)
        return after


def _changed(identity: Identity, change: PrincipalChange, now: datetime) -> Identity:
    disabled_at = identity.disabled_at
    if change.disabled is not None:
        disabled_at = (disabled_at or now) if change.disabled else None
    return replace(
        identity,
        roles=identity.roles if change.roles is None else change.roles,
        clearance=change.clearance or identity.clearance,
        tools=identity.tools if change.tools is None else change.tools,
        disabled_at=disabled_at,
    )
