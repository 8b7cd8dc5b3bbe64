"""From what votes weigh to how likely each answer is, with a share for an answer nobody gave."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import exp, inf, log


@dataclass(frozen=True, slots=True)
class Posterior:
    likely: Mapping[str, float]
    """By key; likeliest first, and of equals the one that was given first."""
    other: float
    """Of all that nobody said."""

    @property
    def top(self) -> str | None:
        return next(iter(self.likely), None)

    @property
    def sureness(self) -> float:
        """Of the likeliest."""
        return next(iter(self.likely.values()), 0.0)

    @property
    def runner_up(self) -> float:
        return [*self.likely.values(), 0.0, 0.0][1]


def softmax(scores: Mapping[str, float], other: float) -> Posterior:
    """P(k) = exp S(k) / (Σ exp S + exp S(other)); `other` may be -inf."""
    highest = max([*scores.values(), other], default=0.0)
    if highest == -inf:
        return Posterior({}, 1.0)
    lifted = {key: exp(score - highest) for key, score in scores.items()}
    rest = exp(other - highest)
    total = sum(lifted.values()) + rest
    ordered = sorted(lifted, key=lambda key: -lifted[key])
    return Posterior({key: lifted[key] / total for key in ordered}, rest / total)


def unsaid(k: int, distinct: int) -> float:
    """What the answers weigh together that could have been given and were not."""
    return log(k - distinct) if k > distinct else -inf
