"""What the bridge answers: objects for programs, and the same as text for a model."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final

from portico.bridge.core.attachments import Attachment
from portico.bridge.core.conversations import Conversation, Participant
from portico.bridge.core.leases import Lease, Waiting
from portico.bridge.core.memory import MemoryEntry
from portico.bridge.core.messages import Message
from portico.bridge.core.presence import Presence
from portico.bridge.core.projects import Project
from portico.bridge.core.read_state import Inbox
from portico.bridge.core.work_items import WorkItem
from portico.bridge.presence import Self_
from portico.interfaces.mcp.tool_values import Facts, lines, quoted
from portico.kernel.ids import PrincipalId
from portico.kernel.json import JsonValue, canonical

RAISED: Final = (
    "Its label was raised: you have read something as secret in this task. Those who are cleared "
    "for less do not see it."
)


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


def memory_facts(memory: MemoryEntry) -> Facts:
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


def work_facts(work: WorkItem) -> Facts:
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


_FLAGS: Final = {
    "archived": "archived",
    "closed": "members only",
    "muted": "muted",
    "yours": "yours",
    "mentions_you": "mentions you",
    "to_you": "to you",
    "untrusted": "untrusted",
    "held_up": "waits for other work",
    "edited": "edited",
    "deleted": "deleted",
    "forgotten": "forgotten",
}


def project_line(project: Facts) -> str:
    return _line(project, str(project["id"]), str(project["name"]))


def conversation_line(conversation: Facts) -> str:
    return _line(conversation, str(conversation["id"]), str(conversation["title"]))


def self_words(me: Facts) -> str:
    strangers = ", strangers' words among it" if me["untrusted"] else ""
    return (
        f"You are {me['name']} ({me['kind']}), cleared for {me['clearance']}. What you have read "
        f"is {me['read']}{strangers}: what you write is at least as secret."
    )


def inbox_words(inbox: Facts) -> str:
    unread = [
        f"{each['conversation']} {each['title']}: {each['count']} unread"
        + (f", {each['mentions']} for you" if each["mentions"] else "")
        for each in inbox["unread"]
    ]
    overdue = [*map(message_words, inbox["overdue"])]
    return lines(
        unread or "Nothing is unread.", "To be acknowledged by now:" if overdue else "", overdue
    )


def message_words(message: Facts, *, where: bool = False) -> str:
    more = [f"reply_to {message['reply_to']}"] if "reply_to" in message else []
    if "acknowledge" in message:
        until = f" by {message['acknowledge_by']}" if "acknowledge_by" in message else ""
        more.append(f"wants to be acknowledged{until}")
    if isinstance(attached := message.get("attachments"), Sequence):
        more.append(f"attachments {', '.join(map(str, attached))}")
    place = [f"in {message['conversation']}"] if where else []
    line = _line(
        message, str(message["id"]), str(message["sender"]), str(message["sent_at"]), *place
    )
    return lines("; ".join([line, *more]), quoted(str(message.get("body", ""))))


def messages_words(messages: Iterable[Facts], *, where: bool = False) -> str:
    """`where`: they are of several conversations."""
    return lines(message_words(message, where=where) for message in messages)


def memory_words(memory: Facts) -> str:
    line = _line(memory, str(memory["key"]), f"version {memory['version']}")
    return lines(line, quoted(canonical(memory["value"]).decode(errors="replace")))


def lease_line(lease: Facts) -> str:
    told = f"{lease['id']} {lease['resource']}: {lease['holder']} until {lease['expires_at']}"
    why = f", {lease['purpose']}" if "purpose" in lease else ""
    return f"{told}, token {lease['token']}{why}"


def waiting_line(waiting: Facts) -> str:
    return f"{waiting['name']} waits for {waiting['resource']}"


def work_words(work: Facts) -> str:
    whose = [f"{work['claimed_by']}"] if "claimed_by" in work else []
    if work["state"] == "claimed":
        whose.append(f"token {work['token']}")
    line = _line(work, str(work["id"]), str(work["state"]), *whose, str(work["title"]))
    return lines(line, *(quoted(str(work[part])) for part in ("body", "outcome") if part in work))


def presence_line(presence: Facts) -> str:
    note = f": {presence['note']}" if "note" in presence else ""
    return f"{presence['name']} is {presence['doing']}{note}"


def attachment_line(attachment: Facts) -> str:
    told = f"{attachment['name']} ({attachment['media_type']}, {attachment['size']} bytes)"
    return _line(attachment, str(attachment["digest"]), told)


def _line(about: Facts, *words: str) -> str:
    """With how secret it is, and what else is so."""
    flags = [told for name, told in _FLAGS.items() if about.get(name)]
    return f"{' '.join(words)} [{', '.join([str(about['label']), *flags])}]"
