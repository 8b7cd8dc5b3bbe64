"""API keys: their format, and which scopes and spaces a key reaches."""

import hashlib
import hmac
import re
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final, Self
from zlib import crc32

from portico.guard.core.errors import Overreach
from portico.guard.core.principals import Identity, Scope, check_reach
from portico.guard.core.rules import within
from portico.kernel.clock import Entropy
from portico.kernel.ids import PrincipalId, SpaceId
from portico.kernel.label import Label
from portico.kernel.principal import Principal

# A key: `ptc_<id>_<secret><checksum>`.
#
# The prefix and the checksum let a scanner find a leaked key and be sure of it; the id is public
# and finds the row; the secret is 256 random bits, so a fast hash is enough to store it (a slow one
# would only let a stranger keep our processor busy).

_ALPHABET: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_ID_LENGTH: Final = 12
_SECRET_LENGTH: Final = 43
_CHECKSUM_LENGTH: Final = 6
_SHAPE: Final = re.compile(
    rf"ptc_([0-9A-Za-z]{{{_ID_LENGTH}}})_"
    rf"([0-9A-Za-z]{{{_SECRET_LENGTH}}})([0-9A-Za-z]{{{_CHECKSUM_LENGTH}}})"
)


@dataclass(frozen=True, slots=True, repr=False)
class ApiKey:
    """The key itself: shown once, never stored, and never printed by accident."""

    id: str
    secret: str

    @classmethod
    def mint(cls, entropy: Entropy) -> Self:
        return cls(
            _base62(int.from_bytes(entropy(8)), _ID_LENGTH),
            _base62(int.from_bytes(entropy(32)), _SECRET_LENGTH),
        )

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """None for what cannot be a key of ours: a typing error never costs a look-up."""
        shape = _SHAPE.fullmatch(text)
        if shape is None:
            return None
        key = cls(shape[1], shape[2])
        return key if hmac.compare_digest(key.reveal(), text) else None

    def reveal(self) -> str:
        body = f"ptc_{self.id}_{self.secret}"
        return body + _base62(crc32(body.encode()), _CHECKSUM_LENGTH)

    def digest(self, pepper: bytes) -> bytes:
        return hmac.digest(pepper, self.reveal().encode(), hashlib.sha256)

    def __repr__(self) -> str:
        return f"ptc_{self.id}_…"

    __str__ = __repr__


class Purpose(StrEnum):
    ACCESS = "access"
    INVITATION = "invitation"
    SESSION = "session"
    """What a browser holds once somebody has logged in with a key: it opens the console alone."""


@dataclass(frozen=True, slots=True)
class OpenedWith:
    """The key that somebody has logged in with, and when that one ends."""

    key: str
    until: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredKey:
    """What we keep of a key. `scopes` of None: all that its principal may, now and later."""

    id: str
    space: SpaceId
    principal: PrincipalId
    purpose: Purpose
    name: str
    scopes: frozenset[Scope] | None
    clearance: Label
    tools: tuple[str, ...] | None = None
    """The only ones that it is good for, with wildcards; None is all that its principal may."""
    opened_with: OpenedWith | None = None
    """Of a session, and of nothing else."""
    created_at: datetime
    expires_at: datetime | None = None
    last_used_at: datetime | None = None
    revoked_at: datetime | None = None

    def ended(self, now: datetime) -> bool:
        expired = self.expires_at is not None and self.expires_at <= now
        return expired or self.revoked_at is not None

    def expiring(self, now: datetime, overlap: timedelta) -> datetime:
        """When it ends if it is rotated now: after the overlap, but never later than it would."""
        return min(now + overlap, self.expires_at or datetime.max.replace(tzinfo=now.tzinfo))


@dataclass(frozen=True, slots=True)
class KeyHolder:
    """A key as it is looked up, with whoever it opens doors for."""

    key: StoredKey
    digest: bytes
    identity: Identity


def _base62(number: int, width: int) -> str:
    letters: list[str] = []
    for _ in range(width):
        number, rest = divmod(number, 62)
        letters.append(_ALPHABET[rest])
    return "".join(reversed(letters))


def check_holder(
    caller: Principal, holder: Identity, scopes: AbstractSet[str], clearance: Label
) -> None:
    """For a key with these scopes and this clearance. Raises `Overreach`.

    Of somebody else, however narrow the key: it would still speak in their name. Of oneself, at
    most what one came in with: a narrow key does not make itself a wider one.
    """
    check_reach(caller, scopes, clearance)
    if holder.id != caller.id:
        check_reach(caller, holder.scopes, holder.clearance)
    elif not caller.clearance.covers(clearance):
        raise Overreach(f"the clearance {clearance}")


def check_tools(caller: Principal, *lists: tuple[str, ...] | None) -> None:
    """Nobody whose tools are listed gives others that they do not have: to whoever all of `lists`
    are set for. Raises `Overreach`."""
    for own in caller.tools:
        if not any(each is not None and within(each, own) for each in lists):
            raise Overreach(f"tools that are not among {', '.join(own) or 'none'}")


def handed_on(caller: Principal, holder: Identity) -> tuple[str, ...] | None:
    """The list of the key that the caller came with, for one that they make themselves."""
    others = [each for each in caller.tools if each != holder.tools] or caller.tools[1:]
    return next(iter(others), None)


def earlier(one: datetime | None, other: datetime | None) -> datetime | None:
    """The first of two ends; None is never."""
    ends = [end for end in (one, other) if end is not None]
    return min(ends, default=None)
