"""Conversations and things that are said in them, for the contracts of the bridge."""

from dataclasses import replace
from datetime import datetime, timedelta

from portico.bridge.core.conversations import Conversation, ConversationId
from portico.bridge.core.messages import Message, MessageId, NewMessage, ReplyRequest
from portico.bridge.core.projects import Project
from portico.bridge.ports import Placed, Stamp
from portico.kernel.ids import PrincipalId
from portico.kernel.label import Label
from portico.kernel.principal import Principal
from portico.testing.memory_store import BEGINNING, SeededEntropy
from tests.contracts.bridge_people import TEAM
from tests.contracts.doors import Doors


def at(minutes: int) -> datetime:
    return BEGINNING + timedelta(minutes=minutes)


async def a_conversation(
    doors: Doors,
    caller: Principal,
    project: Project,
    title: str = "plans",
    *,
    label: Label = TEAM,
    closed: bool = False,
    made_at: datetime = BEGINNING,
) -> Conversation:
    conversation = Conversation(
        id=ConversationId.mint(made_at, SeededEntropy(f"{title} {label} {project.id}")),
        project=project.id,
        title=title,
        label=label,
        closed=closed,
        made_by=caller.id,
        made_at=made_at,
        active_at=made_at,
    )
    await doors.conversations.add(caller, conversation)
    return conversation


def message_id(name: str) -> MessageId:
    return MessageId.mint(BEGINNING, SeededEntropy(f"message {name}"))


async def say(
    doors: Doors,
    caller: Principal,
    conversation: Conversation,
    body: str = "Hello.",
    *,
    label: Label | None = None,
    minute: int = 1,
    name: str | None = None,
    untrusted: bool = False,
    message: NewMessage | None = None,
) -> Placed:
    """Named by its body, unless that is said twice."""
    said = message or NewMessage(conversation=conversation.id, body=body)
    stamp = Stamp(
        id=message_id(name or said.body),
        label=label or conversation.label,
        at=at(minute),
        untrusted=untrusted,
    )
    return await doors.messages.send(caller, said, stamp)


def to(
    conversation: Conversation,
    body: str,
    *,
    mentions: tuple[PrincipalId, ...] = (),
    addressed: tuple[PrincipalId, ...] = (),
    reply_to: MessageId | None = None,
    wanted: ReplyRequest | None = None,
    key: str | None = None,
) -> NewMessage:
    return NewMessage(
        conversation=conversation.id,
        body=body,
        mentions=mentions,
        addressed=addressed,
        reply_to=reply_to,
        acknowledge=wanted,
        key=key,
    )


async def bodies(doors: Doors, caller: Principal, conversation: Conversation) -> list[str]:
    stretch = await doors.messages.after(caller, conversation.id, after=0, limit=100)
    return [placed.message.body for placed in stretch.found]


def edited(message: Message, body: str, label: Label | None = None) -> Message:
    return replace(message, body=body, label=label or message.label)
