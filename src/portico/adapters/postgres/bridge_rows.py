"""From rows to what is said on the bridge."""

import hashlib

from portico.adapters.postgres.plain_text import storable
from portico.adapters.postgres.rows import Row, as_label
from portico.bridge.core.attachments import Digest
from portico.bridge.core.conversations import Conversation, ConversationId
from portico.bridge.core.messages import Message, MessageId, MessageVersion, NewMessage, Wanted
from portico.bridge.core.projects import Project, ProjectId
from portico.bridge.ports import Entered, Placed, Stamp
from portico.kernel.ids import PrincipalId
from portico.kernel.json import JsonObject, canonical
from portico.kernel.principal import Principal


def project_from(row: Row) -> Project:
    return Project(
        id=ProjectId(row["project_id"]),
        name=row["name"],
        description=row["description"],
        label=as_label(row["level"], row["compartments"]),
        made_by=PrincipalId(row["made_by"]),
        made_at=row["made_at"],
        archived_at=row["archived_at"],
        active_at=row["active_at"],
    )


def conversation_from(row: Row) -> Conversation:
    return Conversation(
        id=ConversationId(row["conversation_id"]),
        project=ProjectId(row["project_id"]),
        title=row["title"],
        label=as_label(row["level"], row["compartments"]),
        closed=row["closed"],
        made_by=PrincipalId(row["made_by"]),
        made_at=row["made_at"],
        archived_at=row["archived_at"],
        active_at=row["active_at"],
    )


def placed_from(row: Row) -> Placed:
    return Placed(message=message_from(row), place=row["seq"])


def message_from(row: Row) -> Message:
    wanted = Wanted(until=row["acknowledge_by"]) if row["acknowledge"] else None
    return Message(
        id=MessageId(row["message_id"]),
        conversation=ConversationId(row["conversation_id"]),
        sender=PrincipalId(row["sender"]),
        sender_name=row["sender_name"],
        body=row["body"],
        label=as_label(row["level"], row["compartments"]),
        reply_to=None if row["reply_to"] is None else MessageId(row["reply_to"]),
        thread=None if row["thread"] is None else MessageId(row["thread"]),
        mentions=tuple(PrincipalId(who) for who in row["mentions"]),
        addressed=tuple(PrincipalId(who) for who in row["addressed"]),
        attachments=tuple(map(Digest, row["attachments"])),
        acknowledge=wanted,
        untrusted=row["untrusted"],
        sent_at=row["sent_at"],
        edited_at=row["edited_at"],
        deleted_at=row["deleted_at"],
    )


def entered_from(caller: Principal, message: NewMessage, stamp: Stamp, row: Row) -> Entered:
    """One that was sent just now, as its row would tell it."""
    said = Message(
        id=stamp.id,
        conversation=message.conversation,
        sender=caller.id,
        sender_name=storable(caller.name),
        body=storable(message.body),
        label=as_label(row["level"], row["compartments"]),
        reply_to=message.reply_to,
        thread=None if row["thread"] is None else MessageId(row["thread"]),
        mentions=(*message.mentions, *stamp.named),
        addressed=message.addressed,
        attachments=message.attachments,
        acknowledge=message.acknowledge,
        untrusted=row["untrusted"],
        sent_at=stamp.at,
    )
    inside = as_label(row["inside_level"], row["inside_compartments"])
    return Entered(message=said, place=row["place"], inside=inside)


def version_from(row: Row) -> MessageVersion:
    return MessageVersion(
        number=row["number"],
        body=row["body"],
        label=as_label(row["level"], row["compartments"]),
        by=PrincipalId(row["changed_by"]),
        at=row["changed_at"],
    )


def digest_of(message: NewMessage) -> bytes:
    """Of what its sender wants, as they said it: the same key again must want the same."""
    until = None if message.acknowledge is None else message.acknowledge.until
    told: JsonObject = {
        "conversation": str(message.conversation),
        "body": message.body.encode(errors="replace").decode(),
        "label": None if message.label is None else str(message.label),
        "reply_to": None if message.reply_to is None else str(message.reply_to),
        "mentions": [str(who) for who in message.mentions],
        "addressed": [str(who) for who in message.addressed],
        "attachments": [str(digest) for digest in message.attachments],
        "acknowledge": message.acknowledge is not None,
        "until": None if until is None else until.isoformat(),
    }
    return hashlib.sha256(canonical(told)).digest()
