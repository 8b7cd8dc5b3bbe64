"""How likely a prediction is to be used, by how sure it looked and by what became of such ones.

The weights were fitted on sessions of one seed, by logistic regression over what shadow records
would have said, some of it of work that nobody had done before; what is quoted is measured on
another seed (decision 0117).
"""

from math import exp, log, log1p
from typing import Final, NamedTuple

SURE: Final = 0.42
"""That a prediction must reach to be acted on."""
SURE_WISHED: Final = 0.32
"""The same where the caller's words have named what is called for."""
_LEAST: Final = 0.01


class Evidence(NamedTuple):
    raw: float
    """At first sight: of its form, times of each argument."""
    beside: float
    """Of all that was predicted together with it, and of itself."""
    made: tuple[int, int]
    """Of the same form with the same derivations: how often predicted, how often used."""
    edge: tuple[int, int]
    """The same of its edge, as sure as it is."""
    known: float
    """Of the signs that are seen, the share under which its form was ever called."""


def calibrated(it: Evidence) -> float:
    odds = (
        -0.98
        + 0.40 * _odds(it.raw)
        - 0.91 * it.beside
        + 0.59 * _odds(_share(it.made))
        + 0.09 * log1p(it.made[0])
        + 0.60 * _odds(_share(it.edge))
        - 0.02 * log1p(it.edge[0])
        + 1.83 * it.known
    )
    return 1 / (1 + exp(-odds))


def _share(count: tuple[int, int]) -> float:
    tried, hit = count
    return (hit + 1) / (tried + 3)


def _odds(share: float) -> float:
    share = min(1 - _LEAST, max(_LEAST, share))
    return log(share / (1 - share))
