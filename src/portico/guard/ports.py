"""What the guard needs from the outside world, in the guard's own words.

Everything here but `KeyRing` acts inside the caller's space: what is elsewhere does not exist.
"""

from collections.abc import AsyncGenerator, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Protocol

from portico.guard.core.api_key import KeyHolder, StoredKey
from portico.guard.core.identity import Identity
from portico.guard.core.space import ExportedRow, Space
from portico.kernel.ids import PrincipalId
from portico.kernel.json import JsonValue
from portico.kernel.principal import Principal


class KeyRing(Protocol):
    """Every key of every space, for the one moment in which the space is not yet known."""

    async def find(self, key_id: str) -> KeyHolder | None: ...

    async def used(self, caller: Principal, key_id: str, at: datetime) -> None: ...


class Keys(Protocol):
    async def add(self, caller: Principal, key: StoredKey, digest: bytes) -> None: ...

    async def get(self, caller: Principal, key_id: str) -> StoredKey:
        """Raises `KeyNotFound`."""
        ...

    async def page(
        self, caller: Principal, *, of: PrincipalId | None, after: str | None, limit: int
    ) -> Sequence[StoredKey]:
        """Access keys by creation, oldest first, from the one after the key id `after`."""
        ...

    async def expire(self, caller: Principal, key: StoredKey, at: datetime) -> bool:
        """False if it has been revoked, or its end been changed, since `key` was read."""
        ...

    async def revoke(self, caller: Principal, key_id: str, at: datetime) -> bool:
        """False if it was revoked before: of two who try at once, one hears True."""
        ...

    async def end_invitations(
        self, caller: Principal, principal: PrincipalId, at: datetime
    ) -> None:
        """Every link of theirs that would still work."""
        ...


class Principals(Protocol):
    async def add(self, caller: Principal, identity: Identity) -> None:
        """Raises `NameTaken`."""
        ...

    async def get(self, caller: Principal, principal: PrincipalId) -> Identity:
        """Raises `PrincipalNotFound`."""
        ...

    async def hold(self, caller: Principal, principal: PrincipalId) -> Identity:
        """As `get`, and nobody else changes it before the end of `Together`."""
        ...

    async def page(
        self, caller: Principal, *, after: PrincipalId | None, limit: int
    ) -> Sequence[Identity]: ...

    async def save(self, caller: Principal, identity: Identity) -> None:
        """Raises `PrincipalNotFound`."""
        ...


class Spaces(Protocol):
    async def found(self, space: Space, first: Identity, key: StoredKey, digest: bytes) -> None:
        """A space is born with its first principal and that one's first key, or not at all."""
        ...

    async def get(self, caller: Principal) -> Space:
        """The caller's own. Raises `SpaceNotFound`."""
        ...

    async def rename(self, caller: Principal, name: str) -> None: ...

    async def delete(self, caller: Principal) -> None: ...

    def export(self, caller: Principal) -> AsyncGenerator[ExportedRow, None]: ...


class Together(Protocol):
    """What is written inside is written as one: all of it, or none."""

    def __call__(self, caller: Principal, /) -> AbstractAsyncContextManager[object]: ...


class SpaceSettings(Protocol):
    """What a space has decided for itself."""

    async def get(self, caller: Principal, name: str) -> JsonValue:
        """None if it has decided nothing."""
        ...

    async def put(self, caller: Principal, name: str, value: JsonValue) -> None: ...
