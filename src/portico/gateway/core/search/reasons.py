"""Why a tool was found: the words in common, where they stand, and how near it is in meaning."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from portico.gateway.core.search.evidence import Evidence
from portico.gateway.core.search.fusion import LEXICAL, Weights
from portico.gateway.core.search.lexical import Document, Stem
from portico.gateway.core.search.question import Question
from portico.gateway.core.search.ranking import MatchedWord, Why
from portico.gateway.core.search.text import FIELDS

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Reasons:
    question: Question
    evidence: Evidence
    weights: Weights
    log_odds: Floats
    stems: Sequence[Mapping[str, str]]
    """For each text of the question: its stems, each with the word that it is of."""

    @classmethod
    def of(
        cls,
        question: Question,
        evidence: Evidence,
        weights: Weights,
        log_odds: Floats,
        stem: Stem,
    ) -> Self:
        stems = [_first_words(told, stem) for told in question.told]
        return cls(question, evidence, weights, log_odds, stems)

    def why(self, column: int, document: Document) -> Why:
        part = self._best_part(column)
        asked = part if self.question.steps else 0
        return Why(
            words=self._matched(asked, document),
            similarity=self.evidence.similarity(asked, column),
            lexical_share=self._lexical_share(asked, column),
            answers=self.question.texts[part],
        )

    def _best_part(self, column: int) -> int:
        """The whole is no part where there are others."""
        first = min(1, len(self.question.texts) - 1)
        return first + int(self.log_odds[first:, column].argmax())

    def _lexical_share(self, row: int, column: int) -> float:
        parts = {
            name: max(float(self.evidence.rows[name][row, column]) * weight, 0.0)
            for name, weight in self.weights.of.items()
        }
        total = sum(parts.values())
        return parts[LEXICAL] / total if total else 0.0

    def _matched(self, row: int, document: Document) -> tuple[MatchedWord, ...]:
        words = self.stems[row]
        found = document.fields_with(words)
        return tuple(
            MatchedWord(word, tuple(FIELDS[field] for field in found[stem]))
            for stem, word in words.items()
            if stem in found
        )


def _first_words(told: Sequence[str], stem: Stem) -> Mapping[str, str]:
    found: dict[str, str] = {}
    for word in told:
        found.setdefault(stem(word), word)
    return found
