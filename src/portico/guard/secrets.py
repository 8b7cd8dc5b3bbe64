"""Secrets: set, list, remove."""

from collections.abc import Sequence
from dataclasses import dataclass

from portico.guard.core.audit import AuditEntry
from portico.guard.core.principals import Scope
from portico.guard.core.secrets import SecretNotFound, StoredSecret, check_name, check_secret
from portico.guard.ports import Audit, Secrets, SecretUses
from portico.guard.principals import require_scope
from portico.kernel.clock import Clock
from portico.kernel.principal import Principal

# Give Portico a secret by name, see which there are, take one away; none ever comes out again.


@dataclass(frozen=True, slots=True)
class SecretDetails:
    secret: StoredSecret
    where: str
    used_by: Sequence[str]
    """Servers of tools that are given it when they start."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SetSecret:
    secrets: Secrets
    uses: SecretUses
    journal: Audit
    clock: Clock

    async def __call__(self, caller: Principal, name: str, value: str) -> SecretDetails:
        """Raises `NotPermitted`, `InvalidSecretName`, `InvalidSecret`, `SecretsUnavailable`."""
        require_scope(caller, Scope.SECRETS_WRITE)
        check_secret(name, value)
        where = await self.secrets.where()
        kept = StoredSecret(name, self.clock.now(), caller.name)
        # written down first: what was set is never missing from the audit
        entry = AuditEntry(action="secret.set", subject=name, details={"where": where})
        await self.journal.note(caller, entry)
        await self.secrets.put(caller, kept, value)
        used = await self.uses(caller)
        return SecretDetails(kept, where, used.get(name, ()))


@dataclass(frozen=True, slots=True, kw_only=True)
class ListSecrets:
    secrets: Secrets
    uses: SecretUses

    async def __call__(self, caller: Principal) -> Sequence[SecretDetails]:
        """Raises `NotPermitted`, `SecretsUnavailable`."""
        require_scope(caller, Scope.SECRETS_READ)
        where, used = await self.secrets.where(), await self.uses(caller)
        return [
            SecretDetails(kept, where, used.get(kept.name, ()))
            for kept in await self.secrets.all(caller)
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class UnsetSecret:
    secrets: Secrets
    journal: Audit

    async def __call__(self, caller: Principal, name: str) -> None:
        """Raises `NotPermitted`, `InvalidSecretName`, `SecretNotFound`, `SecretsUnavailable`."""
        require_scope(caller, Scope.SECRETS_WRITE)
        check_name(name)
        if not await self.secrets.remove(caller, name):
            raise SecretNotFound(name)
        await self.journal.note(caller, AuditEntry(action="secret.unset", subject=name))
