"""The figures of `just bench search`, out of where the right tools were found."""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from benchmarks.search_folds import DEFAULT, FULL, Kind, models_of
from benchmarks.search_run import Fold
from benchmarks.search_strangers import Verdicts
from portico.bench.ranking_figures import Values, interval, ndcg, recall
from portico.bench.tool_sets import FIVE, LIVE
from portico.gateway.core.search_scoring import LearnedWeights
from portico.kernel.json import JsonObject, JsonValue

Folds = Mapping[str, Fold]

_COMPARED: Final = (
    ("names_beside_static", "spike_names", "spike"),
    ("token_weights", "default", "spike_names"),
    ("default_over_spike", "default", "spike"),
    ("clauses_default", "default", "default_uncut"),
    ("names_beside_encoder", "spike_onnx_names", "spike_onnx"),
    ("adapted_encoder_and_token_weights", "onnx", "spike_onnx_names"),
    ("onnx_over_spike", "onnx", "spike_onnx"),
    ("clauses_onnx", "onnx", "onnx_uncut"),
)
"""What each idea gives: the second and the third way, on the same questions."""


def ranking_figures(folds: Folds) -> JsonObject:
    """Without an encoder, its figures are null."""
    ways = folds[LIVE].places
    best = "onnx" if "onnx" in ways else None
    steps = _live_steps(folds, best, 10) if best else None
    return {
        "default_ndcg10": _mean(_quality(folds, "default")),
        "onnx_ndcg10": _mean(_quality(folds, best)) if best else None,
        "live_question_r5": _mean([_live(folds, best, 5)]) if best else None,
        "live_question_r10": _mean([_live(folds, best, 10)]) if best else None,
        "live_steps_r10": None if steps is None else _mean([steps]),
        "default_live_question_r5": _mean([_live(folds, "default", 5)]),
        "default_live_question_r10": _mean([_live(folds, "default", 10)]),
        "default_live_steps_r10": _mean([_live_steps(folds, "default", 10)]),
        "lowest_over_bm25": {
            name: round(min(_gains(folds, name)), 4) for name in ("default", "onnx") if name in ways
        },
        "sets": {each: {name: _mean([_ndcg(folds, each, name)]) for name in ways} for each in FIVE},
        "intervals": _intervals(folds),
        "paired": {
            title: _difference(_quality(folds, one), _quality(folds, other))
            for title, one, other in _COMPARED
            if one in ways and other in ways
        },
    }


def abstention_figures(folds: Folds) -> JsonObject:
    """With the encoder, where there is one."""
    kind = FULL if FULL in folds[LIVE].verdicts else DEFAULT
    found = {name: fold.verdicts[kind] for name, fold in folds.items()}
    return {
        "offtopic_auc": _average([each.auc for each in found.values()]) if kind == FULL else None,
        "abstain_sets_held": sum(each.held for each in found.values()),
        "gold_removed_auc": _average([each.auc_gold_removed for each in found.values()]),
        "default_offtopic_auc": _average([fold.verdicts[DEFAULT].auc for fold in folds.values()]),
        "default_abstain_sets_held": sum(fold.verdicts[DEFAULT].held for fold in folds.values()),
        "abstention": {name: _verdicts(each) for name, each in found.items()},
        "default_abstention": {
            name: _verdicts(fold.verdicts[DEFAULT]) for name, fold in folds.items()
        },
    }


def baseline_figures(folds: Folds) -> JsonObject:
    ways = folds[LIVE].places
    return {
        "bm25_ndcg10": _mean(_quality(folds, "bm25")),
        "spike_default_ndcg10": _mean(_quality(folds, "spike")),
        "spike_onnx_ndcg10": _mean(_quality(folds, "spike_onnx")) if "spike_onnx" in ways else None,
    }


def learnt_figures(learnt: Mapping[Kind, LearnedWeights]) -> JsonObject:
    """As they stand in `gateway/core/search_scoring.py`."""
    return {
        "+".join(sorted(models_of(kind))) or "words": {
            "weights": {name: round(weight, 4) for name, weight in each.weights.of.items()},
            "judgement": [
                round(part, 4)
                for part in (each.judgement.top, each.judgement.met, each.judgement.nearest)
            ],
        }
        for kind, each in learnt.items()
    }


def _ndcg(folds: Folds, name: str, way: str) -> Values:
    return np.array([ndcg(places) for places in folds[name].places[way].questions])


def _quality(folds: Folds, way: str) -> list[Values]:
    return [_ndcg(folds, name, way) for name in FIVE]


def _live(folds: Folds, way: str, depth: int) -> Values:
    return np.array([recall(places, depth) for places in folds[LIVE].places[way].questions])


def _live_steps(folds: Folds, way: str, depth: int) -> Values:
    return np.array([recall(places, depth) for places in folds[LIVE].places[way].steps])


def _gains(folds: Folds, way: str) -> list[float]:
    return [
        float(ours.mean() - bare.mean())
        for ours, bare in zip(_quality(folds, way), _quality(folds, "bm25"), strict=True)
    ]


def _intervals(folds: Folds) -> JsonObject:
    found: dict[str, JsonValue] = {}
    for way in ("default", "onnx"):
        if way in folds[LIVE].places:
            found[f"{way}_ndcg10"] = list(interval(_quality(folds, way)))
            for depth in (5, 10):
                found[f"{way}_live_question_r{depth}"] = list(interval([_live(folds, way, depth)]))
            found[f"{way}_live_steps_r10"] = list(interval([_live_steps(folds, way, 10)]))
    return found


def _difference(ours: Sequence[Values], theirs: Sequence[Values]) -> JsonObject:
    apart = [one - other for one, other in zip(ours, theirs, strict=True)]
    return {"mean": _mean(apart), "interval": list(interval(apart))}


def _verdicts(verdicts: Verdicts) -> JsonObject:
    return {
        "auc": round(verdicts.auc, 4),
        "false_abstention": round(verdicts.false_abstention, 4),
        "recall": round(verdicts.recall, 4),
        "precision": round(verdicts.precision, 4),
        "held": verdicts.held,
        "gold_removed_auc": round(verdicts.auc_gold_removed, 4),
    }


def _mean(groups: Sequence[Values]) -> float:
    return _average([float(group.mean()) for group in groups])


def _average(values: Sequence[float]) -> float:
    return round(sum(values) / len(values), 4)
