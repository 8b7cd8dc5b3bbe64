"""What there is on the bridge as objects for programs: with names of people in place of ids, and
without what is not so."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from portico.bridge.core.attachments import Attachment
from portico.bridge.core.conversations import Conversation, Participant
from portico.bridge.core.leases import Lease, Waiting
from portico.bridge.core.memory import Remembered
from portico.bridge.core.messages import Message
from portico.bridge.core.presence import Presence
from portico.bridge.core.projects import Project
from portico.bridge.core.read_state import Inbox
from portico.bridge.core.work_items import Work
from portico.bridge.presence import Self_
from portico.interfaces.mcp.told import Facts
from portico.kernel.ids import PrincipalId
from portico.kernel.json import JsonValue


def self_facts(me: Self_) -> Facts:
    return {
        "name": me.name,
        "kind": me.kind.value,
        "clearance": str(me.clearance),
        "read": str(me.mark),
        "untrusted": me.untrusted,
        "scopes": sorted(scope for scope in me.scopes if scope.startswith("bridge:")),
    }


def project_facts(project: Project) -> Facts:
    return _so(
        {
            "id": str(project.id),
            "name": project.name,
            "description": project.description,
            "label": str(project.label),
            "archived": project.archived_at is not None,
            "active_at": _time(project.active_at),
        }
    )


def conversation_facts(conversation: Conversation) -> Facts:
    return _so(
        {
            "id": str(conversation.id),
            "project": str(conversation.project),
            "title": conversation.title,
            "label": str(conversation.label),
            "closed": conversation.closed,
            "archived": conversation.archived_at is not None,
            "active_at": _time(conversation.active_at),
        }
    )


def participant_facts(participant: Participant) -> Facts:
    return _so(
        {
            "name": participant.name,
            "joined_at": _time(participant.joined_at),
            "muted": participant.muted,
        }
    )


def message_facts(message: Message, reader: PrincipalId) -> Facts:
    wanted = message.acknowledge
    return _so(
        {
            "id": str(message.id),
            "conversation": str(message.conversation),
            "sender": message.sender_name,
            "yours": message.sender == reader,
            "label": str(message.label),
            "sent_at": _time(message.sent_at),
            "mentions_you": reader in message.mentions,
            "to_you": reader in message.addressed,
            "acknowledge": wanted is not None,
            "acknowledge_by": _time(None if wanted is None else wanted.until),
            "reply_to": _text(message.reply_to),
            "thread": _text(message.thread),
            "attachments": [*map(str, message.attachments)],
            "untrusted": message.untrusted,
            "edited": message.edited_at is not None,
            "deleted": message.deleted_at is not None,
            "body": message.body,
        }
    )


def messages_facts(messages: Sequence[Message], reader: PrincipalId) -> Sequence[Facts]:
    return [message_facts(message, reader) for message in messages]


def inbox_facts(inbox: Inbox, reader: PrincipalId) -> Facts:
    return {
        "total": inbox.total,
        "unread": [
            {
                "conversation": str(item.conversation.id),
                "title": item.conversation.title,
                "label": str(item.conversation.label),
                "count": item.count,
                "mentions": item.mentions,
            }
            for item in inbox.unread
        ],
        "overdue": messages_facts(inbox.overdue, reader),
    }


def memory_facts(memory: Remembered) -> Facts:
    return {
        **_so(
            {
                "key": memory.key,
                "label": str(memory.label),
                "version": memory.version,
                "expires_at": _time(memory.expires_at),
                "forgotten": memory.forgotten,
                "untrusted": memory.untrusted,
                "at": _time(memory.at),
            }
        ),
        "value": memory.value,
    }


def lease_facts(lease: Lease) -> Facts:
    return _so(
        {
            "id": str(lease.id),
            "resource": lease.resource,
            "holder": lease.holder_name,
            "token": lease.token,
            "expires_at": _time(lease.expires_at),
            "purpose": lease.purpose,
        }
    )


def waiting_facts(waiting: Waiting) -> Facts:
    return {"name": waiting.name, "resource": waiting.resource, "until": _time(waiting.until)}


def work_facts(work: Work) -> Facts:
    return _so(
        {
            "id": str(work.id),
            "title": work.title,
            "body": work.body,
            "label": str(work.label),
            "state": work.state.value,
            "depends": [*map(str, work.depends)],
            "held_up": work.held_up,
            "claimed_by": work.claimed_by_name,
            "token": work.token,
            "outcome": work.outcome,
            "untrusted": work.untrusted,
            "changed_at": _time(work.changed_at),
        }
    )


def presence_facts(presence: Presence) -> Facts:
    return _so({"name": presence.name, "doing": presence.doing.value, "note": presence.note})


def attachment_facts(attachment: Attachment) -> Facts:
    return _so(
        {
            "digest": str(attachment.digest),
            "name": attachment.name,
            "media_type": attachment.media_type,
            "size": attachment.size,
            "label": str(attachment.label),
            "untrusted": attachment.untrusted,
        }
    )


def _so(facts: Mapping[str, JsonValue]) -> Facts:
    """Without what is empty, or not so."""
    return {name: value for name, value in facts.items() if not _nothing(value)}


def _nothing(value: JsonValue) -> bool:
    return value is None or value is False or value in ("", [])


def _time(at: datetime | None) -> str | None:
    return None if at is None else at.isoformat(timespec="seconds")


def _text(value: object) -> str | None:
    return None if value is None else str(value)
