"""API keys: issue, list, rotate, revoke."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final

from portico.guard.core.audit import about_key
from portico.guard.core.errors import KeyEnded, KeyNotFound, Overreach, PrincipalDisabled
from portico.guard.core.keys import (
    ApiKey,
    Purpose,
    StoredKey,
    check_holder,
    check_tools,
    earlier,
    handed_on,
)
from portico.guard.core.principals import FOR_AGENTS, Role, Scope
from portico.guard.ports import Audit, Keys, Principals, UnitOfWork
from portico.guard.principals import AddPrincipal, PrincipalSpec, require_scope
from portico.kernel.clock import Clock, Entropy
from portico.kernel.ids import PrincipalId
from portico.kernel.label import Label, Level, meet
from portico.kernel.principal import Principal, PrincipalKind

# Make a key for oneself or for a principal one may answer for, and show it once.


@dataclass(frozen=True, slots=True, kw_only=True)
class KeySpec:
    """Whoever is not named is the caller; what is not given is all that the principal has."""

    name: str
    principal: PrincipalId | None = None
    scopes: frozenset[Scope] | None = None
    clearance: Label | None = None
    tools: tuple[str, ...] | None = None
    lifetime: timedelta | None = None


@dataclass(frozen=True, slots=True)
class IssuedKey:
    """The only moment in which the key itself and what we keep of it are in one place."""

    key: ApiKey
    stored: StoredKey


@dataclass(frozen=True, slots=True, kw_only=True)
class IssueKey:
    keys: Keys
    principals: Principals
    unit_of_work: UnitOfWork
    audit: Audit
    clock: Clock
    entropy: Entropy
    pepper: bytes

    async def __call__(self, caller: Principal, wish: KeySpec) -> IssuedKey:
        """Raises `NotPermitted`, `Overreach`, `PrincipalNotFound`, `PrincipalDisabled`."""
        own = wish.principal in (None, caller.id)
        require_scope(caller, Scope.KEYS_OWN if own else Scope.KEYS_WRITE)
        identity = await self.principals.get(caller, wish.principal or caller.id)
        if identity.disabled_at is not None:
            raise PrincipalDisabled(identity.name)

        clearance = wish.clearance or (caller.clearance if own else identity.clearance)
        scopes = identity.scopes if wish.scopes is None else wish.scopes
        check_holder(caller, identity, scopes, clearance)
        tools = handed_on(caller, identity) if own and wish.tools is None else wish.tools
        check_tools(caller, identity.tools, tools)

        now = self.clock.now()
        end = now + wish.lifetime if wish.lifetime else None
        key = ApiKey.mint(self.entropy)
        stored = StoredKey(
            id=key.id,
            space=identity.space,
            principal=identity.id,
            purpose=Purpose.ACCESS,
            name=wish.name,
            scopes=None if wish.scopes is None and own and caller.whole else scopes,
            clearance=clearance,
            tools=tools,
            created_at=now,
            expires_at=earlier(end, caller.until) if own else end,
        )
        async with self.unit_of_work(caller):
            await self.keys.add(caller, stored, key.digest(self.pepper))
            await self.audit.note(caller, about_key("key.issued", stored))
        return IssuedKey(key, stored)


TEAM: Final = Label(Level.TEAM)


@dataclass(frozen=True, slots=True, kw_only=True)
class IssueAgentKey:
    add_principal: AddPrincipal
    issue_key: IssueKey
    unit_of_work: UnitOfWork

    async def __call__(self, caller: Principal, wish: KeySpec) -> IssuedKey:
        """Whoever may add principals gets a new agent of that name, whose requests they may
        answer; for everybody else the program acts in their own name, with less than they have.

        Raises `NotPermitted`, `Overreach`, `NameTaken`.
        """
        if not caller.may(Scope.PRINCIPALS_WRITE):
            return await self.issue_key(caller, for_agents(wish, caller.scopes))
        agent = PrincipalSpec(
            kind=PrincipalKind.AGENT,
            name=wish.name,
            roles=frozenset({Role.MEMBER}),
            clearance=wish.clearance or meet(TEAM, caller.clearance),
            tools=wish.tools,
        )
        async with self.unit_of_work(caller):
            made = await self.add_principal(caller, agent)
            wish = replace(wish, principal=made.id)
            return await self.issue_key(caller, for_agents(wish, made.scopes))


def for_agents(wish: KeySpec, held: AbstractSet[str]) -> KeySpec:
    """Of what its holder has, at most what an agent's key may have. Raises `Overreach`."""
    if wish.scopes is None:
        return replace(wish, scopes=frozenset(FOR_AGENTS & held))
    if beyond := sorted(wish.scopes - FOR_AGENTS):
        raise Overreach(f"the scopes {', '.join(beyond)} to an agent")
    return wish


