"""How much of what a tool is called a question speaks of, by the nearness of single words.

A long question dilutes the vector of the whole, and a tool's name is short: asking which part of
the *name* is met by any word of the question finds what both the vector and exact words miss.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class NameCoverage:
    vectors: Floats
    """One column a word that any tool is called by."""
    places: NDArray[np.int64]
    shares: Floats
    starts: NDArray[np.int64]

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
        weights = np.array(rarity, np.float32)
        filled = [[place[word] for word in name] or [-1] for name in names]
        sizes = [len(name) for name in filled]
        places = np.fromiter((each for name in filled for each in name), np.int64, sum(sizes))
        starts = np.concatenate([[0], np.cumsum(sizes[:-1])]).astype(np.int64)[: len(sizes)]
        amounts = np.where(places >= 0, np.append(weights, 0)[places], 0).astype(np.float32)
        totals = _summed(amounts[None], starts)[0] if sizes else amounts
        shares = amounts / np.repeat(np.where(totals > 0, totals, 1), sizes)
        return cls(
            np.ascontiguousarray(vectors.T),
            np.maximum(places, 0),
            shares.astype(np.float32),
            starts,
        )

    def scores(self, words: Floats, groups: Sequence[Sequence[int]]) -> Floats:
        """One row a group of the question's words, one column a tool."""
        found = np.zeros((len(groups), len(self.starts)), np.float32)
        filled = [number for number, group in enumerate(groups) if group]
        if filled and self.vectors.size:
            nearness = words @ self.vectors
            best = np.stack([nearness[list(groups[number])].max(axis=0) for number in filled])
            met = np.take(np.maximum(best, 0), self.places, axis=1, mode="clip")
            met *= self.shares
            found[filled] = _summed(met, self.starts)
        return found


def _summed(rows: Floats, starts: NDArray[np.int64]) -> Floats:
    summed: Floats = np.add.reduceat(rows, starts, axis=1)
    return summed
