"""Scores of search: coverage, evidence, fusion, abstention."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from types import MappingProxyType
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from portico.gateway.core.search_text import Document, Lexicon, Stem, ToolText, server_text, words

# How much of what a tool is called a question speaks of, by the nearness of single words.
#
# A long question dilutes the vector of the whole, and a tool's name is short: asking which part of
# the *name* is met by any word of the question finds what both the vector and exact words miss.

Floats = NDArray[np.float32]

_LONGEST: Final = 8
"""Words of a name; what comes after them is not looked at."""


@dataclass(frozen=True, slots=True)
class NameCoverage:
    vectors: Floats
    """One column a word that any tool is called by."""
    places: NDArray[np.int64]
    """Which words each tool is called by: a row for the first of each, one for the second, and so
    on, which is three times as fast as a row a tool."""
    shares: Floats

    @classmethod
    def of(
        cls,
        names: Sequence[Sequence[str]],
        vocabulary: Sequence[str],
        vectors: Floats,
        rarity: Sequence[float],
    ) -> Self:
        """A rare word of a name counts more than a common one."""
        place = {word: number for number, word in enumerate(vocabulary)}
        columns = zip_longest(*([place[word] for word in name[:_LONGEST]] for name in names))
        rows = [[-1 if each is None else each for each in column] for column in columns]
        places = np.array(rows, np.int64).reshape(len(rows), len(names))
        amounts = np.append(np.array(rarity, np.float32), np.float32(0))[places]
        totals = amounts.sum(axis=0, keepdims=True)
        shares = np.asarray(amounts / np.where(totals > 0, totals, 1), np.float32)
        return cls(np.ascontiguousarray(vectors.T), np.maximum(places, 0), shares)

    def scores(self, words: Floats, groups: Sequence[Sequence[int]]) -> Floats:
        """One row a group of the question's words, one column a tool."""
        found = np.zeros((len(groups), self.places.shape[1]), np.float32)
        filled = [number for number, group in enumerate(groups) if group]
        if filled:
            nearness = np.maximum(words @ self.vectors, 0)
            best = np.stack([nearness[list(groups[number])].max(axis=0) for number in filled])
            found[filled] = self._met(best)
        return found

    def _met(self, best: Floats) -> Floats:
        met = np.zeros((len(best), self.places.shape[1]), np.float32)
        for places, shares in zip(self.places, self.shares, strict=True):
            part = best.take(places, axis=1, mode="clip")
            part *= shares
            met += part
        return met


LEXICAL: Final = "lexical"
STATIC: Final = "static"
ENCODER: Final = "encoder"
NAMES: Final = "names"

_WHOLE_BESIDE_STEPS: Final = 0.5
_SURE: Final = np.float32(1 - 1e-6)
_NEVER: Final = np.float32(1e-30)


@dataclass(frozen=True, slots=True)
class Weights:
    """Of the log-odds; learnt, so that what they sum to is comparable between questions."""

    of: Mapping[str, float]
    server: float = 0.2
    """In standard deviations of the sum: a nudge towards servers whose own text fits."""


def logits(evidence: Mapping[str, Floats], server: Floats | None, weights: Weights) -> Floats:
    """One row a text, one column a tool."""
    parts = [evidence[name] * np.float32(weight) for name, weight in weights.of.items()]
    found: Floats = np.sum(parts, axis=0)
    if server is None or found.shape[1] == 0:
        return found
    found += np.float32(weights.server) * found.std(axis=1, keepdims=True) * server
    return found


def log_softmax(rows: Floats) -> Floats:
    shifted: Floats = rows - rows.max(axis=1, keepdims=True)
    shifted -= np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return shifted


def any_of(log_probabilities: Floats) -> Floats:
    """The log-probability that a tool answers at least one of the rows."""
    none = np.log1p(-np.minimum(np.exp(log_probabilities), _SURE)).sum(axis=0)
    return np.asarray(np.log(-np.expm1(none) + _NEVER), np.float32)


