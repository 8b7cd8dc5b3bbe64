"""Words and vectors weighed into one probability a tool, and several questions into one list."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]

LEXICAL: Final = "lexical"
STATIC: Final = "static"
ENCODER: Final = "encoder"
NAMES: Final = "names"

_WHOLE_BESIDE_STEPS: Final = 0.5
_SURE: Final = np.float32(1 - 1e-6)
_NEVER: Final = np.float32(1e-30)


@dataclass(frozen=True, slots=True)
class Weights:
    """Of the log-odds; learnt, so that what they sum to is comparable between questions."""

    of: Mapping[str, float]
    server: float = 0.2
    """In standard deviations of the sum: a nudge towards servers whose own text fits."""


def logits(evidence: Mapping[str, Floats], server: Floats | None, weights: Weights) -> Floats:
    """One row a text, one column a tool."""
    parts = [evidence[name] * np.float32(weight) for name, weight in weights.of.items()]
    found: Floats = np.sum(parts, axis=0)
    if server is None or found.shape[1] == 0:
        return found
    found += np.float32(weights.server) * found.std(axis=1, keepdims=True) * server
    return found


def log_softmax(rows: Floats) -> Floats:
    shifted: Floats = rows - rows.max(axis=1, keepdims=True)
    shifted -= np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return shifted


def any_of(log_probabilities: Floats) -> Floats:
    """The log-probability that a tool answers at least one of the rows."""
    none = np.log1p(-np.minimum(np.exp(log_probabilities), _SURE)).sum(axis=0)
    return np.asarray(np.log(-np.expm1(none) + _NEVER), np.float32)


def scored(log_odds: Floats, *, steps: bool) -> Floats:
    """A log-probability a tool. The first row is the whole question, the others its parts: a tool
    is to fit the whole and one of the parts. Where parts were told apart by whoever asks, they
    say more than the whole does."""
    known = log_softmax(log_odds)
    if len(known) == 1:
        return known.reshape(-1)
    share = np.float32(_WHOLE_BESIDE_STEPS if steps else 1)
    both: Floats = share * known[:1] + any_of(known[1:])
    return log_softmax(both).reshape(-1)


def standardised(rows: Floats) -> Floats:
    spread = rows.std(axis=1, keepdims=True)
    centred: Floats = rows - rows.mean(axis=1, keepdims=True)
    return np.asarray(centred / np.where(spread > 1e-6, spread, 1), np.float32)
