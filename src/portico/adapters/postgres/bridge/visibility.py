"""What a caller of the bridge may see and write, by every statement, and its rows."""

import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final, LiteralString

from psycopg.errors import InsufficientPrivilege

from portico.adapters.postgres.mapping import Row, as_label, strip_nul
from portico.adapters.postgres.transaction import Transactions
from portico.bridge.core.attachments import Digest
from portico.bridge.core.conversations import Conversation, ConversationId
from portico.bridge.core.errors import WriteDown
from portico.bridge.core.messages import (
    Message,
    MessageId,
    MessageVersion,
    NewMessage,
    ReplyRequest,
)
from portico.bridge.core.projects import Project, ProjectId
from portico.bridge.ports import Entered, Placed, Stamp
from portico.guard.core.contexts import context_of
from portico.kernel.ids import PrincipalId
from portico.kernel.json import JsonObject, canonical
from portico.kernel.label import PUBLIC, Label, meet
from portico.kernel.principal import Principal

# The first wall of the bridge: every statement says what its caller may see. The second is in the
# tables, and knows nothing of this one.

CLEAR: Final[LiteralString] = "%(level)s::smallint, %(compartments)s::text[]"
"""What the functions of the database are told."""
WALL: Final[LiteralString] = f"{CLEAR}, %(everyone)s"
WHOLE: Final[LiteralString] = "%(whole_level)s::smallint, %(whole_compartments)s::text[]"
"""Without regard to how much of it they want to see now."""
_MARK: Final[LiteralString] = """
    SELECT level, compartments FROM portico.taint_context
     WHERE space_id = %(space)s AND context_id = %(context)s
"""


def first_wall(caller: Principal) -> tuple[Label, bool]:
    """The most secret that they may see, and whether also what is said in closed conversations
    without them: never. Proofs that the second wall stands alone put something else here."""
    return caller.clearance, False


def cleared(caller: Principal, max_label: Label | None = None) -> dict[str, object]:
    whole, everyone = first_wall(caller)
    label = whole if max_label is None else meet(whole, max_label)
    return {
        "space": caller.space.value,
        "principal": caller.id.value,
        "level": int(label.level),
        "compartments": sorted(label.compartments),
        "whole_level": int(whole.level),
        "whole_compartments": sorted(whole.compartments),
        "everyone": everyone,
    }


async def mark_of(transactions: Transactions, caller: Principal) -> Label:
    """What their task has read, for whoever has to be told why they may not write."""
    asked = {"space": caller.space.value, "context": context_of(caller).value}
    [rows] = await transactions.looked_up(caller, (_MARK, asked))
    return as_label(rows[0]["level"], rows[0]["compartments"]) if rows else PUBLIC


# Writes on the bridge that the database refuses by itself, told in the bridge's words.


@asynccontextmanager
async def no_write_down(
    transactions: Transactions, caller: Principal, label: Label
) -> AsyncIterator[None]:
    """Around a transaction that writes something as secret as `label`: their task may have read
    more since it was asked about. Raises `WriteDown`."""
    try:
        yield
    except InsufficientPrivilege as error:
        mark = await mark_of(transactions, caller)
        if label.covers(mark):
            raise
        raise WriteDown(label, mark) from error


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
    return Placed(message=message_from(row), position=row["seq"])


def message_from(row: Row) -> Message:
    wanted = ReplyRequest(until=row["acknowledge_by"]) if row["acknowledge"] else None
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
        sender_name=strip_nul(caller.name),
        body=strip_nul(message.body),
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
    return Entered(message=said, position=row["place"], inside=inside)


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
