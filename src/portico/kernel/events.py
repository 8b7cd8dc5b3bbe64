"""Something that happened, as a value; what is shown to people and machines are views of these."""

from dataclasses import dataclass, field
from datetime import datetime

from portico.kernel.ids import EventId, PrincipalId, SpaceId
from portico.kernel.json import JsonObject
from portico.kernel.label import PUBLIC, Label


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    id: EventId
    space: SpaceId
    stream: str
    type: str
    at: datetime
    by: PrincipalId | None = None
    label: Label = PUBLIC
    facts: JsonObject = field(default_factory=dict)
