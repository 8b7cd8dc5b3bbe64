"""A conversation and its members."""

from dataclasses import dataclass
from datetime import datetime

from portico.bridge.core.projects import ProjectId
from portico.kernel.ids import Id, PrincipalId
from portico.kernel.label import Label


class ConversationId(Id):
    __slots__ = ()
    prefix = "cnv"


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    id: ConversationId
    project: ProjectId
    title: str
    label: Label
    """At least that of its project."""
    closed: bool = False
    """Only for those who take part in it; else for whoever is cleared."""
    made_by: PrincipalId
    made_at: datetime
    archived_at: datetime | None = None
    active_at: datetime
    """When something was last said that the reader may see."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Participant:
    principal: PrincipalId
    name: str
    joined_at: datetime
    muted: bool = False
    """What is said there is not counted as unread for them. Told to themselves alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadTotal:
    """Of all conversations that somebody takes part in."""

    count: int
    mentions: int
    label: Label


@dataclass(frozen=True, slots=True, kw_only=True)
class Unread:
    """Of one conversation, for one reader: exactly what they would find, counted one by one."""

    conversation: ConversationId
    count: int
    mentions: int = 0
    """How many of them name the reader, or are addressed to them."""
    label: Label
    """Of all that was counted: whoever reads the number has read as much."""
