"""That there is something new: not what, nor how much, nor of whom."""

from collections.abc import Sequence
from dataclasses import dataclass

from portico.bridge.core.conversation import ConversationId
from portico.kernel.label import PUBLIC, Label


@dataclass(frozen=True, slots=True)
class News:
    conversation: ConversationId
    label: Label
    """Of all that is new: whoever hears of it has read as much."""
    reset: bool = False
    """What its reader may see has changed: nothing comes any more, and whoever follows it again
    reads it from the first."""


def topic_of(conversation: ConversationId) -> str:
    """On the bus."""
    return f"bridge:{conversation}"


def resets(conversations: Sequence[ConversationId]) -> Sequence[News]:
    return [News(conversation, PUBLIC, reset=True) for conversation in conversations]
