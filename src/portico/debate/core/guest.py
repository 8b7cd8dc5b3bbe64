"""Guests: agents of others that join a debate over MCP with their own key."""

from dataclasses import dataclass
from datetime import datetime

from portico.kernel.ids import RunId
from portico.kernel.json import JsonObject
from portico.kernel.label import Label


@dataclass(frozen=True, slots=True, kw_only=True)
class Seat:
    voice: str
    question: str
    asked: str | None
    """The prompt that waits for an answer, if any."""
    key: str | None
    schema: JsonObject | None
    until: datetime
    label: Label
    run: RunId
    turn: int
    """Guests that have joined, and questions that they have answered, all together: what the run
    waits for next is named after it."""
    over: bool = False
    new: bool = False
    """Whether it was taken just now: what is asked there may come in a moment."""
    taken: bool = False
    """Whether an answer was given there just now, and counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GuestAnswer:
    answer: str
    rationale: str = ""
    evidence: tuple[str, ...] = ()
    confidence: float | None = None
    veto: str | None = None
    changed_because: str | None = None


def guests_topic(round_: int, turn: int) -> str:
    """What a run waits for that knows of so many joins and answers: the next one. Rounds have
    their own, since a run waits for each of its topics once."""
    return f"~guests:{round_}:{turn}"
