"""Make a key for oneself or for a principal one may answer for, and show it once."""

from dataclasses import dataclass
from datetime import timedelta

from portico.guard.core.api_key import ApiKey, Purpose, StoredKey
from portico.guard.core.audit_facts import about_key
from portico.guard.core.errors import PrincipalDisabled
from portico.guard.core.reach import check_holder, check_tools, earlier, handed_on
from portico.guard.core.roles import Scope
from portico.guard.permit import permit
from portico.guard.ports import Audit, Keys, Principals, Together
from portico.kernel.clock import Clock
from portico.kernel.entropy import Entropy
from portico.kernel.ids import PrincipalId
from portico.kernel.label import Label
from portico.kernel.principal import Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyWish:
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
    together: Together
    audit: Audit
    clock: Clock
    entropy: Entropy
    pepper: bytes

    async def __call__(self, caller: Principal, wish: KeyWish) -> IssuedKey:
        """Raises `NotPermitted`, `Overreach`, `PrincipalNotFound`, `PrincipalDisabled`."""
        own = wish.principal in (None, caller.id)
        permit(caller, Scope.KEYS_OWN if own else Scope.KEYS_WRITE)
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
        async with self.together(caller):
            await self.keys.add(caller, stored, key.digest(self.pepper))
            await self.audit.note(caller, about_key("key.issued", stored))
        return IssuedKey(key, stored)
