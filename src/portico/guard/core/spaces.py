"""A space: what one organisation or team has to itself."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from portico.kernel.ids import SpaceId
from portico.kernel.json import JsonObject

# A space: one tenant, with walls that nothing crosses.

HOME: Final = "home"


@dataclass(frozen=True, slots=True)
class Space:
    id: SpaceId
    name: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class ExportedRow:
    """One row of a space on its way out; what proves a key is never among its values."""

    table: str
    values: JsonObject
