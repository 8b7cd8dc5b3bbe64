"""A message: what somebody says in a conversation, once, at a place that does not change."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from portico.bridge.core.attachment import Digest
from portico.bridge.core.conversation import ConversationId
from portico.kernel.ids import Id, PrincipalId
from portico.kernel.label import Label

MOST_LETTERS: Final = 100_000
MOST_MENTIONS: Final = 50
MOST_ATTACHMENTS: Final = 20


class MessageId(Id):
    __slots__ = ()
    prefix = "msg"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """That an answer is wanted of everybody to whom it is addressed, and until when."""

    until: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewMessage:
    """As somebody wants it said."""

    conversation: ConversationId
    body: str
    label: Label | None = None
    """None: as secret as what was read in this task, and as the conversation."""
    reply_to: MessageId | None = None
    """A message of the same conversation; it is then in that one's thread."""
    mentions: tuple[PrincipalId, ...] = ()
    addressed: tuple[PrincipalId, ...] = ()
    """To whom it is directed. Others who are cleared can read it as well."""
    attachments: tuple[Digest, ...] = ()
    acknowledge: Wanted | None = None
    key: str | None = None
    """The same key again is the same message, however often it is sent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    id: MessageId
    conversation: ConversationId
    sender: PrincipalId
    sender_name: str
    body: str
    """Empty, of one that was deleted."""
    label: Label
    reply_to: MessageId | None = None
    thread: MessageId | None = None
    """The message that its thread began with."""
    mentions: tuple[PrincipalId, ...] = ()
    addressed: tuple[PrincipalId, ...] = ()
    attachments: tuple[Digest, ...] = ()
    acknowledge: Wanted | None = None
    untrusted: bool = False
    """Its writer had read strangers' words in the same task."""
    sent_at: datetime
    edited_at: datetime | None = None
    deleted_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    message: Message
    raised: bool
    """It is more secret than what was asked for, or than its conversation: its writer has read
    something in this task that is."""
    replayed: bool = False
    """It was sent before, with the same key."""
    absent: tuple[PrincipalId, ...] = ()
    """Whom it names or is addressed to and who take no part: it is not in their inbox."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageVersion:
    """What it said before somebody changed it."""

    number: int
    body: str
    label: Label
    by: PrincipalId
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Acknowledged:
    by: PrincipalId
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Some messages, in the order in which they were said."""

    messages: Sequence[Message]
    cursor: str
    """Where the reader is then. It tells nothing, and is of use to this reader alone."""
    more: bool
    reset: bool = False
    """The cursor that was given is of another clearance: this begins anew."""
