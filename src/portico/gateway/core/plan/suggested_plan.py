"""A plan that was suggested for what somebody wants."""

from dataclasses import dataclass
from typing import Final

from portico.kernel.ids import Id
from portico.kernel.json import JsonObject

LONGEST_INTENT: Final = 2_000
"""Characters."""


class SuggestionId(Id):
    __slots__ = ()
    prefix = "sug"


@dataclass(frozen=True, slots=True)
class AcceptedSuggestion:
    plan: JsonObject
    intent: str
