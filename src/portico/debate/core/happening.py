"""What happens in a debate, as whoever follows it is told: one stream, for every face."""

from dataclasses import dataclass
from decimal import Decimal

from portico.debate.core.decision import Decision
from portico.kernel.label import PUBLIC, Label


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundBegan:
    round: int
    voices: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class VoiceAsked:
    voice: str
    round: int
    """0 where it is asked for something else than its answer: to judge, to plan, to write."""
    reserved_tokens: int
    why: str
    """In a sentence: why this one, now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VoiceSpoke:
    """A piece, while it speaks."""

    voice: str
    round: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class VoiceAnswered:
    voice: str
    round: int
    answer: str
    rationale: str
    confidence: float | None
    tokens: int
    money: Decimal
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class VoiceFailed:
    voice: str
    round: int
    code: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How it stands now: for confidence bars and the budget meter."""

    options: tuple[tuple[str, float], ...]
    """Answers and their probabilities, likeliest first."""
    spent_tokens: int
    reserved_tokens: int
    cap_tokens: int | None
    spent_money: Decimal
    cap_money: Decimal | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    what: str
    why: str
    saved_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GuestsWanted:
    seats: int
    """Still free."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartBegan:
    """Of an analysis: a debate of its own."""

    debate: str
    question: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DebateEnded:
    decision: Decision | None
    status: str
    tokens: int
    money: Decimal
    seconds: float


Happening = (
    RoundBegan
    | VoiceAsked
    | VoiceSpoke
    | VoiceAnswered
    | VoiceFailed
    | Standing
    | Skipped
    | GuestsWanted
    | PartBegan
    | DebateEnded
)


@dataclass(frozen=True, slots=True)
class Told:
    cursor: str
    happening: Happening
    label: Label = PUBLIC
    """How secret it is: whoever is told it has read that."""
