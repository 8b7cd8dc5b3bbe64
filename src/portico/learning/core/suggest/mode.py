"""What becomes of a suggestion: shown, run ahead as far as it only reads, or nothing at all."""

from enum import StrEnum
from typing import Final

from portico.learning.core.suggest.suggested import Suggested

_TOO_LITTLE: Final = 0.1
"""Less than one in ten would be what is wanted."""


class Mode(StrEnum):
    EXPLICIT_REQUIRED = "explicit_required"
    """Say the plan, or more exactly what is wanted."""
    SUGGESTION = "suggestion"
    RAN_AHEAD = "ran_ahead"
    """And its first reads are under way."""


def mode_of(suggested: Suggested, threshold: float) -> Mode:
    if suggested.plan is None or suggested.confidence < _TOO_LITTLE:
        return Mode.EXPLICIT_REQUIRED
    sure = suggested.confidence >= threshold and bool(suggested.ready)
    return Mode.RAN_AHEAD if sure else Mode.SUGGESTION
