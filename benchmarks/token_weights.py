"""How much each token of the static table counts, learnt from questions and their right tools."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from benchmarks.minimise import Point, minimise

Floats = NDArray[np.float64]
Tokens = Callable[[str], Sequence[int]]

_RIDGE: Final = 0.01
"""Strong: of some thousands of tokens most are seen a few times."""
_STEPS: Final = 20
_START: Final = (12.0, 0.28)
"""What a cosine and a BM25 score count for at first; both are learnt beside the tokens."""


@dataclass(frozen=True, slots=True)
class Bags:
    """Texts as counted tokens: of which text, which token, what share of the text."""

    owners: NDArray[np.int64]
    tokens: NDArray[np.int64]
    shares: Floats
    count: int

    @classmethod
    def of(cls, texts: Sequence[str], tokens: Tokens) -> "Bags":
        found = [
            np.unique(np.asarray(tokens(text), np.int64), return_counts=True) for text in texts
        ]
        return cls(
            owners=np.repeat(np.arange(len(texts)), [len(each) for each, _ in found]),
            tokens=np.concatenate([each for each, _ in found]),
            shares=np.concatenate([counts / max(counts.sum(), 1) for _, counts in found]),
            count=len(texts),
        )

    def among(self, tokens: NDArray[np.int64]) -> "Bags":
        """The same, with each token known by its place among these."""
        return replace(self, tokens=np.searchsorted(tokens, self.tokens))

    def pooled(self, table: Floats) -> Floats:
        """One row a text."""
        rows = table[self.tokens] * self.shares[:, None]
        starts = np.searchsorted(self.owners, np.arange(self.count))
        padded = np.concatenate([rows, np.zeros((1, table.shape[1]))])
        summed: Floats = np.add.reduceat(padded, np.minimum(starts, len(rows)), axis=0)
        summed[np.bincount(self.owners, minlength=self.count) == 0] = 0
        return summed

    def per_token(self, slopes: Floats, table: Floats) -> Floats:
        """What a change of each token's weight would do, given what one of each row would."""
        parts = np.einsum("ij,ij->i", slopes[self.owners], table[self.tokens]) * self.shares
        return np.asarray(np.bincount(self.tokens, parts, minlength=len(table)), np.float64)


@dataclass(frozen=True, slots=True)
class Lesson:
    """One set: its questions, its tools, their BM25 scores, and which of them are right."""

    questions: Bags
    tools: Bags
    lexical: Floats
    gold: Floats

    @property
    def tokens(self) -> tuple[NDArray[np.int64], ...]:
        return self.questions.tokens, self.tools.tokens

    def among(self, tokens: NDArray[np.int64]) -> "Lesson":
        return replace(self, questions=self.questions.among(tokens), tools=self.tools.among(tokens))

    def loss(self, table: Floats, weights: Floats, scale: Floats) -> tuple[float, Floats, Floats]:
        """And its slopes, by token weight and by the two scales."""
        weighted = weights[:, None] * table
        asked, asked_length = _of_length_one(self.questions.pooled(weighted))
        tools, tools_length = _of_length_one(self.tools.pooled(weighted))
        near = asked @ tools.T
        value, slope = _against_the_others(scale[0] * near + scale[1] * self.lexical, self.gold)
        by_scale = np.array([(slope * near).sum(), (slope * self.lexical).sum()])
        of_asked = _before_length(scale[0] * slope @ tools, asked, asked_length)
        of_tools = _before_length(scale[0] * slope.T @ asked, tools, tools_length)
        by_token = self.questions.per_token(of_asked, table)
        return value, by_token + self.tools.per_token(of_tools, table), by_scale


def learn_token_weights(lessons: Sequence[Lesson], table: Floats) -> NDArray[np.float16]:
    """One a row of the table; 1 for a token that no lesson has."""
    seen = np.unique(np.concatenate([tokens for each in lessons for tokens in each.tokens]))
    known, fewer = table[seen], [lesson.among(seen) for lesson in lessons]

    def mean_loss(point: Point) -> tuple[float, Point]:
        weights, scale = np.exp(point[:-2]), np.exp(point[-2:])
        value, slope = _RIDGE * float(point[:-2] @ point[:-2]), np.zeros_like(point)
        slope[:-2] = 2 * _RIDGE * point[:-2]
        for lesson in fewer:
            loss, by_token, by_scale = lesson.loss(known, weights, scale)
            value += loss / len(lessons)
            slope[:-2] += by_token * weights / len(lessons)
            slope[-2:] += by_scale * scale / len(lessons)
        return value, slope

    start = np.concatenate([np.zeros(len(seen)), np.log(_START)])
    learnt = np.ones(len(table), np.float16)
    learnt[seen] = np.exp(minimise(mean_loss, start, _STEPS)[:-2])
    return learnt


def _against_the_others(log_odds: Floats, gold: Floats) -> tuple[float, Floats]:
    """Cross-entropy of each right tool against all the wrong ones, a question a row."""
    odds = np.exp(log_odds - log_odds.max(axis=1, keepdims=True))
    both = odds + (odds * (1 - gold)).sum(axis=1, keepdims=True) + 1e-300
    share = 1 / gold.sum(axis=1, keepdims=True) / len(gold)
    value = float((share * gold * (np.log(both) - np.log(odds + 1e-300))).sum())
    pull = (gold / both).sum(axis=1, keepdims=True)
    return value, share * (gold * (odds / both - 1) + (1 - gold) * odds * pull)


def _of_length_one(rows: Floats) -> tuple[Floats, Floats]:
    length = np.linalg.norm(rows, axis=1, keepdims=True) + 1e-9
    return rows / length, length


def _before_length(slopes: Floats, rows: Floats, length: Floats) -> Floats:
    across: Floats = slopes - rows * (slopes * rows).sum(axis=1, keepdims=True)
    return across / length
