"""What a member has read, and their inbox."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from portico.bridge.core.conversations import Conversation, Unread
from portico.bridge.core.messages import Message


@dataclass(frozen=True, slots=True, kw_only=True)
class InboxItem:
    conversation: Conversation
    count: int
    mentions: int = 0
    """How many of them name the reader, or are addressed to them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inbox:
    unread: Sequence[InboxItem]
    """The one with the latest news first."""
    overdue: Sequence[Message]
    """Those of which the reader owes an acknowledgement, or waits for one, past its time."""
    total: int
    """Of all that is unread."""


def inbox_of(
    conversations: Iterable[Conversation], unread: Iterable[Unread], overdue: Sequence[Message]
) -> Inbox:
    """Of one that went away between the two questions nothing is told."""
    counted = {each.conversation: each for each in unread}
    items = [
        InboxItem(conversation=its, count=counted[its.id].count, mentions=counted[its.id].mentions)
        for its in conversations
        if its.id in counted
    ]
    return Inbox(unread=items, overdue=overdue, total=sum(item.count for item in items))
