"""What the guard needs from the outside world, in the guard's own words.

Everything here but `KeyRing` acts inside the caller's space: what is elsewhere does not exist.
"""

from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Protocol

from portico.guard.core.access_request import AccessRequest, ActionTarget, TaintContext
from portico.guard.core.audit import AuditEntry, Head, Link
from portico.guard.core.contexts import OpenedContext
from portico.guard.core.keys import KeyHolder, StoredKey
from portico.guard.core.principals import Identity
from portico.guard.core.rules import Rule
from portico.guard.core.secrets import StoredSecret
from portico.guard.core.spaces import ExportedRow, Space
from portico.kernel.budget import Cost, OverBudget
from portico.kernel.ids import ContextId, PrincipalId, SpaceId
from portico.kernel.json import JsonValue
from portico.kernel.label import Label
from portico.kernel.principal import Principal


class KeyRing(Protocol):
    """Every key of every space, for the one moment in which the space is not yet known."""

    async def find(self, key_id: str) -> KeyHolder | None: ...

    async def find_all(self, key_ids: Collection[str]) -> Sequence[KeyHolder]:
        """Those of them that there are, in one look."""
        ...

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
        """False if it has been revoked, or its end been changed, since `key` was read. What was
        opened with it ends then too, unless it does so before."""
        ...

    async def revoke(self, caller: Principal, key_id: str, at: datetime) -> bool:
        """False if it was revoked before: of two who try at once, one hears True. What was opened
        with it is revoked at the same moment."""
        ...

    async def end_invitations(
        self, caller: Principal, principal: PrincipalId, at: datetime
    ) -> None:
        """Every link of theirs that would still work."""
        ...


class Sessions(Protocol):
    """What browsers hold in the place of keys. One is a key too, and is ended as one: `Keys.revoke`
    and `Keys.expire` take along what was opened with the key."""

    async def open(self, caller: Principal, session: StoredKey, digest: bytes) -> None:
        """Raises `KeyEnded` if the key that it is opened with has been revoked, or its end been
        changed, since that was read."""
        ...

    async def still_open(
        self, caller: Principal, *, of: PrincipalId | None, at: datetime, limit: int
    ) -> Sequence[StoredKey]:
        """Those that have not ended by then, the last used first."""
        ...


class Principals(Protocol):
    async def add(self, caller: Principal, identity: Identity) -> None:
        """Raises `NameTaken`."""
        ...

    async def get(self, caller: Principal, principal: PrincipalId) -> Identity:
        """Raises `PrincipalNotFound`."""
        ...

    async def hold(self, caller: Principal, principal: PrincipalId) -> Identity:
        """As `get`, and nobody else changes it before the end of `UnitOfWork`."""
        ...

    async def page(
        self, caller: Principal, *, after: PrincipalId | None, limit: int
    ) -> Sequence[Identity]: ...

    async def save(self, caller: Principal, identity: Identity) -> None:
        """Its name stays. Raises `PrincipalNotFound`."""
        ...

    async def rename(self, caller: Principal, principal: PrincipalId, name: str) -> None:
        """Raises `PrincipalNotFound`, `NameTaken`."""
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


class Leavings(Protocol):
    """What a space has beside the database, where this runs: programs, secrets and files."""

    async def clear(self, space: SpaceId) -> None:
        """Once the space is gone. What cannot be removed is told in the log."""
        ...


class UnitOfWork(Protocol):
    """What is written inside is written as one: all of it, or none."""

    def __call__(self, caller: Principal, /) -> AbstractAsyncContextManager[object]: ...


class SpaceSettings(Protocol):
    """What a space has decided for itself."""

    async def get(self, caller: Principal, name: str) -> JsonValue:
        """None if it has decided nothing."""
        ...

    async def put(self, caller: Principal, name: str, value: JsonValue) -> None: ...

    def changing(self, caller: Principal, name: str) -> AbstractAsyncContextManager[JsonValue]:
        """As it is, for whoever is about to change it: nobody else does so until this ends, and
        what is written in between is written together or not at all."""
        ...


class Rules(Protocol):
    """What a space, and this installation, have decided about who may do what."""

    async def all(self, caller: Principal) -> Sequence[Rule]:
        """Of the file and of the database, those in force now; cheap to ask for again."""
        ...

    async def add(self, caller: Principal, rule: Rule) -> None:
        """In force everywhere when this returns, or within two seconds of it where the news did
        not arrive. Raises `RuleTaken`."""
        ...

    async def remove(self, caller: Principal, name: str) -> bool:
        """False if the space has made no such rule."""
        ...


class Aims(Protocol):
    """What can be called, as the guard would be told of it."""

    async def of(self, caller: Principal, tool: str) -> ActionTarget:
        """As the caller sees it. Raises whatever says that there is no such tool."""
        ...


class Contexts(Protocol):
    """The tasks of a space: what has been read in each."""

    async def get(self, caller: Principal) -> TaintContext:
        """The one that the caller is at; one that nothing was read in yet is as low as can be.
        Raises `ContextNotFound` if it names one that is not its own."""
        ...

    async def raise_taint(self, caller: Principal, label: Label, *, untrusted: bool) -> None:
        """It covers this from now on, for every process."""
        ...