def scored(log_odds: Floats, *, steps: bool) -> Floats:
    """A log-probability a tool. The first row is the whole question, the others its parts: a tool
    is to fit the whole and one of the parts. Where parts were told apart by whoever asks, they
    say more than the whole does."""
    known = log_softmax(log_odds)
    if len(known) == 1:
        return known.reshape(-1)
    share = np.float32(_WHOLE_BESIDE_STEPS if steps else 1)
    both: Floats = share * known[:1] + any_of(known[1:])
    return log_softmax(both).reshape(-1)


def standardised(rows: Floats) -> Floats:
    spread = rows.std(axis=1, keepdims=True)
    centred: Floats = rows - rows.mean(axis=1, keepdims=True)
    return np.asarray(centred / np.where(spread > 1e-6, spread, 1), np.float32)


# When nothing fits. How high a score is depends on the catalogue, so each is measured by what it
# makes of requests that have nothing to do with it.

_STRANGERS_TURNED_AWAY: Final = 0.8
"""Of the background requests, the share that is to be told that nothing fits."""


@dataclass(frozen=True, slots=True)
class FitScores:
    """Of how well the best tool fits, one number a question each."""

    top: Floats
    """The log-odds of the best tool."""
    met: Floats
    """The share of the question's words that it has, rare ones counting more."""
    nearest: Floats
    """The cosine of the nearest tool, by the best model at hand."""

    @property
    def table(self) -> Floats:
        return np.stack([self.top, self.met, self.nearest], axis=1)


@dataclass(frozen=True, slots=True)
class Judgement:
    """How much each sign counts, in standard deviations of the background's."""

    top: float
    met: float
    nearest: float


@dataclass(frozen=True, slots=True)
class Calibration:
    usual: Floats
    spread: Floats
    judgement: Judgement
    threshold: float

    @classmethod
    def of(cls, background: FitScores, judgement: Judgement) -> Self:
        table = background.table
        spread = table.std(axis=0)
        usual, spread = table.mean(axis=0), np.where(spread > 1e-6, spread, 1).astype(np.float32)
        plain = cls(usual, spread, judgement, 0.0)
        threshold = np.quantile(plain.scores(background), _STRANGERS_TURNED_AWAY)
        return cls(usual, spread, judgement, float(threshold))

    def scores(self, signs: FitScores) -> Floats:
        """Above nought where a question fits better than strangers do."""
        weights = (self.judgement.top, self.judgement.met, self.judgement.nearest)
        standard: Floats = (signs.table - self.usual) / self.spread
        return standard @ np.asarray(weights, np.float32) - np.float32(self.threshold)


def confidence(score: float) -> float:
    """From 0 to 1; a half is where we begin to say that nothing fits."""
    return float(1 / (1 + np.exp(-np.clip(score, -30, 30))))


Judgements = Mapping[frozenset[str], Judgement]


@dataclass(frozen=True, slots=True)
class Evidence:
    rows: Mapping[str, Floats]
    server: Floats | None
    """How far a tool's server stands out, where servers say anything of themselves."""
    wanted: Floats
    """How much there is to be met in each text: the rarity of all of its words."""
    stretch: Mapping[str, float]
    """By model: what its cosines were multiplied with."""

    @property
    def models(self) -> frozenset[str]:
        return frozenset(self.rows) & {STATIC, ENCODER}

    @property
    def best_model(self) -> str | None:
        return next((model for model in (ENCODER, STATIC) if model in self.rows), None)

    def similarity(self, row: int, column: int) -> float:
        """The cosine, by the best model at hand; nought without one."""
        best = self.best_model
        return 0.0 if best is None else float(self.rows[best][row, column]) / self.stretch[best]

    def of_models(self, models: frozenset[str]) -> "Evidence":
        """As if the other models were not at hand."""
        missing = {STATIC, ENCODER} - models
        gone = missing | ({NAMES} if STATIC in missing else set())
        kept = {name: rows for name, rows in self.rows.items() if name not in gone}
        return replace(self, rows=kept)

    def among(self, tools: NDArray[np.int64]) -> "Evidence":
        """Of these tools only, as if there were no others."""
        kept = {name: rows[:, tools] for name, rows in self.rows.items()}
        server = None if self.server is None else self.server[:, tools]
        return replace(self, rows=kept, server=server)

    def fit_scores(self, log_odds: Floats) -> FitScores:
        top = log_odds.argmax(axis=1)
        words = self.rows[LEXICAL][np.arange(len(top)), top]
        return FitScores(
            top=log_odds.max(axis=1),
            met=words / np.maximum(self.wanted, 1),
            nearest=words * 0
            if self.best_model is None
            else self.rows[self.best_model].max(axis=1),
        )


