"""Plans that went well before, and those of them that were for much the same."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from portico.gateway.core.search_text import words
from portico.learning.core.suggest.skeleton import PastStep

Floats = NDArray[np.float32]

_NEAREST: Final = 40
_MOST_TIMES: Final = 5
"""What is run every minute is not everything that is ever wanted."""
_SHARPNESS: Final = 0.1
_STRANGE: Final = 0.3
"""As near as intents are that have nothing to do with one another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PastPlan:
    id: str
    steps: Sequence[PastStep]
    times: int = 1
    accepted: int = 0
    rejected: int = 0
    own: bool = True
    """Of whoever asks."""

    @property
    def tools(self) -> tuple[str, ...]:
        return tuple(step.tool for step in self.steps)

    @property
    def weight(self) -> float:
        """How much it counts among others."""
        return min(self.times, _MOST_TIMES) * self._kept

    @property
    def runs(self) -> float:
        """How many runs speak for it."""
        return self.times * self._kept

    @property
    def _kept(self) -> float:
        """What was rejected as often as it was run counts for little."""
        return (self.times + self.accepted) / (self.times + self.accepted + 2 * self.rejected)


@dataclass(frozen=True, slots=True)
class Near:
    plan: PastPlan
    similarity: float


@dataclass(frozen=True, slots=True)
class PastPlans:
    plans: Sequence[PastPlan]
    vectors: Floats
    """One row a plan, of its intent."""
    words: Sequence[frozenset[str]]
    """Of each intent, for where there is no vector."""

    @classmethod
    def of(
        cls,
        plans: Sequence[PastPlan],
        vectors: Floats,
        words_of_intents: Sequence[frozenset[str]] = (),
    ) -> Self:
        return cls(plans, np.nan_to_num(vectors), words_of_intents or [frozenset()] * len(plans))

    def nearest(
        self, vector: Floats | None, said: frozenset[str], most: int = _NEAREST
    ) -> Sequence[Near]:
        """By meaning; where there is no vector of the same kind, by words in common."""
        if not self.plans:
            return []
        if vector is None or self.vectors.shape[1:] != vector.shape:
            likeness = np.array([_in_common(said, each) for each in self.words], np.float32)
        else:
            likeness = self.vectors @ np.nan_to_num(vector)
        order = np.argsort(-likeness, kind="stable")[:most]
        return [Near(self.plans[place], float(likeness[place])) for place in order]


def runs_of(tools: frozenset[str], near: Sequence[Near]) -> float:
    """How many runs with just these tools went well, each by how near it is to the nearest."""
    best = max((each.similarity for each in near), default=0.0)
    return sum(
        _likeness(each, best) * each.plan.runs
        for each in near
        if frozenset(each.plan.tools) == tools
    )


def words_of(intent: str) -> frozenset[str]:
    return frozenset(words(intent))


@dataclass(frozen=True, slots=True)
class Votes:
    """What the nearest plans say: near ones more than others, and none of them much if none is
    near."""

    shares: Sequence[tuple[PastPlan, float]]

    @classmethod
    def of(cls, near: Sequence[Near]) -> Self:
        best = max((each.similarity for each in near), default=0.0)
        weights = [_likeness(each, best) * each.plan.weight for each in near]
        total = sum(weights) + exp((_STRANGE - best) / _SHARPNESS)
        pairs = zip(near, weights, strict=True)
        return cls([(each.plan, weight / total) for each, weight in pairs])

    @property
    def precedent(self) -> bool:
        """Whether there is one: near enough that the past says more than nothing does."""
        return sum(share for _, share in self.shares) >= 0.5

    def for_tools(self) -> Mapping[str, float]:
        found: dict[str, float] = {}
        for plan, share in self.shares:
            for tool in dict.fromkeys(plan.tools):
                found[tool] = found.get(tool, 0.0) + share
        return found

    def after(self, tool: str | None) -> Mapping[str, float]:
        """What came next, where this came; without one, what came first."""
        found: dict[str, float] = {}
        for plan, share in self.shares:
            before = (None, *plan.tools)
            for one, then in zip(before, plan.tools, strict=False):
                if one == tool:
                    found[then] = found.get(then, 0.0) + share
        return found


def _likeness(near: Near, best: float) -> float:
    return exp((near.similarity - best) / _SHARPNESS)


def _in_common(some: frozenset[str], others: frozenset[str]) -> float:
    both = some | others
    return len(some & others) / len(both) if both else 0.0
