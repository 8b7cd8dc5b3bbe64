"""Which of several texts is best, from comparisons of two: Bradley and Terry 1952, by Hunter's
minorise-maximise steps (2004). A pair is compared in both orders, as judges favour a place; where
the two orders disagree it is a tie, half a win for each."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations, pairwise
from typing import Final

Judged = tuple[str, str, str | None]
"""Two voices as they were shown, and which was better; None if neither."""

_STEPS: Final = 100
"""Enough for as many texts as one compares."""
_GHOST: Final = 1.0
"""Wins of each over a ghost of strength 1, for each voice that gave it, and defeats: nobody is
infinitely better."""


def settled_pairs(judged: Iterable[Judged]) -> Mapping[tuple[str, str], str | None]:
    """Each pair once: the winner of both orders, else None. One order alone is not enough to win
    if the other was asked and said otherwise; alone it counts."""
    found: dict[tuple[str, str], set[str | None]] = defaultdict(set)
    for one, other, better in judged:
        found[min(one, other), max(one, other)].add(better)
    return {pair: next(iter(said)) if len(said) == 1 else None for pair, said in found.items()}


def strengths(
    names: Sequence[str], judged: Iterable[Judged], backed: Mapping[str, int] | None = None
) -> Mapping[str, float]:
    """How likely each is the best: strengths that sum to one. `backed`: how many gave each, where
    it is not one; where nothing was compared, it is as strong as that."""
    ghosts = {name: _GHOST * (1 if backed is None else backed[name]) for name in names}
    wins: dict[str, float] = dict(ghosts)
    met: dict[str, list[str]] = {name: [] for name in names}
    for (one, other), better in settled_pairs(judged).items():
        if one not in met or other not in met:
            continue
        met[one].append(other)
        met[other].append(one)
        for name in (one, other):
            wins[name] += 0.5 if better is None else float(better == name)
    strong = dict.fromkeys(names, 1.0)
    for _ in range(_STEPS):
        then = {
            name: wins[name]
            / (
                (ghosts[name] + _GHOST) / (strong[name] + 1)
                + sum(1 / (strong[name] + strong[each]) for each in met[name])
            )
            for name in names
        }
        strong = then
    total = sum(strong.values())
    return {name: strong[name] / total for name in names}


def pairs(names: Sequence[str], most: int) -> Sequence[tuple[str, str]]:
    """A chain first, so that all are connected, then whoever is furthest apart is last: `names`
    come with the best first."""
    chain = list(pairwise(names))
    rest = [pair for pair in combinations(names, 2) if pair not in chain]
    return [*chain, *rest][:most]
