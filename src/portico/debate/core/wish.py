"""What somebody wants to have debated, analysed, marked or decided again."""

from dataclasses import dataclass, field, replace
from datetime import timedelta
from decimal import Decimal
from typing import Final, Self

from portico.debate.core.decision import Decision
from portico.debate.core.outcome import Source
from portico.debate.core.question import QuestionKind
from portico.debate.core.rules import USUAL_DEADLINE, Cap, Preset
from portico.kernel.label import Label

USUAL_TOKENS: Final = 100_000
NOBODY: Final = ("none",)
"""In the place of voices: guests alone are heard."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DebateWish:
    question: str
    kind: QuestionKind | None = None
    """None: by its words."""
    choices: tuple[str, ...] = ()
    topic: str = "general"
    voices: tuple[str, ...] = ()
    """Their targets, as `Voices.named` takes them; left empty, those of the settings; `NOBODY`."""
    roles: tuple[str, ...] = ()
    """Personas in place of the voices' own: each is dealt to the next voice; `a+b` are merged; and
    `openai:gpt-5=critic` is for that voice."""
    preset: Preset | None = None
    """None: by the kind of the question."""
    thoroughness: float | None = None
    """0 to 1; None: that of the settings."""
    cap: Cap | None = None
    """None: that of the settings."""
    deadline: timedelta | None = None
    guests: int = 0
    project: str | None = None
    memory: tuple[str, ...] = ()
    """Keys of the project's memory, read by every voice."""
    material: str = ""
    label: Label | None = None
    """How secret the question is, if it is more than what the caller's task has read."""
    shared: bool = False
    """With its project, from the beginning."""
    unbounded: bool = False
    key: str | None = None
    """The same key, the same debate."""
    analyze: bool = False
    """Cut into sub-questions first, each debated."""
    parts_most: int = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Usual:
    """What holds where nothing else is wished."""

    voices: tuple[str, ...] = ()
    """Their targets; none: whoever is there."""
    cap: Cap = field(default_factory=lambda: Cap(tokens=USUAL_TOKENS))
    deadline: timedelta = USUAL_DEADLINE
    thoroughness: float = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class VoiceEstimate:
    voice: str
    calls: int
    """At most."""
    tokens: int
    money: Decimal
    bounded: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """Before anything is spent. `most` is never passed; `likely` is what it usually comes to."""

    voices: tuple[VoiceEstimate, ...]
    most_tokens: int
    most_money: Decimal
    most_calls: int
    likely_tokens: int
    likely_calls: int
    seconds: int
    """The deadline."""
    preset: Preset
    kind: QuestionKind
    notes: tuple[str, ...] = ()
    """What it could not afford, or had to guess, in sentences."""
    fits: bool = True
    """Whether its first pair fits into its cap."""

    def within(self, cap: Cap) -> Self:
        """At most what its cap lets through, where it can begin at all."""
        if not self.fits:
            return self
        tokens = self.most_tokens if cap.tokens is None else min(self.most_tokens, cap.tokens)
        return replace(
            self,
            most_tokens=tokens,
            likely_tokens=min(self.likely_tokens, tokens),
            most_money=self.most_money if cap.money is None else min(self.most_money, cap.money),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeWish:
    right: bool | None = None
    """Whether the decision was right; None where `answer` says what would have been."""
    answer: str | None = None
    source: Source = Source.PERSON
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayWish:
    preset: Preset | None = None
    thoroughness: float | None = None
    without: tuple[str, ...] = ()
    """Voices as if they had not been there."""
    rounds: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    was: Decision | None
    now: Decision
    calls: int
    """That these rules would have used, of those that were made."""
    calls_made: int
    tokens: int
    tokens_spent: int
    notes: tuple[str, ...] = ()
    """What these rules would have asked that nobody answered then."""
