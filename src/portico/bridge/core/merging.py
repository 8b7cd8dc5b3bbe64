"""What was said in several conversations, in one line: each in its own order, and nothing passed
over."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from portico.bridge.core.conversation import ConversationId
from portico.bridge.core.message import Message
from portico.kernel.label import Label


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
    places: Mapping[ConversationId, int]
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
        places={each: _place(read, counts[str(each)]) for each, read in reads.items()},
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
