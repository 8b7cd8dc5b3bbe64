"""Projects, conversations and what waits in them, as rows."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from portico.bridge.core.conversations import Conversation, ConversationId
from portico.bridge.core.messages import Message
from portico.bridge.core.projects import Project, ProjectId
from portico.bridge.core.read_state import Inbox
from portico.kernel.ids import PrincipalId
from portico.kernel.label import Label

FOLLOWED: Final = 15
"""Conversations of a list that a page listens to, beside the one that is open: sixteen in all is
what one reader may follow."""
_EXCERPT: Final = 160


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectRow:
    path: str
    name: str
    label: Label
    active_at: datetime
    unread: int
    current: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationRow:
    id: str
    path: str
    title: str
    project: str
    """Its name, where rows of several are listed; else empty."""
    label: Label
    closed: bool
    archived: bool
    active_at: datetime
    unread: int
    mentions: int
    current: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class OverdueRow:
    path: str
    who: str
    excerpt: str
    label: Label
    until: datetime | None
    mine: bool
    """Whoever looks owes it; else they wait for it."""


def project_path(project: ProjectId) -> str:
    return f"/bridge/{project}"


def conversation_path(conversation: Conversation) -> str:
    return f"/bridge/{conversation.project}/{conversation.id}"


def project_rows(
    projects: Sequence[Project], inbox: Inbox, current: ProjectId | None
) -> tuple[ProjectRow, ...]:
    waiting = Counter[ProjectId]()
    for item in inbox.unread:
        waiting[item.conversation.project] += item.count
    return tuple(
        ProjectRow(
            path=project_path(each.id),
            name=each.name,
            label=each.label,
            active_at=each.active_at,
            unread=waiting[each.id],
            current=each.id == current,
        )
        for each in projects
    )


def conversation_rows(
    conversations: Sequence[Conversation],
    inbox: Inbox,
    *,
    current: ConversationId | None = None,
    projects: Mapping[ProjectId, str] | None = None,
) -> tuple[ConversationRow, ...]:
    """With `projects`, each says which it is of."""
    waiting = {item.conversation.id: item for item in inbox.unread}
    rows = []
    for each in conversations:
        item = waiting.get(each.id)
        rows.append(
            ConversationRow(
                id=str(each.id),
                path=conversation_path(each),
                title=each.title,
                project=(projects or {}).get(each.project, ""),
                label=each.label,
                closed=each.closed,
                archived=each.archived_at is not None,
                active_at=each.active_at,
                unread=0 if item is None else item.count,
                mentions=0 if item is None else item.mentions,
                current=each.id == current,
            )
        )
    return tuple(rows)


def overdue_rows(
    overdue: Sequence[Message], where: Mapping[ConversationId, Conversation], me: PrincipalId
) -> tuple[OverdueRow, ...]:
    """Of one whose conversation went away meanwhile nothing is told."""
    return tuple(
        OverdueRow(
            path=f"{conversation_path(where[each.conversation])}/messages/{each.id}",
            who=each.sender_name,
            excerpt=excerpt(each.body),
            label=each.label,
            until=None if each.acknowledge is None else each.acknowledge.until,
            mine=each.sender != me,
        )
        for each in overdue
        if each.conversation in where
    )


def next_unread(inbox: Inbox, after: str | None) -> Conversation | None:
    """The one with the latest news, or the next after that which is open."""
    every = [item.conversation for item in inbox.unread]
    ids = [str(each.id) for each in every]
    start = ids.index(after) + 1 if after in ids else 0
    return next((each for each in [*every[start:], *every[:start]] if str(each.id) != after), None)


def topics(rows: Sequence[ConversationRow]) -> str:
    """What a list listens to: those that come first in it."""
    return " ".join([row.id for row in rows if not row.current][:FOLLOWED])


def excerpt(text: str, most: int = _EXCERPT) -> str:
    """On one line."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"
