"""What was foretold of a session, and from what."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from benchmarks.ahead_sessions import Session
from portico.learning.core.observed_calls import ReadRequest


class Words(StrEnum):
    """What the gateway sees of what the caller wants."""

    NONE = "none"
    SEARCHES = "searches"
    """What is looked for through it: an ability, and hardly ever a value."""
    INTENT = "intent"
    """The wish itself, as an agent of ours or a workflow by intent has it."""


@dataclass(frozen=True, slots=True)
class Foretold:
    wanted: ReadRequest
    name: str
    confidence: float
    """How likely it is thought to be used."""
    band: int
    """Of its edge: how sure it looked before anything was known of such ones."""
    live: bool


@dataclass(frozen=True, slots=True)
class Replayed:
    """What was foretold, by how many calls had been made by then."""

    session: Session
    foretold: Sequence[Sequence[Foretold]]
