"""How many edges were found, how many of them are right, and what went wrong with the rest."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from benchmarks.edge_lessons import Asked, chosen, f1
from benchmarks.edge_sets import GoldPlan, Place
from portico.kernel.json import JsonObject
from portico.learning.core.dataflow import (
    Candidate,
    Feature,
    Floors,
    Weights,
    confidences,
    nearly_as_good,
)

_BINS: Final = 10
_DRAWS: Final = 1_000


@dataclass(frozen=True, slots=True)
class Taught:
    weights: Weights
    floors: Floors


@dataclass(frozen=True, slots=True)
class Score:
    right: int
    told: int
    gold: int

    @classmethod
    def of(cls, told: Sequence[Collection[Place]], plans: Sequence[GoldPlan]) -> "Score":
        pairs = list(zip(told, (plan.gold.keys() for plan in plans), strict=True))
        return cls(
            sum(len(set(some) & gold) for some, gold in pairs),
            sum(len(some) for some, _ in pairs),
            sum(len(gold) for _, gold in pairs),
        )

    @property
    def precision(self) -> float:
        return round(self.right / self.told, 4) if self.told else 0.0

    @property
    def recall(self) -> float:
        return round(self.right / self.gold, 4) if self.gold else 0.0

    @property
    def f1(self) -> float:
        return round(f1(self.right, self.told, self.gold), 4)


def told_edges(
    asked: Sequence[Asked], taught: Taught, plans: Sequence[GoldPlan]
) -> Sequence[set[Place]]:
    found: list[set[Place]] = [set() for _ in plans]
    for each, place, _ in chosen(asked, taught.weights, taught.floors):
        found[each.plan].add(each.place(each.sought.candidates[place]))
    return found


def between_tools(told: Sequence[Collection[Place]], plans: Sequence[GoldPlan]) -> float:
    """F1 of which step feeds which, whatever the parameter."""
    ours = [{each[:2] for each in some} for some in told]
    gold = [{each[:2] for each in plan.gold} for plan in plans]
    right = sum(len(some & known) for some, known in zip(ours, gold, strict=True))
    return round(f1(right, sum(map(len, ours)), sum(map(len, gold))), 4)


def gain_interval(
    ours: Sequence[Collection[Place]],
    theirs: Sequence[Collection[Place]],
    plans: Sequence[GoldPlan],
) -> list[float]:
    """What F1 is higher by, from the 2.5th to the 97.5th of a hundred: plans drawn again."""
    draw = np.random.default_rng(0)
    gains = []
    for _ in range(_DRAWS):
        drawn = draw.integers(0, len(plans), len(plans)).tolist()
        gold = [plans[place] for place in drawn]
        one, other = (
            Score.of([some[place] for place in drawn], gold).f1 for some in (ours, theirs)
        )
        gains.append(one - other)
    return [round(float(each), 4) for each in np.quantile(gains, (0.025, 0.975))]


def right_fields(asked: Sequence[Asked], taught: Taught, plans: Sequence[GoldPlan]) -> float | None:
    """Of the right edges whose field is known: how many name it."""
    named = [
        candidate.field.name == field
        for each, candidate in _right(asked, taught)
        if (field := plans[each.plan].gold[each.place(candidate)])
    ]
    return round(sum(named) / len(named), 4) if named else None


def clarity(asked: Sequence[Asked], taught: Taught) -> JsonObject:
    """How many edges are marked as ambiguous, and how often they and the others are right."""
    right: dict[bool, list[bool]] = {True: [], False: []}
    for each, place, _ in chosen(asked, taught.weights, taught.floors):
        sure = confidences(each.sought.candidates, taught.weights)
        unclear = len(nearly_as_good(sure)) > 1 or each.sought.candidates[place].unclear
        right[unclear].append(each.right[place])
    told = len(right[True]) + len(right[False])
    return {
        "ambiguous_share": round(len(right[True]) / told, 4) if told else None,
        "precision_if_ambiguous": _share(right[True]),
        "precision_if_clear": _share(right[False]),
    }


def calibration_error(asked: Sequence[Asked], taught: Taught) -> float:
    """How far confidence is from the share that is right, on the mean of ten bins by size."""
    pairs = [
        (confidence, right)
        for each in asked
        for confidence, right in zip(
            confidences(each.sought.candidates, taught.weights), each.right, strict=True
        )
    ]
    sure, right = np.array(pairs, np.float64).reshape(-1, 2).T
    places = np.minimum((sure * _BINS).astype(int), _BINS - 1)
    apart = [
        abs(float(sure[places == each].sum() - right[places == each].sum()))
        for each in range(_BINS)
    ]
    return round(sum(apart) / max(len(pairs), 1), 4)


def errors(asked: Sequence[Asked], taught: Taught, plans: Sequence[GoldPlan]) -> Mapping[str, int]:
    """Parameters by what became of them; those that rightly got no edge are left out."""
    best = {id(each): place for each, place, _ in chosen(asked, taught.weights, taught.floors)}
    kinds: Counter[str] = Counter()
    for each in asked:
        givers = _givers(each, plans[each.plan])
        told = best.get(id(each))
        if told is not None:
            kinds[_kind_of_told(each, told, givers, plans[each.plan])] += 1
        elif givers:
            kinds[_kind_of_missed(each, givers)] += 1
    return dict(sorted(kinds.items()))


def _givers(asked: Asked, plan: GoldPlan) -> frozenset[int]:
    here = (asked.sought.consumer, asked.sought.want.parameter.name)
    return frozenset(giver for giver, *taker in plan.gold if tuple(taker) == here)


def _kind_of_told(asked: Asked, told: int, givers: frozenset[int], plan: GoldPlan) -> str:
    candidate = asked.sought.candidates[told]
    if asked.right[told]:
        return "right"
    if givers:
        tools = {plan.steps[giver].tool for giver in givers}
        again = plan.steps[candidate.producer].tool in tools
        return "wrong: another call of the same tool" if again else "wrong: another tool"
    if candidate.features[Feature.ECHO]:
        return "false: a value, and the producer was told it too"
    return "false: a value, but a name alike" if candidate.fit.words else "false: a value"


def _kind_of_missed(asked: Asked, givers: frozenset[int]) -> str:
    there = [each for each in asked.sought.candidates if each.producer in givers]
    if not there:
        return "missed: nothing known that could be it"
    if there[0].features[Feature.OPEN]:
        return "missed: unsure, the parameter takes anything"
    return "missed: unsure" if there[0].fit.words else "missed: unsure, no word in common"


def _right(asked: Sequence[Asked], taught: Taught) -> Iterator[tuple[Asked, Candidate]]:
    for each, place, _ in chosen(asked, taught.weights, taught.floors):
        if each.right[place]:
            yield each, each.sought.candidates[place]


def _share(right: Sequence[bool]) -> float | None:
    return round(sum(right) / len(right), 4) if right else None
