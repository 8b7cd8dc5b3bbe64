"""Audit entries of the bridge."""

from datetime import datetime

from portico.bridge.core.conversations import Conversation
from portico.bridge.core.messages import Message
from portico.guard.core.audit import AuditEntry
from portico.kernel.ids import Id, PrincipalId

# What is written down of acts on the bridge that somebody may have to answer for: names and ids,
# never what was said.


def about_archive(what: str, which: Id, archived_at: datetime | None) -> AuditEntry:
    """`what` is `project` or `conversation`."""
    done = "restored" if archived_at is None else "archived"
    return AuditEntry(action=f"{what}.{done}", subject=str(which))


def about_membership(done: str, conversation: Conversation, who: PrincipalId) -> AuditEntry:
    """Of a closed one; `done` is `joined` or `left`."""
    return AuditEntry(
        action=f"conversation.{done}", subject=str(conversation.id), details={"principal": str(who)}
    )


def about_deletion(message: Message) -> AuditEntry:
    """Of what somebody else has said."""
    return AuditEntry(
        action="message.deleted", subject=str(message.id), details={"sender": str(message.sender)}
    )
