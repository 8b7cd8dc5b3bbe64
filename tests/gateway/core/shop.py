"""A small catalogue and a table of word vectors, in which a few words mean nearly the same."""

from collections.abc import Mapping, Sequence
from functools import cache
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray

from portico.gateway.core.search import Question, SearchIndex, texts_to_embed, texts_to_index
from portico.gateway.core.search_scoring import ENCODER, STATIC
from portico.gateway.core.search_text import ToolText, words

Floats = NDArray[np.float32]

MEANINGS = {"mail": "email", "letter": "email", "rain": "weather", "photo": "picture"}


def plain_stem(word: str) -> str:
    return word[:-1] if word.endswith("s") and len(word) > 3 else word


def embedded(texts: Sequence[str], dimensions: int = 48) -> Floats:
    """The mean of what words mean."""
    found = np.zeros((len(texts), dimensions), np.float32)
    for place, text in enumerate(texts):
        for word in words(text):
            found[place] += _meaning(plain_stem(word), dimensions)
    lengths = np.linalg.norm(found, axis=1, keepdims=True)
    return np.asarray(found / np.where(lengths > 0, lengths, 1), np.float32)


@cache
def _meaning(stem: str, dimensions: int) -> Floats:
    """Drawn by its own letters."""
    seed = sha256(MEANINGS.get(stem, stem).encode()).digest()[:8]
    return np.random.default_rng(int.from_bytes(seed)).standard_normal(dimensions, np.float32)


def a_tool(
    ref: str, description: str = "", *, about: str = "", parameters: Sequence[tuple[str, str]] = ()
) -> ToolText:
    server, _, name = ref.rpartition(".")
    return ToolText(ref, server, name, description, tuple(parameters), about)


TOOLS = (
    a_tool("post.send_email", "Send an email to somebody", about="Letters and parcels"),
    a_tool("post.track_parcel", "Where a parcel is now", about="Letters and parcels"),
    a_tool("sky.get_forecast", "The weather of the next days", about="Weather of the world"),
    a_tool("files.read_file", "Read a text file", parameters=(("path", "where it lies"),)),
    a_tool("files.delete_file", "Delete a file for ever", parameters=(("path", "which one"),)),
    a_tool("pictures.resizeImage", "Make a picture smaller or larger"),
)


def index_of(
    tools: Sequence[ToolText],
    models: Sequence[str] = (STATIC, ENCODER),
    *,
    reuse: SearchIndex | None = None,
) -> SearchIndex:
    wanted = texts_to_index(tools)
    vectors = {model: embedded(wanted[model]) for model in models}
    return SearchIndex.build(tools, vectors, stem=plain_stem, reuse=reuse)


def vectors_for(
    question: Question, models: Sequence[str] = (STATIC, ENCODER)
) -> Mapping[str, Floats]:
    wanted = texts_to_embed(question)
    return {model: embedded(wanted[model]) for model in models}
