"""The event log: entries, cursors, the ring of the latest."""

import hashlib
from collections import deque
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from typing import Final

from portico.engine.core.errors import InvalidCursor
from portico.kernel.ids import EventId, PrincipalId, SpaceId
from portico.kernel.json import JsonObject, canonical
from portico.kernel.label import PUBLIC, Label


@dataclass(frozen=True, slots=True, kw_only=True)
class NewEntry:
    """What is to be appended. The first entry opens its topic, which then keeps the label of it,
    `topic_label`; an entry may be more secret than its topic and never less."""

    topic: str
    type: str
    details: JsonObject = field(default_factory=dict)
    topic_label: Label = PUBLIC
    label: Label = PUBLIC


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """`number` counts every entry of the topic, hidden ones too: it is never shown to a reader."""

    topic: str
    number: int
    id: EventId
    type: str
    at: datetime
    by: PrincipalId | None
    label: Label
    details: JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class EphemeralEvent:
    """Said to whoever listens at the moment, and not kept."""

    topic: str
    type: str
    at: datetime
    by: PrincipalId | None
    label: Label
    details: JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """What a reader may see after where it stood, and where it stands now.

    `position` has passed hidden entries too, so it is ours alone; it is before where the reader
    stood if the topic was removed and has begun anew. `more` says that asking again at once gives
    more.
    """

    entries: Sequence[Entry]
    position: int
    first: int = 1
    """The number of the oldest entry that is kept."""
    more: bool = False


Positions = Mapping[str, int]
"""The number of the last entry that the reader was shown of each topic; 0 if none."""

_WIDTH: Final = 8
"""Always the same: a length that grew with the number would tell of hidden entries."""


def packed(positions: Positions) -> bytes:
    return b"".join(positions[topic].to_bytes(_WIDTH) for topic in sorted(positions))


def unpacked(topics: Collection[str], content: bytes) -> dict[str, int]:
    """Raises `InvalidCursor`."""
    if len(content) != _WIDTH * len(topics):
        raise InvalidCursor
    return {
        topic: int.from_bytes(content[place : place + _WIDTH])
        for topic, place in zip(sorted(topics), range(0, len(content), _WIDTH), strict=True)
    }


def bound_to(space: SpaceId, topics: Collection[str]) -> bytes:
    """This space and exactly these topics: elsewhere the cursor opens nothing."""
    return hashlib.sha256(canonical([str(space), *sorted(topics)])).digest()


# The newest part of a topic, kept for those who follow it; what falls out is still in the log.

_STRETCH: Final = 64_000
"""Bytes that are handed out at a time, so that a send is neither tiny nor endless."""


@dataclass(frozen=True, slots=True)
class EncodedEvent:
    """Something told, in the bytes in which it is sent.

    Whoever has it has seen the topic up to `position`. `type` is None for what is no entry.
    """

    position: int
    type: str | None
    marked: bytes
    """As it is sent to those who read nothing but this topic."""
    mark: int = 0
    """How much of that says where its reader then stands."""

    @property
    def told(self) -> bytes:
        return self.marked[self.mark :]


@dataclass(frozen=True, slots=True)
class EventBatch:
    """Pieces that follow one another. `marked` is made once for all who read them together."""

    pieces: Sequence[EncodedEvent]
    marked: bytes
    end: int


class Ring:
    """Everything after `floor` and up to `position` that its readers may see.

    Places count what was ever put in; a reader who stands at one that has fallen out goes back
    to the log.
    """

    def __init__(self, position: int, *, most: int = 1024, most_bytes: int = 256_000) -> None:
        self.floor = position
        self.position = position
        self._most = most
        self._most_bytes = most_bytes
        self._pieces: deque[EncodedEvent] = deque()
        self._bytes = 0
        self._start = 0
        self._stretches: dict[int, EventBatch] = {}

    @property
    def end(self) -> int:
        return self._start + len(self._pieces)

    def add(self, piece: EncodedEvent) -> None:
        self._pieces.append(piece)
        self._bytes += len(piece.marked)
        self.position = max(self.position, piece.position)
        self._stretches.clear()
        while len(self._pieces) > self._most or self._bytes > self._most_bytes:
            self._drop()

    def pass_over(self, position: int) -> None:
        """Up to there is nothing more that these readers may see."""
        self.position = max(self.position, position)

    def offset_at(self, position: int) -> int | None:
        """From where a reader goes on who has seen the topic up to `position`.

        None if that is not between the floor and the end: it has to read the log, or to wait.
        """
        if not self.floor <= position <= self.position:
            return None
        place = self.end
        for piece in reversed(self._pieces):
            if piece.position < position or (piece.type and piece.position == position):
                break
            place -= 1
        return place

    def holds(self, place: int) -> bool:
        return place >= self._start

    def since(self, place: int) -> EventBatch:
        found = self._stretches.get(place)
        if found is None:
            found = self._stretches[place] = self._gather(place)
        return found

    def _gather(self, place: int) -> EventBatch:
        pieces: list[EncodedEvent] = []
        size = 0
        for piece in islice(self._pieces, place - self._start, None):
            pieces.append(piece)
            size += len(piece.marked)
            if size >= _STRETCH:
                break
        return EventBatch(pieces, b"".join(piece.marked for piece in pieces), place + len(pieces))

    def _drop(self) -> None:
        piece = self._pieces.popleft()
        self._start += 1
        self._bytes -= len(piece.marked)
        if piece.type:
            self.floor = piece.position
