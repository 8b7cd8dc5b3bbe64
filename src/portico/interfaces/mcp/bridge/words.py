"""The same objects as a model reads them: a line each, and what others wrote set in below it."""

from collections.abc import Iterable, Sequence
from typing import Final

from portico.interfaces.mcp.told import Facts, lines, quoted
from portico.kernel.json import canonical

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
