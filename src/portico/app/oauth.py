"""OAuth on its adapters, both ways: tokens that are shown here, and logins elsewhere."""

import asyncio

from portico.adapters.oauth import Documents, HttpAuthorizationServers, PublishedKeys
from portico.adapters.postgres.guard.keys import (
    PostgresKeyRing,
    PostgresTokenSubjects,
)
from portico.adapters.postgres.guard.logins import PostgresLoginClients, PostgresLogins
from portico.adapters.postgres.guard.principals import PostgresPrincipals
from portico.adapters.postgres.transaction import (
    Transactions,
)
from portico.adapters.system.clock import SystemClock, system_entropy
from portico.app.app_context import AppContext
from portico.app.guard_wiring import LoginDependencies
from portico.app.secrets import SecretDependencies
from portico.app.shared_dependencies import SharedDependencies
from portico.guard.core.keys import ApiKey
from portico.guard.core.secrets import Source, parse_ref
from portico.guard.tokens import AuthenticateToken
from portico.interfaces.http.authentication import ProtectedResource
from portico.kernel.ids import SpaceId

# OAuth on its real doors, both ways: tokens that are shown here, and logins elsewhere.


def resource_of(ground: AppContext) -> str:
    return ground.loaded.settings.oauth.audience or f"{ground.base_url}/mcp"


def protected_resource(ground: AppContext) -> ProtectedResource | None:
    """None where no tokens are taken."""
    settings = ground.loaded.settings.oauth
    if not settings.issuers:
        return None
    return ProtectedResource(
        resource=resource_of(ground),
        base_url=ground.base_url,
        issuers=settings.issuers,
        grants=settings.grants,
    )


def token_doors(ground: AppContext, transactions: Transactions) -> AuthenticateToken | None:
    """None where no tokens are taken."""
    settings, key_ring = ground.loaded.settings.oauth, PostgresKeyRing(transactions)
    if not settings.issuers:
        return None
    chosen = None if settings.space is None else SpaceId.parse(settings.space)

    async def space() -> SpaceId | None:
        return chosen or await _home(ground, key_ring)

    return AuthenticateToken(
        issuers=settings.trusted(resource_of(ground)),
        rules=settings.rules,
        grants=settings.grants,
        token_keys=PublishedKeys(Documents()),
        subjects=PostgresTokenSubjects(transactions),
        key_ring=key_ring,
        space=space,
        clock=SystemClock(),
        entropy=system_entropy,
        pepper=ground.pepper(),
    )


async def _home(ground: AppContext, key_ring: PostgresKeyRing) -> SpaceId | None:
    """The space of whoever this machine's key belongs to."""
    try:
        text = await asyncio.to_thread(ground.loaded.paths.key_file.read_text)
    except OSError:
        return None
    key = ApiKey.parse(text.strip())
    holder = None if key is None else await key_ring.find(key.id)
    return None if holder is None else holder.key.space


def open_logins(ground: AppContext, outside: SharedDependencies) -> LoginDependencies:
    transactions, vault = outside.transactions, outside.vault
    secrets = SecretDependencies(ground)

    async def reveal(space: SpaceId, reference: str) -> str | None:
        """Only what was given to Portico by name: an operator of a space is not thereby let read
        the files and the environment of the machine."""
        ref = parse_ref(reference)
        if ref is None or ref.source is not Source.SECRET:
            return None
        return await asyncio.to_thread(secrets.references.value, str(space), ref)

    return LoginDependencies(
        authorization=HttpAuthorizationServers(Documents()),
        clients=PostgresLoginClients(transactions, vault),
        logins=PostgresLogins(transactions, vault),
        principals=PostgresPrincipals(transactions),
        audit=outside.audit,
        reveal=reveal,
        clock=outside.clock,
        entropy=outside.entropy,
        base_url=ground.base_url,
    )
