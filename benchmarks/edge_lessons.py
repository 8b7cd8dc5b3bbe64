"""Weights of the signs of edges, learnt from plans whose edges are known."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from benchmarks.edge_sets import GoldPlan, Place
from benchmarks.minimise import Point, minimise
from portico.learning.core.dataflow import (
    AGAINST,
    Candidate,
    Feature,
    Floors,
    Sought,
    Weights,
    confidences,
    sought,
    texts_to_embed,
)
from portico.learning.core.dataflow_fields import NO_FLOWS, Flows, Meanings

Numbers = NDArray[np.float64]
Embed = Callable[[Sequence[str]], NDArray[np.float32]]

LEARNT: Final = tuple(sign for sign in Feature if sign is not Feature.SEEN)
_RIDGE: Final = 0.1
_STEPS: Final = 500
_A_SET: Final = 100.0
"""What each set counts for, however many parameters it asks about."""
_FLOORS: Final = tuple(round(0.2 + 0.02 * number, 2) for number in range(20))
_NOWHERE: Final = -1e9


@dataclass(frozen=True, slots=True)
class Asked:
    """One parameter of one plan: what could be given for it, and what is."""

    plan: int
    sought: Sought
    right: tuple[bool, ...]
    """One a candidate."""

    def place(self, candidate: Candidate) -> Place:
        return candidate.producer, self.sought.consumer, self.sought.want.parameter.name


def ask(plans: Sequence[GoldPlan], embed: Embed, flows: Sequence[Flows] = ()) -> Sequence[Asked]:
    """With what was seen elsewhere, one a plan, if anything was."""
    texts = list(dict.fromkeys(text for plan in plans for text in texts_to_embed(plan.steps)))
    meanings = Meanings.of(texts, embed(texts))
    known = flows or [NO_FLOWS] * len(plans)
    return [
        Asked(number, each, tuple(_is_gold(plan, each, one) for one in each.candidates))
        for number, plan in enumerate(plans)
        for each in sought(plan.steps, meanings, known[number])
    ]


def flows_elsewhere(plans: Sequence[GoldPlan]) -> Sequence[Flows]:
    """For each plan what all the others of its set would have taught."""
    counted = Counter(flow for plan in plans for flow in plan.flows)
    return [Flows.of(counted - Counter(plan.flows)) for plan in plans]


def learn(sets: Sequence[Sequence[Asked]]) -> Weights:
    """By how likely the right one is among all candidates and none of them. What speaks for an
    edge never counts against it, nor the other way round: without that, what is learnt from three
    sets does not hold on a fourth."""
    tables = [_Table.of(each, LEARNT) for each in sets if each]
    direction = np.array([-1.0 if sign in AGAINST else 1.0 for sign in LEARNT])

    def by_logarithm(point: Point) -> tuple[float, Point]:
        weights = direction * np.exp(np.minimum(point[:-1], 5.0))
        loss, slope, start = _summed(tables, weights, float(point[-1]))
        loss += _RIDGE * float(weights @ weights) / 2
        return loss, np.append((slope + _RIDGE * weights) * weights, start)

    found = minimise(by_logarithm, np.append(np.full(len(LEARNT), -1.0), -2.0), _STEPS)
    weights = direction * np.exp(np.minimum(found[:-1], 5.0))
    return Weights(dict(zip(LEARNT, map(float, weights), strict=True)), float(found[-1]))


def learn_seen(sets: Sequence[Sequence[Asked]], weights: Weights) -> Weights:
    """How much it counts that an edge was seen before; all else stays."""
    tables = [_Table.of(each, (Feature.SEEN,), weights) for each in sets if each]

    def by_logarithm(point: Point) -> tuple[float, Point]:
        weight = np.exp(np.minimum(point, 5.0))
        loss, slope, _ = _summed(tables, weight, 0.0)
        return loss + _RIDGE * float(weight @ weight) / 2, (slope + _RIDGE * weight) * weight

    found = float(np.exp(minimise(by_logarithm, np.zeros(1), _STEPS))[0])
    return replace(weights, of={**weights.of, Feature.SEEN: found})


def chosen(
    asked: Sequence[Asked], weights: Weights, floors: Floors
) -> Sequence[tuple[Asked, int, float]]:
    """The best candidate for each parameter, where it is good enough."""
    found = ((each, confidences(each.sought.candidates, weights)) for each in asked)
    best = ((each, int(np.argmax(sure)), max(sure)) for each, sure in found if sure)
    return [each for each in best if each[2] >= floors.under(each[0].sought.want.parameter)]


def f1(right: int, told: int, gold: int) -> float:
    return 2 * right / (told + gold) if told + gold else 0.0


def best_floor(sets: Sequence[Sequence[Asked]], weights: Weights) -> float:
    """Where F1 is highest, on the mean of the sets that are learnt from."""
    every = [chosen(each, weights, Floors(0.0, 0.0)) for each in sets]
    gold = [sum(sum(one.right) for one in each) for each in sets]

    def mean(floor: float) -> float:
        kept = [[one for one in each if one[2] >= floor] for each in every]
        return sum(
            f1(sum(one.right[place] for one, place, _ in some), len(some), count)
            for some, count in zip(kept, gold, strict=True)
        )

    return max(_FLOORS, key=mean)


def _is_gold(plan: GoldPlan, asked: Sought, candidate: Candidate) -> bool:
    return (candidate.producer, asked.consumer, asked.want.parameter.name) in plan.gold


@dataclass(frozen=True, slots=True)
class _Table:
    signs: Numbers
    """By parameter, candidate and sign."""
    base: Numbers
    """What is known of a candidate already; far below nought where there is none."""
    right: Numbers

    @classmethod
    def of(
        cls, asked: Sequence[Asked], signs: Sequence[Feature], known: Weights | None = None
    ) -> "_Table":
        most = max(len(each.right) for each in asked)
        table = np.zeros((len(asked), most, len(signs)))
        base, right = np.full((len(asked), most), _NOWHERE), np.zeros((len(asked), most))
        for row, each in enumerate(asked):
            for column, candidate in enumerate(each.sought.candidates):
                table[row, column] = [candidate.features[sign] for sign in signs]
                base[row, column] = 0.0 if known is None else _known(candidate, known)
                right[row, column] = each.right[column] / sum(each.right) if any(each.right) else 0
        return cls(table, base, right)

    def loss(self, weights: Point, start: float) -> tuple[float, Point, float]:
        odds = self.signs @ weights + start + self.base
        highest = np.maximum(odds.max(axis=1), 0.0)
        shares = np.exp(odds - highest[:, None])
        total = shares.sum(axis=1) + np.exp(-highest)
        rightly = (self.right * np.where(self.base > _NOWHERE / 2, odds, 0.0)).sum(axis=1)
        slope = (shares / total[:, None] - self.right) * _A_SET / len(odds)
        value = float((highest + np.log(total) - rightly).sum()) * _A_SET / len(odds)
        return value, np.einsum("pc,pcs->s", slope, self.signs), float(slope.sum())


def _known(candidate: Candidate, weights: Weights) -> float:
    known = sum(candidate.features[sign] * weight for sign, weight in weights.of.items())
    return weights.start + known


def _summed(tables: Sequence[_Table], weights: Point, start: float) -> tuple[float, Point, float]:
    parts = [table.loss(weights, start) for table in tables]
    slope: Point = np.sum([part[1] for part in parts], axis=0)
    return sum(part[0] for part in parts), slope, sum(part[2] for part in parts)
