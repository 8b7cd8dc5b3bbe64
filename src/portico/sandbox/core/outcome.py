"""How something that was run in a box has ended."""

from dataclasses import dataclass
from enum import StrEnum


class End(StrEnum):
    EXITED = "exited"
    """By itself, with a code."""
    KILLED = "killed"
    """By a signal that was not ours."""
    TOO_LONG = "too long"
    TOO_LOUD = "too loud"
    """It wrote more than it may."""
    TOO_LARGE = "too large"
    """Its processes together had more memory than they may."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    end: End
    code: int | None
    """Its exit code, or the negative number of the signal that ended it."""
    output: bytes
    errors: bytes
    """What it wrote on standard error; both together are never more than they may be."""
    seconds: float
