"""Rank the tools of a catalogue for some queries, and say whether any of them fits."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from portico.gateway.build_index import Finder
from portico.gateway.core.search.fusion import ENCODER, STATIC
from portico.gateway.core.search.question import Question, texts_to_embed
from portico.gateway.core.search.ranking import Hit
from portico.gateway.core.tool import ToolRef
from portico.gateway.encode_query import EncodeQuery
from portico.gateway.ports import Embedder

_ENOUGH: Final = 0.98
"""Of all the likelihood there is; what comes after is hardly the tool that was meant."""
_AT_LEAST: Final = 5


@dataclass(frozen=True, slots=True)
class Match:
    ref: ToolRef
    score: float
    why: str


@dataclass(frozen=True, slots=True)
class Matches:
    found: Sequence[Match]
    fits: bool
    elsewhere: Sequence[str] = ()
    """Servers whose tools may not be found, but come into question more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LookUp:
    static: Embedder
    encode: EncodeQuery | None

    async def __call__(self, finder: Finder, queries: Sequence[str], limit: int) -> Matches:
        question = Question.of(queries)
        vectors = await self._vectors(finder, question)
        ranking = finder.live.search(question, vectors, limit, allowed=finder.allowed)
        found = [
            Match(ToolRef.parse(hit.ref), hit.probability, str(hit.why))
            for hit in _likely(ranking.hits, len(queries))
        ]
        if ranking.fits:
            return Matches(found, fits=True)
        hidden = finder.waiting.search(question, {STATIC: vectors[STATIC]}, limit)
        better = hidden.fits or hidden.confidence > ranking.confidence
        return Matches(found, fits=False, elsewhere=hidden.servers if better else ())

    async def _vectors(
        self, finder: Finder, question: Question
    ) -> Mapping[str, NDArray[np.float32]]:
        """The encoder's only where the tools have such, and if it answers soon: search goes on
        without."""
        texts = texts_to_embed(question)
        vectors = {STATIC: await self.static.embed(texts[STATIC])}
        if self.encode is not None and ENCODER in finder.live.vectors:
            encoded = await self.encode(texts[ENCODER])
            if encoded is not None:
                vectors[ENCODER] = encoded
        return vectors


def _likely(hits: Sequence[Hit], steps: int) -> Sequence[Hit]:
    """The first few, and then for as long as something is missing: each step has a tool."""
    sum_so_far = 0.0
    for number, hit in enumerate(hits):
        if number >= _AT_LEAST and sum_so_far >= _ENOUGH * steps:
            return hits[:number]
        sum_so_far += hit.probability
    return hits
