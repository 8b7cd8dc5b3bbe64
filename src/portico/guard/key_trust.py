"""Which keys may pass on what their users have answered."""

from dataclasses import dataclass

from portico.guard.approvals import TrustedClients
from portico.guard.core.audit import AuditEntry
from portico.guard.core.errors import KeyNotFound, OwnRequest, PersonNeeded
from portico.guard.core.keys import Purpose, StoredKey
from portico.guard.core.principals import Scope, check_reach
from portico.guard.ports import Audit, Keys, Principals, UnitOfWork
from portico.guard.principals import require_scope
from portico.kernel.ids import PrincipalId
from portico.kernel.principal import Principal, PrincipalKind

# Say whose word it is when a program passes on what its user has answered, or that it is nobody's.
#
# Most programs cannot be told from whatever steers them, so that by default none is believed.


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowTrust:
    keys: Keys
    trusted: TrustedClients

    async def __call__(self, caller: Principal, key_id: str) -> PrincipalId | None:
        """Raises `NotPermitted`, `KeyNotFound`."""
        require_scope(caller, Scope.KEYS_READ)
        await _access_key(self.keys, caller, key_id)
        return await self.trusted.person(caller, key_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrustClient:
    keys: Keys
    principals: Principals
    trusted: TrustedClients
    audit: Audit
    unit_of_work: UnitOfWork

    async def __call__(self, caller: Principal, key_id: str, person: PrincipalId | None) -> None:
        """`person` of None: nobody's any more. Nobody lends another's word who could not speak for
        them, and nobody's word is good for their own requests.

        Raises `NotPermitted`, `KeyNotFound`, `PrincipalNotFound`, `PersonNeeded`, `OwnRequest`,
        `Overreach`.
        """
        require_scope(caller, Scope.KEYS_WRITE)
        key = await _access_key(self.keys, caller, key_id)
        if person is not None:
            await self._check(caller, key, person)
        async with self.unit_of_work(caller):
            await self.trusted.trust(caller, key_id, person)
            await self.audit.note(caller, _entry(key_id, person))

    async def _check(self, caller: Principal, key: StoredKey, person: PrincipalId) -> None:
        identity = await self.principals.get(caller, person)
        if identity.kind is not PrincipalKind.PERSON:
            raise PersonNeeded(identity.name)
        if identity.id == key.principal:
            raise OwnRequest(f"What {key.name} asks for", "TOOL", identity.name)
        require_scope(caller, Scope.APPROVALS_ANSWER)
        if identity.id != caller.id:
            require_scope(caller, Scope.PRINCIPALS_WRITE)
            check_reach(caller, identity.scopes, identity.clearance)


async def _access_key(keys: Keys, caller: Principal, key_id: str) -> StoredKey:
    key = await keys.get(caller, key_id)
    if key.purpose is not Purpose.ACCESS:
        raise KeyNotFound(key_id)
    return key


def _entry(key_id: str, person: PrincipalId | None) -> AuditEntry:
    return AuditEntry(
        action="key.trusted",
        subject=key_id,
        details={"person": None if person is None else str(person)},
    )