# What was learnt from sets of questions and tools, by `just bench search --learnt`.
#
# One row for each choice of models at hand; UltraTool, whose licence is not clear, had no part in
# it.


@dataclass(frozen=True, slots=True)
class LearnedWeights:
    weights: Weights
    judgement: Judgement


Learning = Mapping[frozenset[str], LearnedWeights]

SHIPPED: Final[Learning] = MappingProxyType(
    {
        frozenset(): LearnedWeights(Weights({LEXICAL: 0.478}), Judgement(0.4804, 0.4793, 0.0)),
        frozenset({STATIC}): LearnedWeights(
            Weights({LEXICAL: 0.1844, STATIC: 11.8078, NAMES: 4.0316}),
            Judgement(0.7319, 0.3082, 0.0216),
        ),
        frozenset({ENCODER}): LearnedWeights(
            Weights({LEXICAL: 0.2421, ENCODER: 14.2818}), Judgement(0.6949, 0.0727, 0.2096)
        ),
        frozenset({STATIC, ENCODER}): LearnedWeights(
            Weights({LEXICAL: 0.1422, STATIC: 6.5118, ENCODER: 8.5066, NAMES: 3.4876}),
            Judgement(0.6988, 0.0296, 0.3635),
        ),
    }
)


@dataclass(frozen=True, slots=True)
class ServerTexts:
    names: tuple[str, ...]
    of_tool: NDArray[np.int64]
    """Which of the servers each tool is of."""
    lexicon: Lexicon
    vectors: Mapping[str, Floats]
    told: bool
    """Whether any of them says anything of itself."""

    @classmethod
    def of(cls, tools: Sequence[ToolText], vectors: Mapping[str, Floats], stem: Stem) -> Self:
        """`vectors` has a row for each of `server_texts`."""
        first = _first_tools(tools)
        place = {name: number for number, name in enumerate(first)}
        texts = [[stem(word) for word in words(server_text(tool))] for tool in first.values()]
        return cls(
            names=tuple(first),
            of_tool=np.array([place[tool.server] for tool in tools], np.int64),
            lexicon=Lexicon.of([Document.of([stems]) for stems in texts], [1.0]),
            vectors=vectors,
            told=len(first) > 1 and any(tool.about_server.strip() for tool in first.values()),
        )

    def scores(self, stems: Sequence[Sequence[str]], vectors: Mapping[str, Floats]) -> Floats:
        """One row a text, one column a *tool*: how far its server stands out from the others."""
        words = np.stack([self.lexicon.scores(each) for each in stems])
        near = [vectors[name] @ self.vectors[name].T for name in vectors if name in self.vectors]
        mean: Floats = np.mean([standardised(rows) for rows in (words, *near)], axis=0)
        return mean[:, self.of_tool]

    def best(self, probabilities: Floats, limit: int) -> list[str]:
        """By what their tools have together."""
        summed = np.bincount(self.of_tool, probabilities, minlength=len(self.names))
        order = np.argsort(-summed, kind="stable")[:limit]
        return [self.names[number] for number in order if summed[number] > 0]


def server_texts(tools: Sequence[ToolText]) -> list[str]:
    return [server_text(tool) for tool in _first_tools(tools).values()]


def _first_tools(tools: Sequence[ToolText]) -> Mapping[str, ToolText]:
    first: dict[str, ToolText] = {}
    for tool in tools:
        first.setdefault(tool.server, tool)
    return first
