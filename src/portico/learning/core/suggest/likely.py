"""Which tools a plan for an intent needs, and how likely each of them is in it.

First what search and the nearest past plans say; then what the likely ones draw after them: what
came before them in other plans.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp
from typing import Final

from portico.learning.core.suggest.asked import Asked
from portico.learning.core.suggest.needs import Learnt
from portico.learning.core.suggest.offered import Offered
from portico.learning.core.suggest.past import Votes
from portico.learning.core.suggest.signs import LEAST, Sign, Signs, Weights, log_odds, logarithm
from portico.learning.core.suggest.weights import LIKELY, UNPRECEDENTED

_DEEPEST: Final = 3
_WORTH: Final = 0.02
"""What is less likely than this draws nothing after it."""

Tools = Mapping[str, Offered]
Shares = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Likely:
    tool: str
    probability: float
    signs: Signs


def likely(
    asked: Asked,
    learnt: Learnt,
    offered: Tools,
    weights: Weights = LIKELY,
    unprecedented: Weights = UNPRECEDENTED,
) -> Sequence[Likely]:
    """Best first. Where no past plan is near, what search says of the parts counts for more."""
    used = weights if Votes.of(asked.near).precedent else unprecedented
    found = [
        Likely(tool, sigmoid(used.weighed(signs)), signs)
        for tool, signs in likely_signs(asked, learnt, offered).items()
    ]
    return sorted(found, key=lambda each: -each.probability)


def likely_signs(asked: Asked, learnt: Learnt, offered: Tools) -> Mapping[str, Signs]:
    votes, whole = Votes.of(asked.near).for_tools(), asked.whole
    hits = [tool for each in asked.searched for tool in each.hits]
    seeds = {
        tool: 1 - (1 - whole.get(tool, 0.0)) * (1 - votes.get(tool, 0.0))
        for tool in dict.fromkeys((*hits, *votes))
        if tool in offered
    }
    drawn = drawn_by(seeds, learnt, offered)
    return {
        tool: {
            Sign.EITHER: log_odds(1 - (1 - seeds.get(tool, 0.0)) * (1 - drawn.get(tool, 0.0))),
            Sign.STEP: logarithm(asked.best_part(tool), LEAST),
        }
        for tool in dict.fromkeys((*seeds, *drawn))
    }


def drawn_by(seeds: Shares, learnt: Learnt, offered: Tools) -> Shares:
    """That any of the likely tools had it before it, also by way of others."""
    found: dict[str, float] = {}
    level = seeds
    for _ in range(_DEEPEST):
        reached = _one_further(level, learnt, offered)
        level = {tool: share for tool, share in reached.items() if share > found.get(tool, 0.0)}
        found |= level
    return found


def _one_further(level: Shares, learnt: Learnt, offered: Tools) -> Shares:
    reached: dict[str, float] = {}
    for consumer, share in level.items():
        for producer in learnt.before.get(consumer, ()) if share >= _WORTH else ():
            if producer in offered:
                chance = share * learnt.need(consumer, producer)
                reached[producer] = 1 - (1 - reached.get(producer, 0.0)) * (1 - chance)
    return reached


def sigmoid(odds: float) -> float:
    return 1 / (1 + exp(-max(-30.0, min(30.0, odds))))
