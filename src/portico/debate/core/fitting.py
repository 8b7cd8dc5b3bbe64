"""Weights from what is known: three small fits, each the same on every run.

`stretches`: a conditional logit of votes, never below nothing, ridged to what it starts from
(McFadden 1974; the ridge as a prior, Hoerl and Kennard 1970). `choose_between`: the same over
many sparse signs, by AdaGrad (Duchi, Hazan and Singer 2011). `least_squares`: ridge regression.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, sqrt
from typing import Final

Signs = Mapping[str, float]

RIDGE: Final = 2.0
_STEPS: Final = 10
_FARTHEST: Final = 0.5
_STILL: Final = 1e-4
_STEP: Final = 0.3
_SHRINK: Final = 3e-3
_SHRINK_ALL: Final = 20.0
"""Of all cases together: the fewer there are, the less each sign may count."""
_FIRST: Final = 1e-2


@dataclass(frozen=True, slots=True)
class Ballots:
    """Of one debate: what each option got of whom, at the weights that one starts from."""

    options: tuple[Signs, ...]
    """Weights by voice."""
    unsaid: int
    """How many options nobody named."""
    right: int | None
    """None: one of those."""
    much: float = 1.0


def probabilities(scores: Sequence[float]) -> Sequence[float]:
    highest = max(scores)
    lifted = [exp(each - highest) for each in scores]
    total = sum(lifted)
    return [each / total for each in lifted]


def stretches(voices: Sequence[str], ballots: Sequence[Ballots], ridge: float = RIDGE) -> Signs:
    """By what to multiply the weight of each voice: 1 where nothing tells otherwise. By Newton's
    steps, of all voices at once: those with the same past get the same."""
    found = dict.fromkeys(voices, 1.0)
    held = {each: ridge * _mean_weight(each, ballots) ** 2 + _STILL for each in voices}
    for _ in range(_STEPS):
        slopes, bends = _slopes(voices, ballots, found)
        table = [
            [bends[one][other] + (held[one] if one == other else 0.0) for other in voices]
            for one in voices
        ]
        right = [slopes[each] - held[each] * (found[each] - 1.0) for each in voices]
        moved = 0.0
        for voice, step in zip(voices, solved(table, right), strict=True):
            then = max(0.0, found[voice] + max(-_FARTHEST, min(_FARTHEST, step)))
            moved = max(moved, abs(then - found[voice]))
            found[voice] = then
        if moved < _STILL:
            break
    return found


def _mean_weight(voice: str, ballots: Sequence[Ballots]) -> float:
    seen = [
        option[voice] for each in ballots for option in each.options if option.get(voice, 0.0) > 0
    ]
    return sum(seen) / len(seen) if seen else 0.0


def _slopes(
    voices: Sequence[str], ballots: Sequence[Ballots], at: Signs
) -> tuple[dict[str, float], dict[str, dict[str, float]]]:
    """Of the likelihood, and how it bends: what each gave the right answer, beyond what it was
    expected to."""
    slopes = dict.fromkeys(voices, 0.0)
    bends = {each: dict.fromkeys(voices, 0.0) for each in voices}
    for each in ballots:
        scores = [score(at, option) for option in each.options]
        chances = probabilities([*scores, *([0.0] * each.unsaid)])
        mine = [
            (name, place, much)
            for place, option in enumerate(each.options)
            for name, much in option.items()
        ]
        for name, place, much in mine:
            slopes[name] += each.much * much * ((place == each.right) - chances[place])
            for other, there, more in mine:
                both = (chances[place] if place == there else 0.0) - chances[place] * chances[there]
                bends[name][other] += each.much * much * more * both
    return slopes, bends


@dataclass(frozen=True, slots=True)
class Case:
    """Some options with their signs, and which was right."""

    options: tuple[Signs, ...]
    right: int


def score(weights: Signs, signs: Signs) -> float:
    return sum(weights.get(name, 0.0) * much for name, much in signs.items())


def choose_between(cases: Sequence[Case], rounds: int) -> Signs:
    """What each sign counts."""
    weights: dict[str, float] = defaultdict(float)
    seen: dict[str, float] = defaultdict(lambda: _FIRST)
    shrink = max(_SHRINK, _SHRINK_ALL / max(len(cases), 1))
    for _ in range(rounds):
        for case in cases:
            chances = probabilities([score(weights, each) for each in case.options])
            for at, (chance, signs) in enumerate(zip(chances, case.options, strict=True)):
                _learn(weights, seen, signs, chance - (at == case.right), shrink)
    return dict(weights)


def _learn(
    weights: dict[str, float], seen: dict[str, float], signs: Signs, off: float, shrink: float
) -> None:
    for name, much in signs.items():
        slope = off * much + shrink * weights[name]
        seen[name] += slope * slope
        weights[name] -= _STEP * slope / sqrt(seen[name])


def least_squares(rows: Sequence[tuple[Signs, float]], ridge: float) -> Signs:
    """What each sign adds, shrunk to nothing."""
    places: dict[str, int] = {}
    for signs, _ in rows:
        for name in signs:
            places.setdefault(name, len(places))
    size = len(places)
    table = [[ridge if at == column else 0.0 for column in range(size)] for at in range(size)]
    right = [0.0] * size
    for signs, aim in rows:
        there = [(places[name], much) for name, much in signs.items()]
        for at, much in there:
            right[at] += much * aim
            line = table[at]
            for column, other in there:
                line[column] += much * other
    return dict(zip(places, solved(table, right), strict=True))


def solved(table: list[list[float]], right: list[float]) -> Sequence[float]:
    """By Gauss, without looking for pivots: a ridge makes every one of them positive."""
    size = len(right)
    for at in range(size):
        for below in range(at + 1, size):
            share = table[below][at] / table[at][at]
            if share:
                upper, lower = table[at], table[below]
                for column in range(at, size):
                    lower[column] -= share * upper[column]
                right[below] -= share * right[at]
    found = [0.0] * size
    for at in reversed(range(size)):
        rest = sum(table[at][column] * found[column] for column in range(at + 1, size))
        found[at] = (right[at] - rest) / table[at][at]
    return found
