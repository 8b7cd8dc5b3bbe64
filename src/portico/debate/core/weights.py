"""What a vote weighs, from how often its voice is right.

Sources: Nitzan and Paroush 1982 (log-odds are the best weights of independent voters); arXiv
2510.01499 (the same among K options).
"""

from math import exp, log
from typing import Final

_SUREST: Final = 0.98
_ABOVE_CHANCE: Final = 0.01
_FREE: Final = 4
"""Of a question without choices: so many answers at least are taken to be plausible."""


def among(choices: int | None, distinct: int) -> int:
    """K: how many answers there could have been."""
    return max(_FREE, distinct + 1) if choices is None else max(choices, distinct, 2)


def log_odds(q: float, k: int) -> float:
    """log(q (K-1) / (1-q)): never below nothing, as who is worse than chance is not believed the
    contrary of what it says."""
    held = min(max(q, 1 / k + _ABOVE_CHANCE), _SUREST)
    return log(held * (k - 1) / (1 - held))


def rightness(weight: float, k: int) -> float:
    """How often a voice is right whose vote weighs this."""
    return exp(weight) / (exp(weight) + k - 1)
