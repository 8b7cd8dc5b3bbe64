"""What is new, and cursors into it."""

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from portico.bridge.core.conversations import ConversationId
from portico.engine.core.errors import InvalidCursor
from portico.engine.core.event_log import packed, unpacked
from portico.kernel.json import canonical
from portico.kernel.label import PUBLIC, Label
from portico.kernel.principal import Principal


@dataclass(frozen=True, slots=True)
class Activity:
    conversation: ConversationId
    label: Label
    """Of all that is new: whoever hears of it has read as much."""
    reset: bool = False
    """What its reader may see has changed: nothing comes any more, and whoever follows it again
    reads it from the first."""


def topic_of(conversation: ConversationId) -> str:
    """On the bus."""
    return f"bridge:{conversation}"


def resets(conversations: Sequence[ConversationId]) -> Sequence[Activity]:
    return [Activity(conversation, PUBLIC, reset=True) for conversation in conversations]


MOST_CONVERSATIONS: Final = 16
_SEEN: Final = 16
"""Bytes that tell one clearance from another."""

Places = Mapping[ConversationId, int]
"""The place of the last message that the reader was shown of each; 0 if none."""


class Direction(StrEnum):
    """A cursor that leads on does not lead back."""

    ON = "bridge"
    BACK = "bridge back"


@dataclass(frozen=True, slots=True)
class ReadPosition:
    places: Places
    reset: bool = False
    """The cursor is of somebody who could see more, or less: they begin anew."""


def content_of(places: Places, visible: Label) -> bytes:
    """Always as long for as many conversations: a length that grew would tell of what is hidden."""
    return packed({str(each): place for each, place in places.items()}) + _digest(visible)


def standing_of(
    conversations: Collection[ConversationId], visible: Label, content: bytes
) -> ReadPosition:
    """Raises `InvalidCursor`."""
    if len(content) < _SEEN:
        raise InvalidCursor
    places = unpacked([str(each) for each in conversations], content[:-_SEEN])
    if content[-_SEEN:] != _digest(visible):
        return ReadPosition(dict.fromkeys(conversations, 0), reset=True)
    return ReadPosition({each: places[str(each)] for each in conversations})


def good_for(
    caller: Principal, conversations: Collection[ConversationId], direction: Direction
) -> bytes:
    """This reader and exactly these conversations: elsewhere it opens nothing."""
    names = sorted(str(each) for each in conversations)
    whole = canonical([str(caller.space), str(caller.id), str(direction), *names])
    return hashlib.sha256(whole).digest()


def _digest(visible: Label) -> bytes:
    return hashlib.sha256(str(visible).encode()).digest()[:_SEEN]
