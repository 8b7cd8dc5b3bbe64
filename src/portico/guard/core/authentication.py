"""Does this key open the door, and for whom? A pure question."""

import hmac
from dataclasses import replace
from datetime import datetime

from portico.guard.core.keys import ApiKey, KeyHolder, OpenedWith, Purpose
from portico.guard.core.principals import Identity, Scope
from portico.kernel.label import meet
from portico.kernel.principal import Principal


def genuine(holder: KeyHolder, shown: ApiKey, pepper: bytes) -> bool:
    return hmac.compare_digest(holder.digest, shown.digest(pepper))


def opens(holder: KeyHolder, now: datetime) -> bool:
    return holder.identity.disabled_at is None and not holder.key.ended(now)


def left_open(holder: KeyHolder) -> str | None:
    """For a session that somebody left, or whose time ended: the key that it was opened with, which
    is what those go by who do what was begun in it. None for one that was taken from them."""
    key = holder.key
    if holder.identity.disabled_at is not None or key.revoked_at is not None:
        return None
    return None if key.opened_with is None else key.opened_with.key


def principal_of(holder: KeyHolder) -> Principal:
    """A key narrows what its principal may; it never widens it.

    Whoever comes in a session has as much time as with the key that it was opened with. Its task is
    its own, but for whoever may make no keys: to log in again would be to forget what was read.
    """
    key, identity = holder.key, holder.identity
    match key.purpose:
        case Purpose.INVITATION:
            scopes = frozenset({Scope.INVITATION_ACCEPT})
        case Purpose.ACCESS | Purpose.SESSION:
            scopes = identity.scopes if key.scopes is None else identity.scopes & key.scopes
    clearance = meet(identity.clearance, key.clearance)
    whole = key.scopes is None and key.purpose is not Purpose.INVITATION
    origin = key.opened_with or OpenedWith(key.id, key.expires_at)
    return replace(
        as_principal(identity),
        scopes=scopes,
        clearance=clearance,
        whole=whole,
        until=origin.until,
        key=key.id if Scope.KEYS_OWN in scopes else origin.key,
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
