"""A message on its way into PostgreSQL: what goes along with it, and why it was not taken."""

from portico.adapters.postgres.bridge_rows import digest_of
from portico.adapters.postgres.bridge_walls import cleared
from portico.adapters.postgres.plain_text import storable, storable_or_none
from portico.adapters.postgres.rows import Row, as_label
from portico.bridge.core.errors import (
    AboveClearance,
    Archived,
    BelowContainer,
    ConversationNotFound,
    MessageNotFound,
    TooManyLabels,
)
from portico.bridge.core.messages import NewMessage
from portico.bridge.ports import Stamp
from portico.guard.core.errors import ContextNotFound
from portico.kernel.principal import Principal


def sent_with(caller: Principal, message: NewMessage, stamp: Stamp) -> dict[str, object]:
    """Nothing for an empty list: that is on its way sooner."""
    wanted = message.acknowledge
    return {
        **cleared(caller),
        "conversation": message.conversation.value,
        "message": stamp.id.value,
        "its_level": None if stamp.label is None else int(stamp.label.level),
        "its_compartments": None if stamp.label is None else sorted(stamp.label.compartments),
        "body": storable(message.body),
        "sender_name": storable(caller.name),
        "reply_to": None if message.reply_to is None else message.reply_to.value,
        "mentions": [who.value for who in (*message.mentions, *stamp.named)] or None,
        "addressed": [who.value for who in message.addressed] or None,
        "attachments": [str(digest) for digest in message.attachments] or None,
        "acknowledge": wanted is not None,
        "acknowledge_by": None if wanted is None else wanted.until,
        "untrusted": stamp.untrusted,
        "key": storable_or_none(message.key),
        "digest": digest_of(message),
        "at": stamp.at,
        "opened": caller.context is not None,
    }


def refusal(caller: Principal, message: NewMessage, row: Row) -> Exception:
    """But for what is less secret than what was read: for that it has to be looked how much."""
    match row["outcome"]:
        case "no_task":
            return ContextNotFound(str(caller.context))
        case "no_reply":
            return MessageNotFound(str(message.reply_to))
        case "archived":
            return Archived(str(message.conversation))
        case "above" | "below" | "no_label":
            return _of_its_label(caller, row)
        case _:
            return ConversationNotFound(str(message.conversation))


def _of_its_label(caller: Principal, row: Row) -> Exception:
    label = as_label(row["level"], row["compartments"])
    match row["outcome"]:
        case "above":
            return AboveClearance(label, caller.clearance)
        case "below":
            inside = as_label(row["inside_level"], row["inside_compartments"])
            return BelowContainer(label, inside)
        case _:
            return TooManyLabels(label)
