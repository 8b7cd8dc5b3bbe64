"""Questions that no tool of a set was made for: how well they are told from its own."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from benchmarks.minimise import Point, minimise
from benchmarks.search_folds import Kind, models_of
from benchmarks.search_sets import Searched
from portico.bench.ranking_figures import area_under_curve
from portico.gateway.core.search import Question
from portico.gateway.core.search_scoring import (
    Calibration,
    Evidence,
    FitScores,
    Judgement,
    LearnedWeights,
    Weights,
    logits,
)

Values = NDArray[np.float64]
Known = Mapping[Kind, Weights]

_EVEN: Final = Judgement(1.0, 1.0, 1.0)
_RIDGE: Final = 1e-3


@dataclass(frozen=True, slots=True)
class Verdicts:
    """Of one set, above nought where something fits."""

    own: Values
    strange: Values
    gold_removed: Values
    """Of its own questions, with their right tools taken away."""

    @property
    def auc(self) -> float:
        return area_under_curve(self.own, self.strange)

    @property
    def auc_gold_removed(self) -> float:
        return area_under_curve(self.own, self.gold_removed)

    @property
    def false_abstention(self) -> float:
        return float((self.own < 0).mean())

    @property
    def recall(self) -> float:
        return float((self.strange < 0).mean())

    @property
    def precision(self) -> float:
        """Were half of all questions strange."""
        turned_away = self.false_abstention + self.recall
        return self.recall / turned_away if turned_away else 0.0

    @property
    def held(self) -> bool:
        return self.precision >= 0.9 and self.false_abstention <= 0.05


def judge(searched: Searched, learnt: Mapping[Kind, LearnedWeights]) -> Mapping[Kind, Verdicts]:
    prepared = searched.prepared
    gold = dict(zip(prepared.questions, prepared.tool_set.gold, strict=True))
    own = prepared.to_judge_by
    strange = [question for some in prepared.strangers.values() for question in some]
    removed = [sorted(set().union(*gold[question])) for question in own]
    weights = {kind: each.weights for kind, each in learnt.items()}
    fitting, foreign = _signs(searched, own, weights), _signs(searched, strange, weights)
    bereft = _signs(searched, own, weights, removed)
    by = {
        kind: _calibration(searched, each.weights, each.judgement) for kind, each in learnt.items()
    }
    return {
        kind: Verdicts(
            own=_scores(by[kind], fitting[kind]),
            strange=_scores(by[kind], foreign[kind]),
            gold_removed=_scores(by[kind], bereft[kind]),
        )
        for kind in learnt
    }


def learn_judgements(
    judges: Sequence[Searched], held_out: str, weights: Known
) -> Mapping[Kind, Judgement]:
    """By a set's own questions and those of others that are not held out: a logistic regression
    over what stands out from the background."""
    fitting: dict[Kind, list[Values]] = {kind: [] for kind in weights}
    strange: dict[Kind, list[Values]] = {kind: [] for kind in weights}
    for each in judges:
        some = [asked for name, asked in each.prepared.strangers.items() if name != held_out]
        asked = [question for questions in some for question in questions]
        own, foreign = (
            _signs(each, each.prepared.to_judge_by, weights),
            _signs(each, asked, weights),
        )
        for kind in weights:
            usual = _calibration(each, weights[kind], _EVEN)
            fitting[kind].append(_standard(usual, own[kind]))
            strange[kind].append(_standard(usual, foreign[kind]))
    return {kind: _judgement(kind, fitting[kind], strange[kind]) for kind in weights}


def _judgement(kind: Kind, fitting: Sequence[Values], strange: Sequence[Values]) -> Judgement:
    top, met, nearest = _logistic(fitting, strange)
    return Judgement(top, met, nearest if models_of(kind) else 0.0)


def _signs(
    searched: Searched,
    asked: Sequence[Question],
    weights: Known,
    without: Sequence[Sequence[int]] | None = None,
) -> Mapping[Kind, Sequence[FitScores]]:
    """Of the whole of each question; were some of the tools not there."""
    found: dict[Kind, list[FitScores]] = {kind: [] for kind in weights}
    everything = np.arange(len(searched.index.tools))
    for place, question in enumerate(asked):
        evidence = searched.evidence(question.as_a_whole)
        if without is not None:
            evidence = evidence.among(np.setdiff1d(everything, without[place]))
        for kind, each in weights.items():
            found[kind].append(_signs_of(evidence, each))
    return found


def _signs_of(evidence: Evidence, weights: Weights) -> FitScores:
    known = evidence.of_models(models_of(tuple(weights.of)))
    return known.fit_scores(logits(known.rows, known.server, weights))


def _calibration(searched: Searched, weights: Weights, judgement: Judgement) -> Calibration:
    return Calibration.of(_signs_of(searched.background, weights), judgement)


def _scores(by: Calibration, signs: Sequence[FitScores]) -> Values:
    return np.concatenate([by.scores(each) for each in signs]).astype(np.float64)


def _standard(by: Calibration, signs: Sequence[FitScores]) -> Values:
    table = np.concatenate([each.table for each in signs])
    return ((table - by.usual) / by.spread).astype(np.float64)


def _logistic(fitting: Sequence[Values], strange: Sequence[Values]) -> list[float]:
    """Every set counts the same; no sign counts against a tool."""
    signs = np.concatenate([*fitting, *strange])
    truth = np.repeat([1.0, 0.0], [sum(map(len, fitting)), sum(map(len, strange))])
    shares = np.concatenate(
        [np.full(len(each), 0.5 / len(each) / len(fitting)) for each in (*fitting, *strange)]
    )

    def loss(point: Point) -> tuple[float, Point]:
        weights = np.exp(point[:-1])
        odds = signs @ weights + point[-1]
        wrong = shares * (1 / (1 + np.exp(-odds)) - truth)
        value = float((shares * (np.logaddexp(0, odds) - truth * odds)).sum())
        slope = (signs.T @ wrong + 2 * _RIDGE * weights) * weights
        return value + _RIDGE * float(weights @ weights), np.append(slope, wrong.sum())

    found = minimise(loss, np.append(np.full(signs.shape[1], -1.0), 0.0), 200)
    return [float(weight) for weight in np.exp(found[:-1])]
