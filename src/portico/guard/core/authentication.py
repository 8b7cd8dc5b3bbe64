"""Does this key open the door, and for whom? A pure question."""

import hmac
from dataclasses import replace
from datetime import datetime

from portico.guard.core.api_key import ApiKey, KeyHolder, Purpose
from portico.guard.core.identity import Identity
from portico.guard.core.roles import Scope
from portico.kernel.label import meet
from portico.kernel.principal import Principal


def genuine(holder: KeyHolder, shown: ApiKey, pepper: bytes) -> bool:
    return hmac.compare_digest(holder.digest, shown.digest(pepper))


def opens(holder: KeyHolder, now: datetime) -> bool:
    return holder.identity.disabled_at is None and not holder.key.ended(now)


def principal_of(holder: KeyHolder) -> Principal:
    """A key narrows what its principal may; it never widens it."""
    key, identity = holder.key, holder.identity
    match key.purpose:
        case Purpose.INVITATION:
            scopes = frozenset({Scope.INVITATION_ACCEPT})
        case Purpose.ACCESS:
            scopes = identity.scopes if key.scopes is None else identity.scopes & key.scopes
    clearance = meet(identity.clearance, key.clearance)
    whole = key.scopes is None and key.purpose is Purpose.ACCESS
    return replace(
        as_principal(identity),
        scopes=scopes,
        clearance=clearance,
        whole=whole,
        until=key.expires_at,
        key=key.id,
        tools=tuple(each for each in (identity.tools, key.tools) if each is not None),
        reach=key.clearance,
    )


def as_principal(identity: Identity) -> Principal:
    """All that the identity may, unnarrowed by any key."""
    return Principal(
        id=identity.id,
        space=identity.space,
        kind=identity.kind,
        name=identity.name,
        roles=identity.roles,
        scopes=identity.scopes,
        clearance=identity.clearance,
        tools=() if identity.tools is None else (identity.tools,),
    )
