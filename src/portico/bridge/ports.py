"""What several subjects of the bridge need from the outside world."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from portico.bridge.core.attachments import Attachment, Digest
from portico.bridge.core.conversations import (
    Conversation,
    ConversationId,
    Participant,
    Unread,
    UnreadTotal,
)
from portico.bridge.core.leases import Lease, LeaseId, LeaseSpec, Waiting
from portico.bridge.core.memory import MemoryEntry, ToRemember
from portico.bridge.core.messages import (
    Acknowledged,
    Message,
    MessageId,
    MessageVersion,
    NewMessage,
)
from portico.bridge.core.presence import Presence, PresenceStatus
from portico.bridge.core.projects import Project, ProjectId
from portico.bridge.core.work_items import (
    NewWorkItem,
    WorkEnded,
    WorkItem,
    WorkItemId,
    WorkItemStatus,
)
from portico.kernel.ids import PrincipalId
from portico.kernel.label import Label
from portico.kernel.principal import Principal

# What the bridge needs from the outside world, in its own words.
#
# Everything here is asked as the caller: what is above their clearance is not there, and no answer,
# count or order depends on it.


class Projects(Protocol):
    async def add(self, caller: Principal, project: Project) -> None:
        """Raises `ProjectNameTaken`, within its label; `WriteDown`."""
        ...

    async def get(self, caller: Principal, which: str) -> Project:
        """By its id; or by its name, of several the most secret. Raises `ProjectNotFound`."""
        ...

    async def put(self, caller: Principal, project: Project) -> None:
        """Its name, description and whether it is archived. Raises `ProjectNotFound`,
        `ProjectNameTaken`."""
        ...

    async def page(
        self, caller: Principal, *, archived: bool, after: str | None, limit: int
    ) -> Sequence[Project]:
        """The one with the latest news first: of those that the caller may see. Either those that
        are archived, or those that are not; `after` the one with this id, or none if it is not
        there."""
        ...


class Conversations(Protocol):
    async def add(self, caller: Principal, conversation: Conversation) -> None:
        """Its maker takes part. Raises `ProjectNotFound`, `WriteDown`."""
        ...

    async def get(self, caller: Principal, conversation: ConversationId) -> Conversation:
        """Raises `ConversationNotFound`, also of a closed one that the caller takes no part in."""
        ...

    async def put(self, caller: Principal, conversation: Conversation) -> None:
        """Its title and whether it is archived. Raises `ConversationNotFound`."""
        ...

    async def page(
        self,
        caller: Principal,
        project: ProjectId | None,
        *,
        archived: bool,
        after: str | None,
        limit: int,
    ) -> Sequence[Conversation]:
        """As of projects."""
        ...

    async def some(
        self, caller: Principal, conversations: Collection[ConversationId]
    ) -> Sequence[Conversation]:
        """Those of them that the caller can see, the one with the latest news first."""
        ...

    async def participants(
        self, caller: Principal, conversation: ConversationId
    ) -> Sequence[Participant]:
        """By when they joined. Raises `ConversationNotFound`."""
        ...

    async def join(self, caller: Principal, conversation: ConversationId, who: PrincipalId) -> None:
        """From now on: what was said before is not unread for them; nothing, if they take part.
        Raises `ConversationNotFound`, the guard's `PrincipalNotFound`."""
        ...

    async def leave(
        self, caller: Principal, conversation: ConversationId, who: PrincipalId
    ) -> None:
        """Raises `ConversationNotFound`, `NotTakingPart`."""
        ...

    async def mute(self, caller: Principal, conversation: ConversationId, *, muted: bool) -> None:
        """Raises `ConversationNotFound`, `NotTakingPart`."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """A message and where it stands, which nobody outside is told."""

    message: Message
    position: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Entered(Placed):
    inside: Label
    """That of its conversation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageRange:
    found: Sequence[Placed]
    inside: Label
    """That of the conversation: whoever knows that there is nothing has read as much."""
    end: int
    """How far was looked, past what the caller may not see."""
    more: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamp:
    """What is put on a message besides what its writer wants it to say."""

    id: MessageId
    at: datetime
    label: Label | None = None
    """None: as secret as it has to be, by its conversation and all that its task has read."""
    untrusted: bool = False
    """Also where its task has read nothing of strangers."""
    named: tuple[PrincipalId, ...] = ()
    """Whom its text mentions, besides those whom its writer has mentioned."""


