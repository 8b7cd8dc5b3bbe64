"""A project as lines."""

from datetime import UTC, datetime

from portico.bridge.core.conversations import Conversation
from portico.bridge.core.memory import MemoryEntry
from portico.bridge.core.messages import Message
from portico.bridge.core.projects import Project
from portico.bridge.core.work_items import WorkItem
from portico.kernel.json import JsonObject


def project_line(project: Project) -> JsonObject:
    return {
        "type": "project",
        "id": str(project.id),
        "name": project.name,
        "description": project.description,
        "label": str(project.label),
        "made_by": str(project.made_by),
        "made_at": _moment(project.made_at),
        "archived_at": _moment(project.archived_at),
    }


def conversation_line(conversation: Conversation) -> JsonObject:
    return {
        "type": "conversation",
        "id": str(conversation.id),
        "project": str(conversation.project),
        "title": conversation.title,
        "label": str(conversation.label),
        "closed": conversation.closed,
        "made_by": str(conversation.made_by),
        "made_at": _moment(conversation.made_at),
        "archived_at": _moment(conversation.archived_at),
    }


def message_line(message: Message) -> JsonObject:
    wanted = message.acknowledge
    return {
        "type": "message",
        "id": str(message.id),
        "conversation": str(message.conversation),
        "sender": str(message.sender),
        "sender_name": message.sender_name,
        "body": message.body,
        "label": str(message.label),
        "reply_to": _text(message.reply_to),
        "thread": _text(message.thread),
        "mentions": [str(who) for who in message.mentions],
        "addressed": [str(who) for who in message.addressed],
        "attachments": [str(digest) for digest in message.attachments],
        "acknowledge": wanted is not None,
        "acknowledge_by": None if wanted is None else _moment(wanted.until),
        "untrusted": message.untrusted,
        "sent_at": _moment(message.sent_at),
        "edited_at": _moment(message.edited_at),
        "deleted_at": _moment(message.deleted_at),
    }


def memory_line(remembered: MemoryEntry) -> JsonObject:
    return {
        "type": "memory",
        "project": str(remembered.project),
        "key": remembered.key,
        "value": remembered.value,
        "label": str(remembered.label),
        "version": remembered.version,
        "untrusted": remembered.untrusted,
        "expires_at": _moment(remembered.expires_at),
        "by": str(remembered.by),
        "at": _moment(remembered.at),
    }


def work_line(work: WorkItem) -> JsonObject:
    return {
        "type": "work",
        "id": str(work.id),
        "project": str(work.project),
        "title": work.title,
        "body": work.body,
        "label": str(work.label),
        "state": str(work.state),
        "depends": [str(other) for other in work.depends],
        "held_up": work.held_up,
        "claimed_by": _text(work.claimed_by),
        "outcome": work.outcome,
        "untrusted": work.untrusted,
        "made_by": str(work.made_by),
        "made_at": _moment(work.made_at),
        "changed_at": _moment(work.changed_at),
    }


def _moment(at: datetime | None) -> str | None:
    return None if at is None else at.astimezone(UTC).isoformat()


def _text(value: object | None) -> str | None:
    return None if value is None else str(value)
