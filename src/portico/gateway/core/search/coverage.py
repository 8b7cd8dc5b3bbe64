"""How much of what a tool is called a question speaks of, by the nearness of single words.

A long question dilutes the vector of the whole, and a tool's name is short: asking which part of
the *name* is met by any word of the question finds what both the vector and exact words miss.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]

_LONGEST: Final = 8
"""Words of a name; what comes after them is not looked at."""


@dataclass(frozen=True, slots=True)
class NameCoverage:
    vectors: Floats
    """One column a word that any tool is called by."""
    places: NDArray[np.int64]
    """Which words each tool is called by: a row for the first of each, one for the second, and so
    on, which is three times as fast as a row a tool."""
    shares: Floats

    @classmethod
    def of(
        cls,
        names: Sequence[Sequence[str]],
        vocabulary: Sequence[str],
        vectors: Floats,
        rarity: Sequence[float],
    ) -> Self:
        """A rare word of a name counts more than a common one."""
        place = {word: number for number, word in enumerate(vocabulary)}
        columns = zip_longest(*([place[word] for word in name[:_LONGEST]] for name in names))
        rows = [[-1 if each is None else each for each in column] for column in columns]
        places = np.array(rows, np.int64).reshape(len(rows), len(names))
        amounts = np.append(np.array(rarity, np.float32), np.float32(0))[places]
        totals = amounts.sum(axis=0, keepdims=True)
        shares = np.asarray(amounts / np.where(totals > 0, totals, 1), np.float32)
        return cls(np.ascontiguousarray(vectors.T), np.maximum(places, 0), shares)

    def scores(self, words: Floats, groups: Sequence[Sequence[int]]) -> Floats:
        """One row a group of the question's words, one column a tool."""
        found = np.zeros((len(groups), self.places.shape[1]), np.float32)
        filled = [number for number, group in enumerate(groups) if group]
        if filled:
            nearness = np.maximum(words @ self.vectors, 0)
            best = np.stack([nearness[list(groups[number])].max(axis=0) for number in filled])
            found[filled] = self._met(best)
        return found

    def _met(self, best: Floats) -> Floats:
        met = np.zeros((len(best), self.places.shape[1]), np.float32)
        for places, shares in zip(self.places, self.shares, strict=True):
            part = best.take(places, axis=1, mode="clip")
            part *= shares
            met += part
        return met
