"""Who is there: for as long as they say so."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from portico.kernel.ids import PrincipalId

GOOD_FOR: Final = timedelta(minutes=2)
MOST_LETTERS: Final = 200
"""Of a note."""


class PresenceStatus(StrEnum):
    THERE = "there"
    BUSY = "busy"
    AWAY = "away"


@dataclass(frozen=True, slots=True, kw_only=True)
class Presence:
    principal: PrincipalId
    name: str
    doing: PresenceStatus
    note: str = ""
    until: datetime