@dataclass(frozen=True, slots=True, kw_only=True)
class ListKeys:
    keys: Keys

    async def __call__(
        self, caller: Principal, *, after: str | None, limit: int
    ) -> Sequence[StoredKey]:
        """All keys of the space to whoever may see them, and one's own to everybody else."""
        if caller.may(Scope.KEYS_READ):
            return await self.keys.page(caller, of=None, after=after, limit=limit)
        require_scope(caller, Scope.KEYS_OWN)
        return await self.keys.page(caller, of=caller.id, after=after, limit=limit)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowKey:
    keys: Keys

    async def __call__(self, caller: Principal, key_id: str) -> StoredKey:
        return await _reachable(self.keys, caller, key_id, Scope.KEYS_READ)


@dataclass(frozen=True, slots=True, kw_only=True)
class RotateKey:
    keys: Keys
    principals: Principals
    unit_of_work: UnitOfWork
    audit: Audit
    clock: Clock
    entropy: Entropy
    pepper: bytes

    async def __call__(self, caller: Principal, key_id: str, overlap: timedelta) -> IssuedKey:
        """Both keys work during the overlap, and an old one has one successor at a time.

        One's own only by whoever may make keys of their own: the new one's task is a clean one.

        Raises `NotPermitted`, `KeyNotFound`, `KeyEnded`, `Overreach`, `PrincipalDisabled`.
        """
        old = await _reachable(self.keys, caller, key_id, Scope.KEYS_WRITE)
        if old.principal == caller.id:
            require_scope(caller, Scope.KEYS_OWN)
        now = self.clock.now()
        if old.ended(now):
            raise KeyEnded(key_id)
        identity = await self.principals.get(caller, old.principal)
        if identity.disabled_at is not None:
            raise PrincipalDisabled(identity.name)
        scopes = identity.scopes if old.scopes is None else old.scopes
        check_holder(caller, identity, scopes, old.clearance)
        check_tools(caller, identity.tools, old.tools)

        own = old.principal == caller.id
        end = now + (old.expires_at - old.created_at) if old.expires_at else None
        key = ApiKey.mint(self.entropy)
        stored = replace(
            old,
            id=key.id,
            scopes=None if old.scopes is None and own and caller.whole else scopes,
            created_at=now,
            expires_at=earlier(end, caller.until) if own else end,
            last_used_at=None,
        )
        async with self.unit_of_work(caller):
            if not await self.keys.expire(caller, old, old.expiring(now, overlap)):
                raise KeyEnded(key_id)
            await self.keys.add(caller, stored, key.digest(self.pepper))
            await self.audit.note(caller, about_key("key.rotated", old, successor=stored.id))
        return IssuedKey(key, stored)


@dataclass(frozen=True, slots=True, kw_only=True)
class RevokeKey:
    keys: Keys
    principals: Principals
    unit_of_work: UnitOfWork
    audit: Audit
    clock: Clock

    async def __call__(self, caller: Principal, key_id: str) -> None:
        """Revoking twice is no error: the key does not work, as was asked, and neither does what
        somebody has logged in to with it.

        Raises `KeyNotFound`, and `Overreach` for whoever would shut out somebody above them.
        """
        key = await _reachable(self.keys, caller, key_id, Scope.KEYS_WRITE)
        await check_ends(self.principals, caller, key)
        async with self.unit_of_work(caller):
            if await self.keys.revoke(caller, key_id, self.clock.now()):
                await self.audit.note(caller, about_key("key.revoked", key))


async def check_ends(principals: Principals, caller: Principal, key: StoredKey) -> None:
    """Raises `Overreach` for whoever would shut out somebody above them."""
    holder = await principals.get(caller, key.principal)
    scopes = holder.scopes if key.scopes is None else key.scopes & holder.scopes
    check_holder(caller, holder, scopes, meet(key.clearance, holder.clearance))


async def _reachable(keys: Keys, caller: Principal, key_id: str, scope: Scope) -> StoredKey:
    """One's own, or with the scope any; what may not be seen does not exist."""
    key = await keys.get(caller, key_id)
    if key.purpose is not Purpose.ACCESS:
        raise KeyNotFound(key_id)
    if key.principal == caller.id and caller.may(Scope.KEYS_OWN):
        return key
    if not caller.may(Scope.KEYS_READ):
        raise KeyNotFound(key_id)
    require_scope(caller, scope)
    return key
