"""The texts of a catalogue that need a vector before it can be searched, and where each goes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from portico.gateway.core.search.background import REQUESTS
from portico.gateway.core.search.fusion import ENCODER, STATIC
from portico.gateway.core.search.question import Question, texts_to_embed
from portico.gateway.core.search.servers import server_texts
from portico.gateway.core.search.text import ToolText, dense_text, name_words

Floats = NDArray[np.float32]

BACKGROUND: Final = Question.unrelated(REQUESTS)


@dataclass(frozen=True, slots=True)
class Parts:
    """The vectors of one kind of model."""

    tools: Floats
    servers: Floats
    background: Floats
    vocabulary: Floats


@dataclass(frozen=True, slots=True)
class IndexTexts:
    tools: Sequence[str]
    servers: Sequence[str]
    names: Sequence[Sequence[str]]
    vocabulary: Sequence[str]

    @classmethod
    def of(cls, tools: Sequence[ToolText]) -> Self:
        names = [name_words(tool) for tool in tools]
        return cls(
            tools=[dense_text(tool) for tool in tools],
            servers=server_texts(tools),
            names=names,
            vocabulary=list(dict.fromkeys(word for name in names for word in name)),
        )

    @property
    def to_embed(self) -> Mapping[str, Sequence[str]]:
        background = texts_to_embed(BACKGROUND)
        return {
            STATIC: [*self.tools, *self.servers, *background[STATIC], *self.vocabulary],
            ENCODER: [*self.tools, *self.servers, *background[ENCODER]],
        }

    def apart(self, model: str, vectors: Floats) -> Parts:
        """`vectors` has a row for each of what was to embed."""
        background = len(texts_to_embed(BACKGROUND)[model])
        ends = np.cumsum([len(self.tools), len(self.servers), background])
        if len(vectors) != len(self.to_embed[model]):
            raise ValueError(f"{len(vectors)} vectors for {len(self.to_embed[model])} texts")
        tools, servers, strangers, vocabulary = np.split(np.nan_to_num(vectors), ends)
        return Parts(tools, servers, strangers, vocabulary)


def texts_to_index(tools: Sequence[ToolText]) -> Mapping[str, Sequence[str]]:
    """By the kind of model that they are for. Most stay the same when a tool changes: whoever
    keeps vectors by their text makes none of them twice."""
    return IndexTexts.of(tools).to_embed