class ContextRegistry(Protocol):
    """The tasks that somebody opened: each only for whoever did."""

    async def open(self, caller: Principal, context: OpenedContext) -> None: ...

    async def find(self, caller: Principal, context: ContextId) -> OpenedContext | None:
        """Also one that is closed."""
        ...

    async def all(self, caller: Principal) -> Sequence[OpenedContext]:
        """Those that are open, oldest first."""
        ...

    async def close(self, caller: Principal, context: ContextId, at: datetime) -> bool:
        """False if there is no such one that is open."""
        ...


class CallLimits(Protocol):
    """How often something may be done, counted across processes."""

    async def take_own(self, act: AccessRequest) -> None:
        """One of the caller's, whatever will be decided. Raises `LimitReached`."""
        ...

    async def take_shared(self, act: AccessRequest) -> None:
        """One of the server's and the tool's, for what may be done: who is refused uses up
        nothing that is everybody's. Raises `LimitReached`."""
        ...

    async def take_ahead(self, act: AccessRequest, share: float) -> None:
        """One of the server's and the tool's, for what nobody has asked for yet, as long as no
        more than this share of them is used up. Nobody else is kept waiting for having been
        refused here. Raises `LimitReached`."""
        ...


class Audit(Protocol):
    """The record of acts, which nobody can change unnoticed."""

    async def note(self, caller: Principal, *entries: AuditEntry) -> None:
        """Written when this returns; inside `UnitOfWork`, with it or not at all."""
        ...

    async def note_ahead(self, caller: Principal, entry: AuditEntry) -> None:
        """Written when this returns, and as safe from then on as whatever is written next: for
        an act that is itself written down before it is made, and then waits for the disk once."""
        ...

    def note_behind(self, caller: Principal, entry: AuditEntry) -> None:
        """Soon, together with others: for what changes nothing. While nothing can be written it
        is kept for later; raises `StoreUnavailable` when too much is."""
        ...


class AuditLog(Protocol):
    """The same record, for whoever has to answer for it."""

    async def head(self, caller: Principal) -> Head: ...

    async def page(self, caller: Principal, *, before: int | None, limit: int) -> Sequence[Link]:
        """Newest first, from the one before the number `before`."""
        ...

    def stream(
        self, caller: Principal, *, last_number: int
    ) -> AsyncGenerator[Sequence[Link], None]:
        """From the first to that number, so many at a time."""
        ...


class AuditHeads(Protocol):
    """Heads of chains, kept where whoever can change the chains cannot."""

    async def keep(self, space: SpaceId, head: Head) -> None: ...

    async def of(self, space: SpaceId) -> Sequence[Head]: ...


class Vault(Protocol):
    """Keeps what must not stand in the database for everybody who can read it."""

    def encrypt(self, plain: bytes, context: bytes) -> bytes: ...

    def decrypt(self, sealed: bytes, context: bytes) -> bytes | None:
        """None if it was not sealed by us in this context."""
        ...


class Secrets(Protocol):
    """What was given to us by name, on this machine; everything raises `SecretsUnavailable`."""

    async def where(self) -> str:
        """What they are kept in: `keyring`, or `age` for a file that it has encrypted."""
        ...

    async def get(self, caller: Principal, name: str) -> str | None: ...

    async def put(self, caller: Principal, secret: StoredSecret, value: str) -> None: ...

    async def remove(self, caller: Principal, name: str) -> bool:
        """False if there was none."""
        ...

    async def all(self, caller: Principal) -> Sequence[StoredSecret]:
        """By name."""
        ...


class SecretUses(Protocol):
    async def __call__(self, caller: Principal) -> Mapping[str, Sequence[str]]:
        """What is given which secret, by the secret's name."""
        ...


class Budgets(Protocol):
    """What pieces of work may cost, held across processes: no cap is ever passed."""

    async def open(self, caller: Principal, budget: str, cap: Cost) -> None:
        """Raises `BudgetTaken`."""
        ...

    async def reserve(
        self, caller: Principal, budget: str, name: str, amount: Cost
    ) -> OverBudget | None:
        """Before it is spent, under a name of the caller's. Raises `BudgetNotFound`, and
        `BudgetTaken` if the name is reserved already."""
        ...

    async def settle(self, caller: Principal, budget: str, name: str, actual: Cost) -> None:
        """What was reserved and not spent is free again. Raises `BudgetNotFound`, and
        `ReservationExceeded`, which leaves it reserved."""
        ...

    async def release(self, caller: Principal, budget: str, name: str) -> None:
        """Nothing was spent. Raises `BudgetNotFound`."""
        ...

    async def left(self, caller: Principal, budget: str) -> Cost:
        """Neither spent nor reserved. Raises `BudgetNotFound`."""
        ...

    async def close(self, caller: Principal, budget: str) -> None:
        """It is forgotten, with what is reserved."""
        ...
