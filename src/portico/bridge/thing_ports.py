"""What the bridge needs for what a project holds besides talk: memory, files, leases, work and who
is there; asked as the caller, as all of `ports`."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Protocol

from portico.bridge.core.attachment import Attachment, Digest
from portico.bridge.core.lease import Lease, LeaseId, LeaseWish, Waiting
from portico.bridge.core.memory import Remembered, ToRemember
from portico.bridge.core.presence import Doing, Presence
from portico.bridge.core.project import ProjectId
from portico.bridge.core.task import NewWork, Work, WorkEnded, WorkId, WorkState
from portico.kernel.ids import PrincipalId
from portico.kernel.label import Label
from portico.kernel.principal import Principal


class Memory(Protocol):
    """What has expired, by the store's clock, is not there; nor is what was forgotten."""

    async def put(
        self,
        caller: Principal,
        wanted: ToRemember,
        label: Label,
        at: datetime,
        *,
        untrusted: bool = False,
    ) -> Remembered:
        """One version more under this label. Raises `MemoryChanged`, also if somebody else was
        faster by a hair; `ProjectNotFound`, `WriteDown`."""
        ...

    async def get(self, caller: Principal, project: ProjectId, key: str) -> Remembered:
        """The most secret that the caller may read. Raises `MemoryNotFound`."""
        ...

    async def forget(
        self, caller: Principal, project: ProjectId, key: str, label: Label, at: datetime
    ) -> None:
        """What it was stays in its history. Raises `MemoryNotFound`, `WriteDown`."""
        ...

    async def page(
        self, caller: Principal, project: ProjectId, *, prefix: str, after: str | None, limit: int
    ) -> Sequence[Remembered]:
        """Of each key what `get` would give, by key; `after` this one."""
        ...

    async def find(
        self, caller: Principal, project: ProjectId, words: str, limit: int
    ) -> Sequence[Remembered]:
        """What is there and has all of these words in its key or its value, under whichever label;
        the newest first."""
        ...

    async def versions(
        self, caller: Principal, project: ProjectId, key: str, limit: int
    ) -> Sequence[Remembered]:
        """Of all labels that the caller may read, the most secret first, of each the newest
        first."""
        ...


class Attachments(Protocol):
    async def put(self, caller: Principal, attachment: Attachment, content: bytes) -> None:
        """Nothing, if there is one of the same content and label. Raises `WriteDown`."""
        ...

    async def get(self, caller: Principal, digest: Digest) -> tuple[Attachment, bytes]:
        """Of several with the same content the least secret: its reader has read no more than
        that. Raises `AttachmentNotFound`."""
        ...

    async def about(self, caller: Principal, digest: Digest) -> Attachment:
        """The same one, without what is in it. Raises `AttachmentNotFound`."""
        ...


class Leases(Protocol):
    """All times are the store's. What has expired is not there."""

    async def take(self, caller: Principal, id_: LeaseId, wish: LeaseWish) -> Lease:
        """The same id again is the same lease. Raises `KeyReused` if that, or one's place in the
        queue, is of something else; `LeaseHeld`, and who wants to wait is in the queue from then
        on; `TooManyLeases`, `ProjectNotFound`, `WriteDown`."""
        ...

    async def get(self, caller: Principal, lease: LeaseId) -> Lease:
        """Raises `LeaseLost`."""
        ...

    async def renew(
        self, caller: Principal, lease: LeaseId, token: int, *, for_: timedelta
    ) -> Lease:
        """By its holder, from now on. Raises `LeaseLost`, `WriteDown`."""
        ...

    async def release(self, caller: Principal, lease: LeaseId, token: int) -> None:
        """By its holder. Raises `LeaseLost`."""
        ...

    async def check(
        self, caller: Principal, project: ProjectId, resource: str, token: int
    ) -> Lease:
        """Raises `LeaseLost` unless this is the one that holds it now, all of it."""
        ...

    async def all(
        self, caller: Principal, project: ProjectId
    ) -> tuple[Sequence[Lease], Sequence[Waiting]]:
        """By their age; who waits longest is next."""
        ...


class Works(Protocol):
    async def add(
        self,
        caller: Principal,
        id_: WorkId,
        work: NewWork,
        label: Label,
        at: datetime,
        *,
        untrusted: bool = False,
    ) -> Work:
        """Once: the one that is there, of those the caller may see, if they have used its key
        before; this is looked for first. Raises `KeyReused`, `WorkNotFound` of what it
        depends on, `ProjectNotFound`, `WriteDown`."""
        ...

    async def get(self, caller: Principal, work: WorkId) -> Work:
        """Raises `WorkNotFound`."""
        ...

    async def page(
        self,
        caller: Principal,
        project: ProjectId,
        *,
        state: WorkState | None,
        after: WorkId | None,
        limit: int,
    ) -> Sequence[Work]:
        """By their age."""
        ...

    async def claim(self, caller: Principal, work: WorkId, at: datetime) -> Work:
        """By one alone. Raises `WorkNotFound`, `WorkTaken`, `WorkOver`, `WorkHeldUp`,
        `WriteDown`."""
        ...

    async def hand_over(
        self, caller: Principal, work: WorkId, token: int, to: PrincipalId | None, at: datetime
    ) -> Work:
        """By who has claimed it, to somebody, or to whoever comes. Raises `WorkNotFound`,
        `WorkTaken`, `WorkOver`, `WriteDown`, the guard's `PrincipalNotFound`."""
        ...

    async def end(
        self, caller: Principal, ended: WorkEnded, at: datetime, *, untrusted: bool = False
    ) -> Work:
        """By who has claimed it, with the token of that claim; the same again changes nothing.
        Raises `WorkNotFound`, `WorkTaken`, `WorkOver`, `WriteDown`."""
        ...


class Presences(Protocol):
    async def say(
        self, caller: Principal, project: ProjectId, doing: Doing, note: str, until: datetime
    ) -> None:
        """Raises `ProjectNotFound`, `WriteDown`."""
        ...

    async def all(self, caller: Principal, project: ProjectId, now: datetime) -> Sequence[Presence]:
        """Of whom `until` is not over; by name."""
        ...
