"""Vectors of texts: which model made them, and the key that a vector is kept under."""

from dataclasses import dataclass
from hashlib import sha256
from typing import Final

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
