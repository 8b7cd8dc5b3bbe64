"""Shapes of the bridge: projects, conversations, messages."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, Final

from fastapi import Query
from pydantic import BaseModel, Field

from portico.bridge.core.conversations import Conversation, ConversationId, Participant
from portico.bridge.core.messages import Acknowledged, Message, MessageVersion, Page
from portico.bridge.core.projects import Project
from portico.interfaces.http.shapes import ConversationIdText, LabelText
from portico.kernel.label import Label

MOST_CONVERSATIONS: Final = 16
"""That one reader follows at once."""

Upto = Annotated[
    LabelText | None,
    Query(description="The most secret that you want to read now; what is above is left away."),
]
Archived = Annotated[bool, Query(description="Those that were put away, in place of the others.")]
Several = Annotated[
    list[ConversationIdText],
    Query(min_length=1, max_length=MOST_CONVERSATIONS, alias="conversation"),
]
Cursor = Annotated[
    str | None, Query(max_length=4000, description="`cursor` of what you have read before.")
]
CursorText = Annotated[str, Field(min_length=1, max_length=4000)]


class ProjectOut(BaseModel, title="ProjectOut"):
    id: str
    name: str
    description: str
    label: str
    """Whoever is not cleared for it does not know of it."""
    made_by: str
    made_at: datetime
    archived_at: datetime | None
    active_at: datetime
    """When something was last said in it that you may see."""


class ConversationOut(BaseModel, title="ConversationOut"):
    id: str
    project: str
    title: str
    label: str
    closed: bool
    """Only for those who take part in it."""
    made_by: str
    made_at: datetime
    archived_at: datetime | None
    active_at: datetime
    """When something was last said in it that you may see."""


class ParticipantOut(BaseModel, title="ParticipantOut"):
    principal: str
    name: str
    joined_at: datetime
    muted: bool
    """Told to themselves alone."""


class WantedOut(BaseModel, title="WantedOut"):
    until: datetime | None


class MessageOut(BaseModel, title="MessageOut"):
    id: str
    conversation: str
    sender: str
    sender_name: str
    body: str
    """Empty, of one that was deleted."""
    label: str
    reply_to: str | None
    thread: str | None
    """The message that its thread began with."""
    mentions: list[str]
    addressed: list[str]
    attachments: list[str]
    """By their digests."""
    acknowledge: WantedOut | None
    """That whoever it is addressed to is to say that they have it."""
    untrusted: bool
    """Its writer had read strangers' words in the same task."""
    sent_at: datetime
    edited_at: datetime | None
    deleted_at: datetime | None


class MessagesOut(BaseModel, title="MessagesOut"):
    data: list[MessageOut]
    cursor: str
    """Where you are then; of use to you alone."""
    more: bool
    reset: bool
    """The cursor that you sent was of another clearance: this begins anew."""


class MessageVersionOut(BaseModel, title="MessageVersionOut"):
    number: int
    body: str
    label: str
    by: str
    at: datetime


class AcknowledgedOut(BaseModel, title="AcknowledgedOut"):
    by: str
    at: datetime


def upto_of(text: str | None) -> Label | None:
    return None if text is None else Label.parse(text)


def conversations_of(texts: Sequence[str]) -> list[ConversationId]:
    """Each once."""
    return [ConversationId.parse(text) for text in dict.fromkeys(texts)]


def project_out(project: Project) -> ProjectOut:
    return ProjectOut(
        id=str(project.id),
        name=project.name,
        description=project.description,
        label=str(project.label),
        made_by=str(project.made_by),
        made_at=project.made_at,
        archived_at=project.archived_at,
        active_at=project.active_at,
    )


def conversation_out(conversation: Conversation) -> ConversationOut:
    return ConversationOut(
        id=str(conversation.id),
        project=str(conversation.project),
        title=conversation.title,
        label=str(conversation.label),
        closed=conversation.closed,
        made_by=str(conversation.made_by),
        made_at=conversation.made_at,
        archived_at=conversation.archived_at,
        active_at=conversation.active_at,
    )


def participant_out(participant: Participant) -> ParticipantOut:
    return ParticipantOut(
        principal=str(participant.principal),
        name=participant.name,
        joined_at=participant.joined_at,
        muted=participant.muted,
    )


def message_fields(message: Message) -> dict[str, Any]:
    wanted = message.acknowledge
    return {
        "id": str(message.id),
        "conversation": str(message.conversation),
        "sender": str(message.sender),
        "sender_name": message.sender_name,
        "body": message.body,
        "label": str(message.label),
        "reply_to": _text(message.reply_to),
        "thread": _text(message.thread),
        "mentions": [*map(str, message.mentions)],
        "addressed": [*map(str, message.addressed)],
        "attachments": [*map(str, message.attachments)],
        "acknowledge": None if wanted is None else WantedOut(until=wanted.until),
        "untrusted": message.untrusted,
        "sent_at": message.sent_at,
        "edited_at": message.edited_at,
        "deleted_at": message.deleted_at,
    }


def message_out(message: Message) -> MessageOut:
    return MessageOut(**message_fields(message))


def messages_out(page: Page) -> MessagesOut:
    return MessagesOut(
        data=[message_out(message) for message in page.messages],
        cursor=page.cursor,
        more=page.more,
        reset=page.reset,
    )


def version_out(version: MessageVersion) -> MessageVersionOut:
    return MessageVersionOut(
        number=version.number,
        body=version.body,
        label=str(version.label),
        by=str(version.by),
        at=version.at,
    )


def acknowledged_out(acknowledged: Acknowledged) -> AcknowledgedOut:
    return AcknowledgedOut(by=str(acknowledged.by), at=acknowledged.at)


def _text(value: object) -> str | None:
    return None if value is None else str(value)
