"""What somebody may say, and ask for: every flaw is told, at once."""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Final

from portico.bridge.core.conversation import ConversationId
from portico.bridge.core.cursor import MOST_CONVERSATIONS
from portico.bridge.core.message import (
    MOST_ATTACHMENTS,
    MOST_LETTERS,
    MOST_MENTIONS,
    NewMessage,
)
from portico.bridge.core.spelling import flaws_of_line, flaws_of_text
from portico.kernel.errors import Flaw
from portico.kernel.ids import PrincipalId

MOST_LETTERS_OF_A_KEY: Final = 200
MOST_AT_ONCE: Final = 200
"""Things on a page."""
LONGEST_WAIT: Final = timedelta(seconds=60)


def flaws_of_message(message: NewMessage) -> Iterator[Flaw]:
    yield from flaws_of_body(message.body, empty=bool(message.attachments))
    yield from flaws_of_people("mentions", message.mentions)
    yield from flaws_of_people("addressed", message.addressed)
    if len(message.attachments) > MOST_ATTACHMENTS:
        yield Flaw("attachments", f"has {len(message.attachments)}; at most {MOST_ATTACHMENTS}")
    if message.key is not None:
        yield from flaws_of_line("key", message.key, most=MOST_LETTERS_OF_A_KEY)
    if message.acknowledge is not None and not message.addressed:
        yield Flaw("acknowledge", "needs somebody to whom the message is addressed")


def flaws_of_body(body: str, *, empty: bool = False) -> Sequence[Flaw]:
    """`empty`: nothing need be said, since something is attached to it."""
    if not empty and not body.strip():
        return [Flaw("body", "must not be empty unless something is attached")]
    return flaws_of_text("body", body, most=MOST_LETTERS)


def flaws_of_reading(
    conversations: Sequence[ConversationId], *, limit: int = 1, wait: timedelta | None = None
) -> Iterator[Flaw]:
    if not 1 <= len(conversations) <= MOST_CONVERSATIONS:
        yield Flaw("conversations", f"must be 1 to {MOST_CONVERSATIONS}")
    if len(set(conversations)) < len(conversations):
        yield Flaw("conversations", "must not be named twice")
    yield from flaws_of_limit(limit)
    if wait is not None and not timedelta(0) <= wait <= LONGEST_WAIT:
        yield Flaw("wait", f"must be 0 to {LONGEST_WAIT.seconds} seconds")


def flaws_of_people(field: str, people: Sequence[PrincipalId]) -> Iterator[Flaw]:
    if len(people) > MOST_MENTIONS:
        yield Flaw(field, f"has {len(people)}; at most {MOST_MENTIONS}")


def flaws_of_limit(limit: int) -> Iterator[Flaw]:
    if not 1 <= limit <= MOST_AT_ONCE:
        yield Flaw("limit", f"must be 1 to {MOST_AT_ONCE}")
