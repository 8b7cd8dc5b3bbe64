"""BM25F: how well words match, with a tool's fields weighed before the count is saturated.

Scores are not scaled a query: how high the best one is says how much of the question was met.
"""

from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from portico.gateway.core.search.text import ToolText, fields, words

Stem = Callable[[str], str]
Floats = NDArray[np.float32]

FIELD_WEIGHTS: Final = (2.0, 1.0, 1.0, 0.3, 0.3)
"""In the order of `FIELDS`."""
_SATURATION: Final = 1.2
_LENGTH: Final = 0.5
"""How much a field's length counts against it, from 0 to 1."""


@dataclass(frozen=True, slots=True)
class Document:
    """Which stems a text has, in which of its fields, and how often."""

    stems: tuple[str, ...]
    fields: tuple[int, ...]
    counts: tuple[int, ...]
    lengths: tuple[int, ...]

    @classmethod
    def of(cls, fields: Sequence[Sequence[str]]) -> Self:
        counted = [Counter(stems) for stems in fields]
        return cls(
            stems=tuple(chain.from_iterable(counted)),
            fields=tuple(place for place, each in enumerate(counted) for _ in each),
            counts=tuple(chain.from_iterable(each.values() for each in counted)),
            lengths=tuple(len(stems) for stems in fields),
        )

    def fields_with(self, stems: Container[str]) -> Mapping[str, list[int]]:
        found: dict[str, list[int]] = {}
        for stem, field in zip(self.stems, self.fields, strict=True):
            if stem in stems:
                found.setdefault(stem, []).append(field)
        return found


def tool_document(tool: ToolText, stem: Stem) -> Document:
    return Document.of([[stem(word) for word in words(text)] for text in fields(tool)])


@dataclass(frozen=True, slots=True)
class Lexicon:
    documents: tuple[Document, ...]
    places: Mapping[str, int]
    """Where a stem's postings begin, as an index into `starts`."""
    starts: NDArray[np.int64]
    postings: NDArray[np.int64]
    impacts: Floats
    rarity: Floats

    @classmethod
    def of(cls, documents: Iterable[Document], weights: Sequence[float]) -> Self:
        documents = tuple(documents)
        places: dict[str, int] = {}
        stems = np.fromiter(
            (
                places.setdefault(stem, len(places))
                for document in documents
                for stem in document.stems
            ),
            np.int64,
        )
        terms, postings, amounts = _weighed(documents, stems, weights)
        found = np.bincount(terms, minlength=len(places))
        rarity = np.log1p((len(documents) - found + 0.5) / (found + 0.5))
        impacts = rarity[terms] * amounts * (_SATURATION + 1) / (amounts + _SATURATION)
        return cls(
            documents=documents,
            places=places,
            starts=np.concatenate([[0], np.cumsum(found)]).astype(np.int64),
            postings=postings,
            impacts=impacts.astype(np.float32),
            rarity=rarity.astype(np.float32),
        )

    def scores(self, stems: Iterable[str]) -> Floats:
        """Of every document; each stem counts once."""
        found = np.zeros(len(self.documents), np.float32)
        for stem in dict.fromkeys(stems):
            place = self.places.get(stem)
            if place is not None:
                among = slice(self.starts[place], self.starts[place + 1])
                found[self.postings[among]] += self.impacts[among]
        return found

    def rarity_of(self, stem: str) -> float:
        place = self.places.get(stem)
        if place is None:
            return float(np.log1p((len(self.documents) + 0.5) / 0.5))
        return float(self.rarity[place])


def _weighed(
    documents: tuple[Document, ...], stems: NDArray[np.int64], weights: Sequence[float]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Stem, document and weighed count, by stem and then document."""
    sizes = [len(document.stems) for document in documents]
    owners = np.repeat(np.arange(len(documents)), sizes)
    fields = np.fromiter(chain.from_iterable(each.fields for each in documents), np.int64)
    counts = np.fromiter(chain.from_iterable(each.counts for each in documents), np.float64)
    norms = _norms(documents, len(weights))
    amounts = np.asarray(weights)[fields] * counts / norms[owners, fields]
    keys, inverse = np.unique(stems * max(len(documents), 1) + owners, return_inverse=True)
    summed = np.asarray(np.bincount(inverse, amounts, minlength=len(keys)), np.float64)
    terms, postings = np.divmod(keys, max(len(documents), 1))
    return terms, postings, summed


def _norms(documents: tuple[Document, ...], fields: int) -> NDArray[np.float64]:
    lengths = np.array([each.lengths for each in documents], np.float64).reshape(-1, fields)
    usual = lengths.mean(axis=0) if len(documents) else np.ones(fields)
    norms: NDArray[np.float64] = 1 - _LENGTH + _LENGTH * lengths / np.where(usual > 0, usual, 1)
    return norms
