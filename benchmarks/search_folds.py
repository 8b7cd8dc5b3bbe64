"""Learn from the other sets, search the one that was left out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from benchmarks.listwise import learn_weights
from benchmarks.search_sets import Searched, others
from portico.bench.tool_sets import Gold
from portico.gateway.core.search import Question
from portico.gateway.core.search_scoring import (
    ENCODER,
    LEXICAL,
    NAMES,
    STATIC,
    Evidence,
    Weights,
    logits,
    scored,
)

Kind = tuple[str, ...]
"""Which evidence is used."""

BARE: Final[Kind] = (LEXICAL,)
DEFAULT: Final[Kind] = (LEXICAL, STATIC, NAMES)
ENCODED: Final[Kind] = (LEXICAL, ENCODER)
FULL: Final[Kind] = (LEXICAL, STATIC, ENCODER, NAMES)
SPIKE: Final[Kind] = (LEXICAL, STATIC)
SPIKE_ENCODED: Final[Kind] = (LEXICAL, STATIC, ENCODER)

BM25_ALONE: Final = Weights({LEXICAL: 1.0}, server=0.0)


def models_of(kind: Kind) -> frozenset[str]:
    return frozenset(kind) & {STATIC, ENCODER}


@dataclass(frozen=True, slots=True)
class Way:
    """Of searching a set."""

    weights: Weights
    whole_only: bool = False
    """Without taking a question apart."""

    def scores(self, evidence: Evidence, *, steps: bool) -> NDArray[np.float32]:
        known = evidence.of_models(models_of(tuple(self.weights.of)))
        log_odds = logits(known.rows, known.server, self.weights)
        return scored(log_odds[:1] if self.whole_only else log_odds, steps=steps)


@dataclass(frozen=True, slots=True)
class Places:
    """Where the right tools were found: a list a question."""

    questions: Sequence[Sequence[int]]
    steps: Sequence[Sequence[int]]


def learn(
    searched: Mapping[str, Searched], held_out: str, kinds: Sequence[Kind]
) -> Mapping[Kind, Weights]:
    """From all sets but one."""
    lessons = [searched[name].lessons(kinds) for name in others(held_out, list(searched))]
    found = [learn_weights([each[number] for each in lessons]) for number in range(len(kinds))]
    return {
        kind: Weights(dict(zip(kind, weights, strict=True)))
        for kind, weights in zip(kinds, found, strict=True)
    }


def search(searched: Searched, ways: Mapping[str, Way]) -> Mapping[str, Places]:
    questions = _places(searched, searched.prepared.questions, ways)
    steps = _places(searched, searched.prepared.steps, ways)
    return {name: Places(questions[name], steps[name]) for name in ways}


def _places(
    searched: Searched, asked: Sequence[Question], ways: Mapping[str, Way]
) -> Mapping[str, list[list[int]]]:
    found: dict[str, list[list[int]]] = {name: [] for name in ways}
    for question, gold in zip(asked, searched.prepared.tool_set.gold, strict=False):
        evidence = searched.evidence(question)
        for name, way in ways.items():
            found[name].append(found_at(way.scores(evidence, steps=question.steps), gold))
    return found


def found_at(scores: NDArray[np.float32], gold: Gold) -> list[int]:
    """The place of each thing that was to be found, from 0; ties in the order of the tools."""
    order = np.argsort(-scores, kind="stable")
    places = np.empty(len(order), np.int64)
    places[order] = np.arange(len(order))
    return [min(int(places[tool]) for tool in group) for group in gold]