class Messages(Protocol):
    async def send(self, caller: Principal, message: NewMessage, stamp: Stamp) -> Entered:
        """At the end of its conversation, once: the one that is there, with another id, if its
        sender has used its key before; this is looked for first, among what they may see. Raises
        `ConversationNotFound`, also of a closed one, `KeyReused`, `Archived`, `BelowContainer`,
        `WriteDown` (also if it is less secret than what it answers), `AboveClearance`,
        `ContextNotFound`, `MessageNotFound` of what it answers."""
        ...

    async def end(self, caller: Principal, conversation: ConversationId) -> int:
        """Where the last one stands, however secret it is; 0 if there is none. Raises
        `ConversationNotFound`."""
        ...

    async def get(self, caller: Principal, message: MessageId) -> Placed:
        """Raises `MessageNotFound`."""
        ...

    async def after(
        self,
        caller: Principal,
        conversation: ConversationId,
        *,
        after: int,
        limit: int,
        max_label: Label | None = None,
        thread: MessageId | None = None,
    ) -> MessageRange:
        """Also those that were deleted, of which nothing is left. `thread`: only the answers in
        it, without the one that it began with. Raises `ConversationNotFound`."""
        ...

    async def before(
        self,
        caller: Principal,
        conversation: ConversationId,
        *,
        before: int | None,
        limit: int,
        max_label: Label | None = None,
    ) -> MessageRange:
        """The last ones, oldest first; its `end` is the place of the first of them, or 0."""
        ...

    async def edit(self, caller: Principal, message: Message, at: datetime) -> None:
        """Its body, its label, which only rises, and that it is untrusted, which it then stays;
        what it was is kept. Raises
        `MessageNotFound`, also of one that was deleted, `NotTheirs`, `WriteDown`."""
        ...

    async def delete(
        self, caller: Principal, message: MessageId, at: datetime, *, others: bool = False
    ) -> None:
        """What it said is kept; twice is once. `others`: also what somebody else has said. Raises
        `MessageNotFound`, `NotTheirs`, `WriteDown`."""
        ...

    async def versions(self, caller: Principal, message: MessageId) -> Sequence[MessageVersion]:
        """Oldest first. Raises `MessageNotFound`."""
        ...

    async def acknowledge(self, caller: Principal, message: MessageId, at: datetime) -> None:
        """As secret as the message; the first time counts. Raises `MessageNotFound`,
        `WriteDown`."""
        ...

    async def acknowledged(self, caller: Principal, message: MessageId) -> Sequence[Acknowledged]:
        """Oldest first. Raises `MessageNotFound`."""
        ...

    async def overdue(self, caller: Principal, now: datetime, limit: int) -> Sequence[Placed]:
        """Those whose time is over and of which the caller, to whom they are addressed, owes an
        acknowledgement, or which the caller has sent, and waits for one. The oldest first."""
        ...


class ReadState(Protocol):
    """Private to each reader."""

    async def read_to(
        self,
        caller: Principal,
        conversation: ConversationId,
        place: int,
        *,
        max_label: Label | None = None,
    ) -> None:
        """All up to there, never back; or all of those that are no more secret than `upto`.
        Nothing, of a conversation that they take no part in."""
        ...

    async def read_one(self, caller: Principal, message: MessageId) -> None:
        """Nothing, of one that they cannot see."""
        ...

    async def unread(
        self,
        caller: Principal,
        *,
        max_label: Label | None = None,
        conversations: Collection[ConversationId] | None = None,
    ) -> Sequence[Unread]:
        """Of those that they take part in, are not muted, and have something for them."""
        ...

    async def total(self, caller: Principal) -> UnreadTotal:
        """Of all of these."""
        ...


