"""Messages: text, mentions, labels."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from portico.bridge.core.activity import MOST_CONVERSATIONS
from portico.bridge.core.attachments import Digest
from portico.bridge.core.conversations import ConversationId
from portico.bridge.core.errors import (
    AboveClearance,
    BelowContainer,
    WriteDown,
    flaws_of_line,
    flaws_of_text,
)
from portico.kernel.errors import FieldError
from portico.kernel.ids import Id, PrincipalId
from portico.kernel.label import Label, join

MOST_LETTERS: Final = 100_000
MOST_MENTIONS: Final = 50
MOST_ATTACHMENTS: Final = 20


class MessageId(Id):
    __slots__ = ()
    prefix = "msg"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyRequest:
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
    acknowledge: ReplyRequest | None = None
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
    acknowledge: ReplyRequest | None = None
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


MOST_LETTERS_OF_A_KEY: Final = 200
MOST_AT_ONCE: Final = 200
"""Things on a page."""
LONGEST_WAIT: Final = timedelta(seconds=60)


def flaws_of_message(message: NewMessage) -> Iterator[FieldError]:
    yield from flaws_of_body(message.body, empty=bool(message.attachments))
    yield from flaws_of_people("mentions", message.mentions)
    yield from flaws_of_people("addressed", message.addressed)
    if len(message.attachments) > MOST_ATTACHMENTS:
        yield FieldError(
            "attachments", f"has {len(message.attachments)}; at most {MOST_ATTACHMENTS}"
        )
    if message.key is not None:
        yield from flaws_of_line("key", message.key, most=MOST_LETTERS_OF_A_KEY)
    if message.acknowledge is not None and not message.addressed:
        yield FieldError("acknowledge", "needs somebody to whom the message is addressed")


def flaws_of_body(body: str, *, empty: bool = False) -> Sequence[FieldError]:
    """`empty`: nothing need be said, since something is attached to it."""
    if not empty and not body.strip():
        return [FieldError("body", "must not be empty unless something is attached")]
    return flaws_of_text("body", body, most=MOST_LETTERS)


def flaws_of_reading(
    conversations: Sequence[ConversationId], *, limit: int = 1, wait: timedelta | None = None
) -> Iterator[FieldError]:
    if not 1 <= len(conversations) <= MOST_CONVERSATIONS:
        yield FieldError("conversations", f"must be 1 to {MOST_CONVERSATIONS}")
    if len(set(conversations)) < len(conversations):
        yield FieldError("conversations", "must not be named twice")
    yield from flaws_of_limit(limit)
    if wait is not None and not timedelta(0) <= wait <= LONGEST_WAIT:
        yield FieldError("wait", f"must be 0 to {LONGEST_WAIT.seconds} seconds")


def flaws_of_people(field: str, people: Sequence[PrincipalId]) -> Iterator[FieldError]:
    if len(people) > MOST_MENTIONS:
        yield FieldError(field, f"has {len(people)}; at most {MOST_MENTIONS}")


def flaws_of_limit(limit: int) -> Iterator[FieldError]:
    if not 1 <= limit <= MOST_AT_ONCE:
        yield FieldError("limit", f"must be 1 to {MOST_AT_ONCE}")


_NAMED: Final = re.compile(r"(?:^|(?<=[\s(\[{<\"']))@(\w[\w.-]*)")


def names_in(text: str) -> tuple[str, ...]:
    """Each once, without the `@` and without what ends a sentence; no more than can be mentioned.
    Whether there is somebody of that name is another question."""
    found = (name.rstrip(".-") for name in _NAMED.findall(text))
    return tuple(dict.fromkeys(found))[:MOST_MENTIONS]


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """What was found in one conversation, in its order, with the place of each."""

    found: Sequence[tuple[int, Message]]
    start: int
    more: bool
    inside: Label
    """That of the conversation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    messages: Sequence[Message]
    positions: Mapping[ConversationId, int]
    """Of the last one taken of each. Not past what is hidden after it: a cursor that moved while
    nothing was shown would tell that something is there."""
    more: bool


def merged(reads: Mapping[ConversationId, Read], limit: int) -> Merged:
    """The oldest first. Where clocks differ, the order of a conversation wins over that of time."""
    queue = sorted(
        (told, str(conversation), number, message)
        for conversation, read in reads.items()
        for number, (told, message) in enumerate(_in_time(read))
    )
    taken = queue[:limit]
    counts = {str(conversation): 0 for conversation in reads}
    for _, conversation, _, _ in taken:
        counts[conversation] += 1
    return Merged(
        messages=[message for _, _, _, message in taken],
        positions={each: _place(read, counts[str(each)]) for each, read in reads.items()},
        more=len(queue) > limit or any(read.more for read in reads.values()),
    )


def _in_time(read: Read) -> Sequence[tuple[datetime, Message]]:
    """Never earlier than what was said before it."""
    told: list[tuple[datetime, Message]] = []
    for _, message in read.found:
        at = max(message.sent_at, told[-1][0]) if told else message.sent_at
        told.append((at, message))
    return told


def _place(read: Read, taken: int) -> int:
    return read.found[taken - 1][0] if taken else read.start


@dataclass(frozen=True, slots=True)
class Labelled:
    label: Label
    raised: bool
    """It is more secret than the place where it is written."""


def label_of(wanted: Label | None, *, inside: Label, mark: Label, clearance: Label) -> Labelled:
    """Of what is written `inside` a place, in a task that has read up to `mark`.

    Raises `BelowContainer`, `WriteDown`, `AboveClearance`.
    """
    label = join([inside, mark]) if wanted is None else wanted
    if not label.covers(inside):
        raise BelowContainer(label, inside)
    if not label.covers(mark):
        raise WriteDown(label, mark)
    if not clearance.covers(label):
        raise AboveClearance(label, clearance)
    return Labelled(label, raised=wanted is None and label != inside)


def label_again(
    wanted: Label | None, *, inside: Label, mark: Label, clearance: Label, again: bool
) -> Label:
    """The same of what may have been written before with the same key, when less was read: then it
    is told again. What was not is refused where that is looked for.

    Raises `BelowContainer`, `WriteDown`, `AboveClearance`.
    """
    try:
        return label_of(wanted, inside=inside, mark=mark, clearance=clearance).label
    except WriteDown:
        if not again or wanted is None or not clearance.covers(wanted):
            raise
        return wanted


def secrecy(label: Label) -> tuple[int, int, str]:
    """To tell the most secret of several, and always the same one, also where none covers the
    others."""
    return label.level, len(label.compartments), str(label)


def check_shared(inside: Label, mark: Label) -> None:
    """Of what everybody in a project sees, and which has no label of its own: a lease, a claim,
    an acknowledgement, that somebody is there. Raises `WriteDown`."""
    if not inside.covers(mark):
        raise WriteDown(inside, mark, shared=True)
