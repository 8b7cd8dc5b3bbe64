"""How near two texts are in meaning, by vectors that somebody made of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Meanings:
    vectors: Mapping[str, Floats]

    @classmethod
    def of(cls, texts: Sequence[str], vectors: Floats) -> Self:
        """One row a text, each of length one."""
        return cls(dict(zip(texts, vectors, strict=True)))

    @classmethod
    def none(cls) -> Self:
        """Everything is as far from everything."""
        return cls({})

    def rows(self, texts: Sequence[str]) -> Floats:
        """One a text; noughts where there is no vector."""
        found = [self.vectors.get(text) for text in texts]
        size = next((len(each) for each in found if each is not None), 1)
        nowhere = np.zeros(size, np.float32)
        return np.array([nowhere if each is None else each for each in found]).reshape(-1, size)

    def similarities(self, one: str, others: Sequence[str]) -> Floats:
        """Nought where either has no vector."""
        here = self.vectors.get(one)
        if here is None:
            return np.zeros(len(others), np.float32)
        rows = self.rows(others)
        return rows @ here if rows.shape[1] == len(here) else np.zeros(len(others), np.float32)


def nearness(some: Floats, others: Floats) -> Sequence[Sequence[float]]:
    """One list a row of the first, one number a row of the second."""
    if some.shape[1] != others.shape[1]:  # nothing is known of one of them
        return [[0.0] * len(others)] * len(some)
    found: Sequence[Sequence[float]] = (some @ others.T).tolist()
    return found
