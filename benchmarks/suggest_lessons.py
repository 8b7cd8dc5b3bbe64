"""How much each sign of a tool counts: learnt from plans that are known."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from benchmarks.minimise import Point, minimise
from benchmarks.suggest_search import Fold, Ready
from benchmarks.suggest_sets import LINK
from portico.bench.tool_sets import evenly
from portico.learning.core.intents import (
    AGAINST,
    Calibration,
    IntentFeature,
    IntentFeatures,
    Judged,
    Weights,
)
from portico.learning.core.likely_tools import likely_signs, next_signs
from portico.learning.core.past_plans import ToolStatistics

_PLANS: Final = 300
"""Of a set, that are learnt from: the others were seen."""
_RIDGE: Final = 0.003
_STEPS: Final = 200

LIKELY: Final = (IntentFeature.EITHER, IntentFeature.STEP)
NOTHING_LEARNT: Final = ToolStatistics.of([])
NEXT: Final = (
    IntentFeature.SEARCH,
    IntentFeature.STEP,
    IntentFeature.VOTE,
    IntentFeature.FOLLOWS,
    IntentFeature.AFTER,
    IntentFeature.DONE,
)


@dataclass(frozen=True, slots=True)
class Lesson:
    """Tools that came into question at once, and which of them were right."""

    signs: NDArray[np.float64]
    right: NDArray[np.float64]

    @classmethod
    def of(
        cls, tools: Sequence[tuple[IntentFeatures, bool]], of: Sequence[IntentFeature]
    ) -> "Lesson":
        table = [[signs[each] for each in of] for signs, _ in tools]
        return cls(np.array(table, float), np.array([right for _, right in tools], float))


@dataclass(frozen=True, slots=True)
class Taught:
    likely: Weights
    unprecedented: Weights
    next: Weights

    @property
    def for_tools(self) -> tuple[Weights, Weights]:
        return self.likely, self.unprecedented


def teach(sets: Sequence[Ready]) -> Taught:
    """Each set counts the same, however many plans it has. Most of ToolLinkOS's tools are needed
    without being spoken of, so without a past it has nothing to teach."""
    folds = [_some(each) for each in sets]
    tools = _learn([[*_each(some, _likely)] for some in folds], LIKELY, _each_by_itself)
    spoken = [some for some, ready in zip(folds, sets, strict=True) if ready.of.name != LINK]
    new = _learn([[*_each(some, _unprecedented)] for some in spoken], LIKELY, _each_by_itself)
    then = _learn([[*_each(some, _next)] for some in folds], NEXT, _one_of_them)
    return Taught(tools, new, Weights(then.of))


def _some(ready: Ready) -> Sequence[tuple[Fold, int]]:
    folds = ready.folds([plan.about for plan in ready.of.plans])
    every = [(fold, int(place)) for fold in folds for place in fold.asked_for]
    return [every[place] for place in evenly(len(every), _PLANS)]


def _each(
    some: Sequence[tuple[Fold, int]], lessons: Callable[[Fold, int], Iterator[Lesson]]
) -> Iterator[Lesson]:
    for fold, place in some:
        yield from lessons(fold, place)


def _likely(fold: Fold, place: int) -> Iterator[Lesson]:
    found = likely_signs(fold.asked(place), fold.learnt, fold.ready.of.offered)
    tools = fold.ready.of.plans[place].tools
    yield Lesson.of([(signs, tool in tools) for tool, signs in found.items()], LIKELY)


def _unprecedented(fold: Fold, place: int) -> Iterator[Lesson]:
    asked = replace(fold.asked(place), near=())
    found = likely_signs(asked, NOTHING_LEARNT, fold.ready.of.offered)
    tools = fold.ready.of.plans[place].tools
    yield Lesson.of([(signs, tool in tools) for tool, signs in found.items()], LIKELY)


def _next(fold: Fold, place: int) -> Iterator[Lesson]:
    asked, tools = fold.asked(place), fold.ready.of.plans[place].tools
    for number, tool in enumerate(tools):
        found = next_signs(asked, tools[:number], fold.learnt, fold.ready.of.offered)
        if tool in found:
            yield Lesson.of([(signs, each == tool) for each, signs in found.items()], NEXT)


Loss = Callable[[NDArray[np.float64], Lesson], tuple[float, NDArray[np.float64]]]
"""Of the odds of each tool: how far they are from what was right, and its slope."""


def _each_by_itself(odds: NDArray[np.float64], lesson: Lesson) -> tuple[float, NDArray[np.float64]]:
    says = 1 / (1 + np.exp(-np.clip(odds, -30, 30)))
    right = lesson.right
    value = -(right * np.log(says) + (1 - right) * np.log1p(-says)).sum()
    return float(value), says - right


def _one_of_them(odds: NDArray[np.float64], lesson: Lesson) -> tuple[float, NDArray[np.float64]]:
    shares = np.exp(odds - odds.max())
    shares /= shares.sum()
    return -float(np.log((shares * lesson.right).sum() + 1e-300)), shares - lesson.right


def _learn(sets: Sequence[Sequence[Lesson]], of: Sequence[IntentFeature], loss: Loss) -> Weights:
    """What speaks for a tool never counts against it, nor the other way round: without that, what
    is learnt from some sets does not hold on another."""
    direction = np.array([-1.0 if sign in AGAINST else 1.0 for sign in of])

    def by_logarithm(point: Point) -> tuple[float, Point]:
        weights = direction * np.exp(np.minimum(point[:-1], 4.0))
        value, slope, start = _RIDGE * float(weights @ weights) / 2, _RIDGE * weights, 0.0
        for lessons in sets:
            part = 1 / len(lessons) / len(sets)
            for lesson in lessons:
                one, pull = loss(lesson.signs @ weights + point[-1], lesson)
                value += one * part
                slope = slope + lesson.signs.T @ pull * part
                start += float(pull.sum()) * part
        return value, np.append(slope * weights, start)

    found = minimise(by_logarithm, np.append(np.full(len(of), -1.0), 0.0), _STEPS)
    weights = direction * np.exp(np.minimum(found[:-1], 4.0))
    told = {sign: round(float(each), 4) for sign, each in zip(of, weights, strict=True)}
    return Weights(told, round(float(found[-1]), 4))


def learn_calibration(sets: Sequence[Sequence[Judged]]) -> Calibration:
    """A straight line through what suggestions came to in each of the sets."""
    tables = [np.array([(each.raw, each.backing, each.right) for each in some]) for some in sets]

    def loss(point: Point) -> tuple[float, Point]:
        value, slope = 0.0, np.zeros(2)
        for raw, backing, right in (table.T for table in tables):
            line = 1 / (1 + np.exp(-np.clip(raw * point[0] + point[1], -30, 30)))
            says = backing * line
            value -= float((right * np.log(says) + (1 - right) * np.log1p(-says)).mean())
            pull = (says - right) * (1 - line) / (1 - says)
            slope += np.array([(raw * pull).mean(), pull.mean()])
        return value, slope

    found = minimise(loss, np.array([1.0, 0.0]), _STEPS)
    return Calibration(round(float(found[0]), 4), round(float(found[1]), 4))
