"""How a debate turned out, and what voices have to show for themselves."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from portico.debate.core.debate import DebateId
from portico.kernel.ids import PrincipalId


class Source(StrEnum):
    PERSON = "person"
    TEST = "test"
    CORRECTION = "correction"
    """A later one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The newest one of a debate counts."""

    debate: DebateId
    right: str | None
    """The key of the right answer; None if only that the decision was wrong is known."""
    shown: str | None = None
    """That answer in its plain form: what people are shown."""
    decided_right: bool
    source: Source
    note: str = ""
    by: PrincipalId
    at: datetime


@dataclass(frozen=True, slots=True)
class Ballot:
    """One answer in something that is over and known."""

    voice: str
    """Its record's name: the target, without persona or number."""
    key: str
    confidence: float | None
    round: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """A debate whose right answer is known: what weights are learnt from."""

    topic: str
    ballots: tuple[Ballot, ...]
    right: str | None
    """None: nobody who answered was right."""
    choices: int | None = None
    at: datetime
