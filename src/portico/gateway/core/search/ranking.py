"""The answer to a question: tools, best first, each with its reason, and whether any fits."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MatchedWord:
    word: str
    fields: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.word} ({', '.join(self.fields)})"


@dataclass(frozen=True, slots=True)
class Why:
    words: tuple[MatchedWord, ...]
    similarity: float
    """The cosine of the tool and the question, by the best model at hand; 0 without one."""
    lexical_share: float
    """Of what speaks for it, how much is words in common; the rest is nearness in meaning."""
    answers: str
    """The step or clause that it answers best; the whole question if there is but one."""

    def __str__(self) -> str:
        told = [str(each) for each in self.words[:4]]
        if self.similarity > 0:
            told.append(f"meaning {self.similarity:.2f}")
        return ", ".join(told) or "nothing in common"


@dataclass(frozen=True, slots=True)
class Hit:
    ref: str
    score: float
    """A log-probability: comes with its question, not to be compared between questions."""
    probability: float
    why: Why


@dataclass(frozen=True, slots=True)
class Ranking:
    hits: Sequence[Hit]
    fits: bool
    confidence: float
    """From 0 to 1 that anything here fits; below a half `fits` is false."""
    servers: Sequence[str]
    """Those whose tools come into question most, best first."""
