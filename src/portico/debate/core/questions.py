"""Questions of a debate, and its rules."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from enum import StrEnum
from typing import Final


class QuestionKind(StrEnum):
    CHOICE = "choice"
    """One of the choices that it names."""
    YES_NO = "yes_no"
    NUMBER = "number"
    TEXT = "text"
    """Something short that is right or wrong: a name, an id, a formula."""
    OPEN = "open"

    @property
    def closed(self) -> bool:
        return self is not QuestionKind.OPEN


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    text: str
    kind: QuestionKind
    choices: tuple[str, ...] = ()
    topic: str = "general"
    """What track records are kept by, beside the voice."""
    material: str = ""
    """What it is about, read by every voice: notes of the project, a diff, a log."""


_YES_NO: Final = re.compile(
    r"^(is|are|was|were|do|does|did|can|could|should|shall|will|would|has|have|may|must)\b",
    re.IGNORECASE,
)
_NUMBER: Final = re.compile(
    r"\b(how (many|much|long|old|far|tall|often)|what (number|percentage|percent|year)"
    r"|calculate|compute)\b",
    re.IGNORECASE,
)
_ASKED_FOR: Final = re.compile(
    r"^(can|could|would|will) you (please |kindly |also |briefly )*"
    r"(explain|describe|list|tell|show|give|name|outline|summari[sz]e|draft|compare|elaborate"
    r"|sketch|walk (me|us)|write(?! (to|into|in|on)\b))\b",
    re.IGNORECASE,
)
"""A wish in the shape of a question."""
_OR: Final = re.compile(r"\bor\b", re.IGNORECASE)


def kind_of(text: str, choices: Sequence[str] = ()) -> QuestionKind:
    """By its words: what looks like none of the closed kinds is open, which asks for a text."""
    if choices:
        return QuestionKind.CHOICE
    said = text.strip()
    if _NUMBER.search(said):
        return QuestionKind.NUMBER
    asks = _YES_NO.match(said) and not _ASKED_FOR.match(" ".join(said.split()))
    if asks and said.endswith("?") and not _OR.search(said):
        return QuestionKind.YES_NO
    return QuestionKind.OPEN


class Preset(StrEnum):
    VOTE = "vote"
    """Blind answers, weighed; no critique."""
    DEBATE = "debate"
    """As `vote`, and one critique round if it is still split."""
    QUORUM = "quorum"
    """For what must not go wrong: two thirds of the registered weight, two families, vetoes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What a preset and a thoroughness come to; `rules_of` makes them."""

    preset: Preset
    thoroughness: float
    """0 to 1."""
    first: int = 2
    """Voices that are asked at once, blindly, at the beginning."""
    voices_most: int
    rounds: int
    """1, or 2 with a critique round."""
    stop_at: float
    """The probability of an answer from which on nobody else is asked."""
    decide_at: float
    """The probability below which nothing is decided."""
    judge_pairs: int
    """Of open answers that are compared, each in both orders."""
    quorum_share: float = 2 / 3
    quorum_families: int = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Cap:
    """What may be spent; None is no limit. It is never passed."""

    tokens: int | None = None
    money: Decimal | None = None


EVERYBODY: Final = 99
"""Of a quorum: whoever is counted may be asked."""
MOST_USUAL: Final = 9
"""Voices of a debate that names none: liars are outvoted in teams of up to so many."""
USUAL_DEADLINE: Final = timedelta(minutes=5)


def rules_of(preset: Preset, thoroughness: float) -> Rules:
    """Thoroughness sets thresholds, voices and rounds."""
    if not 0 <= thoroughness <= 1:
        raise ValueError(thoroughness)
    quorum = preset is Preset.QUORUM
    return Rules(
        preset=preset,
        thoroughness=thoroughness,
        voices_most=3 + round(6 * thoroughness) if not quorum else EVERYBODY,
        rounds=2 if preset is Preset.DEBATE and thoroughness >= 0.3 else 1,
        stop_at=0.80 + 0.18 * thoroughness,
        decide_at=0.5 if not quorum else 2 / 3,
        judge_pairs=1 + round(5 * thoroughness),
    )
