"""An entry of the event log, and where a reader stands in it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from portico.kernel.ids import EventId, PrincipalId
from portico.kernel.json import JsonObject
from portico.kernel.label import PUBLIC, Label


@dataclass(frozen=True, slots=True, kw_only=True)
class NewEntry:
    """What is to be appended. The first entry opens its topic, which then keeps the label of it,
    `topic_label`; an entry may be more secret than its topic and never less."""

    topic: str
    type: str
    facts: JsonObject = field(default_factory=dict)
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
    facts: JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Aside:
    """Said to whoever listens at the moment, and not kept."""

    topic: str
    type: str
    at: datetime
    by: PrincipalId | None
    label: Label
    facts: JsonObject


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