class People(Protocol):
    """Those who can be named in a message: by their names, of those the caller may know of."""

    async def named(
        self, caller: Principal, names: Collection[str]
    ) -> Mapping[str, PrincipalId]: ...


# What the bridge needs for what a project holds besides talk: memory, files, leases, work and who
# is there; asked as the caller, as all of `ports`.


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
    ) -> MemoryEntry:
        """One version more under this label. Raises `MemoryChanged`, also if somebody else was
        faster by a hair; `ProjectNotFound`, `WriteDown`."""
        ...

    async def get(self, caller: Principal, project: ProjectId, key: str) -> MemoryEntry:
        """The most secret that the caller may read. Raises `MemoryNotFound`."""
        ...

    async def forget(
        self, caller: Principal, project: ProjectId, key: str, label: Label, at: datetime
    ) -> None:
        """What it was stays in its history. Raises `MemoryNotFound`, `WriteDown`."""
        ...

    async def page(
        self, caller: Principal, project: ProjectId, *, prefix: str, after: str | None, limit: int
    ) -> Sequence[MemoryEntry]:
        """Of each key what `get` would give, by key; `after` this one."""
        ...

    async def find(
        self, caller: Principal, project: ProjectId, words: str, limit: int
    ) -> Sequence[MemoryEntry]:
        """What is there and has all of these words in its key or its value, under whichever label;
        the newest first."""
        ...

    async def versions(
        self, caller: Principal, project: ProjectId, key: str, limit: int
    ) -> Sequence[MemoryEntry]:
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

    async def take(self, caller: Principal, id_: LeaseId, wish: LeaseSpec) -> Lease:
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
        id_: WorkItemId,
        work: NewWorkItem,
        label: Label,
        at: datetime,
        *,
        untrusted: bool = False,
    ) -> WorkItem:
        """Once: the one that is there, of those the caller may see, if they have used its key
        before; this is looked for first. Raises `KeyReused`, `WorkNotFound` of what it
        depends on, `ProjectNotFound`, `WriteDown`."""
        ...

    async def get(self, caller: Principal, work: WorkItemId) -> WorkItem:
        """Raises `WorkNotFound`."""
        ...

    async def page(
        self,
        caller: Principal,
        project: ProjectId,
        *,
        state: WorkItemStatus | None,
        after: WorkItemId | None,
        limit: int,
    ) -> Sequence[WorkItem]:
        """By their age."""
        ...

    async def claim(self, caller: Principal, work: WorkItemId, at: datetime) -> WorkItem:
        """By one alone. Raises `WorkNotFound`, `WorkTaken`, `WorkOver`, `WorkHeldUp`,
        `WriteDown`."""
        ...

    async def hand_over(
        self, caller: Principal, work: WorkItemId, token: int, to: PrincipalId | None, at: datetime
    ) -> WorkItem:
        """By who has claimed it, to somebody, or to whoever comes. Raises `WorkNotFound`,
        `WorkTaken`, `WorkOver`, `WriteDown`, the guard's `PrincipalNotFound`."""
        ...

    async def end(
        self, caller: Principal, ended: WorkEnded, at: datetime, *, untrusted: bool = False
    ) -> WorkItem:
        """By who has claimed it, with the token of that claim; the same again changes nothing.
        Raises `WorkNotFound`, `WorkTaken`, `WorkOver`, `WriteDown`."""
        ...


class Presences(Protocol):
    async def say(
        self,
        caller: Principal,
        project: ProjectId,
        doing: PresenceStatus,
        note: str,
        until: datetime,
    ) -> None:
        """Raises `ProjectNotFound`, `WriteDown`."""
        ...

    async def all(self, caller: Principal, project: ProjectId, now: datetime) -> Sequence[Presence]:
        """Of whom `until` is not over; by name."""
        ...
