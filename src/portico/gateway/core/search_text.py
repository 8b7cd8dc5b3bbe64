"""Text for search: words, lexical index, embeddings."""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import chain
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

# A tool and a question as words. All of it is strangers' text, so each part has a longest size.

_LONGEST_NAME: Final = 300
_LONGEST_DESCRIPTION: Final = 8_000
_LONGEST_PARAMETER: Final = 1_000
_MOST_PARAMETERS: Final = 100
_LONGEST_WORD: Final = 64
"""Longer ones are keys, hashes and padding, which nobody asks for."""

_JOINTS: Final = re.compile(r"[_\-./:]+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")

_IDEOGRAPHS: Final = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
_MARKS: Final = "\u0300-\u036f\u0900-\u0eff"
"""Accents and vowel signs, which stand beside letters without being letters."""
_WORD: Final = re.compile(rf"[{_IDEOGRAPHS}]|(?:[^\W_{_IDEOGRAPHS}]|[{_MARKS}])+")

_STOP_LIST: Final = """
a about after all also an and any are as assistance at be been but by can could d do does
finally find first for from give given has have he help her here his how i if im in into is it
its just know lastly let like ll looking m may me might more most my need next no not of on or
our out over please provide re s she should show so some specific t tell than that the their
them then there they this to up us use using ve want was we were what when where which who why
will with would you your additionally
"""
STOP_WORDS: Final = frozenset(_STOP_LIST.split())


FIELDS: Final = ("name", "description", "server", "parameter", "parameter description")


@dataclass(frozen=True, slots=True)
class ToolText:
    ref: str
    server: str
    name: str
    description: str
    parameters: tuple[tuple[str, str], ...]
    """Each parameter's name and what is said about it."""
    about_server: str


def split_identifier(text: str) -> str:
    """`getHTTPUser_byId` as `get HTTP User by Id`."""
    return _JOINTS.sub(" ", text)


def words(text: str) -> list[str]:
    """In lower case and in order, without those that say nothing. Where a script puts no spaces
    between words, each of its characters is one."""
    plain = text if text.isascii() else unicodedata.normalize("NFKC", text)
    found = _WORD.findall(split_identifier(plain).lower())
    return [word[:_LONGEST_WORD] for word in found if word not in STOP_WORDS]


def fields(tool: ToolText) -> tuple[str, ...]:
    """In the order of `FIELDS`."""
    parameters = tool.parameters[:_MOST_PARAMETERS]
    return (
        tool.name[:_LONGEST_NAME],
        tool.description[:_LONGEST_DESCRIPTION],
        tool.server[:_LONGEST_NAME],
        " ".join(name[:_LONGEST_NAME] for name, _ in parameters),
        " ".join(told[:_LONGEST_PARAMETER] for _, told in parameters),
    )


def dense_text(tool: ToolText) -> str:
    """What a model is given to make the tool's vector of."""
    name, description, server, *_ = fields(tool)
    called = split_identifier(f"{server} {name}").strip()
    named = [split_identifier(each[:_LONGEST_NAME]) for each, _ in tool.parameters]
    told = ", ".join(named[:_MOST_PARAMETERS])
    return f"{called}: {description}" + (f" Parameters: {told}" if told else "")


def server_text(tool: ToolText) -> str:
    about = tool.about_server[:_LONGEST_DESCRIPTION]
    return f"{split_identifier(tool.server[:_LONGEST_NAME])}: {about}"


def name_words(tool: ToolText) -> Sequence[str]:
    """What the tool and its server are called, each word once."""
    name, _, server, *_ = fields(tool)
    return list(dict.fromkeys(words(f"{server} {name}")))


# BM25F: how well words match, with a tool's fields weighed before the count is saturated.
#
# Scores are not scaled a query: how high the best one is says how much of the question was met.

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
    positions: Mapping[str, int]
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
            positions=places,
            starts=np.concatenate([[0], np.cumsum(found)]).astype(np.int64),
            postings=postings,
            impacts=impacts.astype(np.float32),
            rarity=rarity.astype(np.float32),
        )

    def scores(self, stems: Iterable[str]) -> Floats:
        """Of every document; each stem counts once."""
        found = np.zeros(len(self.documents), np.float32)
        for stem in dict.fromkeys(stems):
            place = self.positions.get(stem)
            if place is not None:
                among = slice(self.starts[place], self.starts[place + 1])
                found[self.postings[among]] += self.impacts[among]
        return found

    def rarity_of(self, stem: str) -> float:
        place = self.positions.get(stem)
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


STATIC: Final = "static"
REMOTE: Final = "remote"
"""Names that are no encoder's: the table that is always there, and a server elsewhere."""


@dataclass(frozen=True, slots=True)
class EmbeddingModel:
    """Two models with one fingerprint give the same vector for the same text."""

    name: str
    dimensions: int
    fingerprint: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredEncoder:
    """A sentence encoder that lies ready in a folder of this machine."""

    name: str
    dimensions: int
    max_tokens: int
    licence: str
    source: str
    adapter: str | None
    """What it was adapted with; None if it is as its makers left it."""
    size: int
    """Bytes on disk."""


def fingerprint(*parts: str) -> str:
    """Of everything that decides what a vector comes out as: weights, pooling, text limit.

    Each part is told apart from its neighbours, so that no two lists of parts meet."""
    told = sha256()
    for part in parts:
        encoded = part.encode(errors="surrogatepass")  # half a character: JSON lets it through
        told.update(len(encoded).to_bytes(8, "big") + encoded)
    return told.hexdigest()


def content_key(model: EmbeddingModel, text: str) -> str:
    """What the vector of `text` by `model` is kept under."""
    return fingerprint(model.fingerprint, text)
