"""A set of questions and tools made ready to be searched, and what speaks for each of its tools."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from benchmarks.kept_vectors import KeptVectors
from benchmarks.listwise import Candidates
from portico.bench.search import Embeds
from portico.bench.tool_sets import FIVE, META, MULTI, ToolSet, evenly
from portico.gateway.core.search import (
    BACKGROUND,
    Question,
    SearchIndex,
    texts_to_embed,
    texts_to_index,
)
from portico.gateway.core.search_scoring import ENCODER, SHIPPED, STATIC, Evidence, Learning
from portico.gateway.core.search_text import Stem

Floats = NDArray[np.float32]

_TO_LEARN_FROM: Final = 500
_TO_JUDGE_BY: Final = 300
_STRANGERS: Final = 75
"""Questions of each other set, none of which is meant for this one's tools."""


@dataclass(frozen=True)
class Encoded:
    """What a sentence encoder makes of a set: the same whatever else changes."""

    embedder: Embeds
    kept: KeptVectors
    tools: Sequence[str]
    asked: Sequence[str]

    @cached_property
    def of_tools(self) -> Floats:
        return self.kept.of(self.embedder, self.tools)

    @cached_property
    def of_texts(self) -> Mapping[str, Floats]:
        return dict(zip(self.asked, self.kept.of(self.embedder, self.asked), strict=True))


@dataclass(frozen=True)
class Prepared:
    tool_set: ToolSet
    strangers: Mapping[str, Sequence[Question]]
    """By the set that they come from."""
    stem: Stem

    @cached_property
    def questions(self) -> Sequence[Question]:
        return [Question.of([text]) for text in self.tool_set.questions]

    @cached_property
    def steps(self) -> Sequence[Question]:
        return [Question.of(steps or ("none",)) for steps in self.tool_set.steps]

    @property
    def to_judge_by(self) -> Sequence[Question]:
        return [self.questions[place] for place in evenly(len(self.questions), _TO_JUDGE_BY)]

    def encoded(self, embedder: Embeds, kept: KeptVectors) -> Encoded:
        others = (question for some in self.strangers.values() for question in some)
        texts = (text for each in (*self.questions, *self.steps, *others) for text in each.texts)
        tools = texts_to_index(self.tool_set.tools)[ENCODER]
        return Encoded(embedder, kept, tools, list(dict.fromkeys(texts)))

    def searched(
        self, static: Embeds, encoded: Encoded | None, learning: Learning = SHIPPED
    ) -> "Searched":
        wanted = texts_to_index(self.tool_set.tools)
        vectors = {STATIC: static.embed_now(wanted[STATIC])}
        if encoded is not None:
            vectors[ENCODER] = encoded.of_tools
        index = SearchIndex.build(self.tool_set.tools, vectors, stem=self.stem, learning=learning)
        return Searched(self, static, encoded, index)


@dataclass(frozen=True)
class Searched:
    prepared: Prepared
    static: Embeds
    encoded: Encoded | None
    index: SearchIndex

    def evidence(self, question: Question) -> Evidence:
        vectors = {STATIC: self.static.embed_now(texts_to_embed(question)[STATIC])}
        if self.encoded is not None:
            vectors[ENCODER] = np.stack([self.encoded.of_texts[each] for each in question.texts])
        return self.index.evidence(question, vectors)

    @cached_property
    def background(self) -> Evidence:
        vectors = {STATIC: self.static.embed_now(texts_to_embed(BACKGROUND)[STATIC])}
        if self.encoded is not None:
            vectors[ENCODER] = self.encoded.of_tools[-len(BACKGROUND.texts) :]
        return self.index.evidence(BACKGROUND, vectors)

    def lessons(self, kinds: Sequence[Sequence[str]]) -> Sequence[Sequence[Candidates]]:
        """For each choice of evidence, of some hundred questions."""
        asked = evenly(len(self.prepared.questions), _TO_LEARN_FROM)
        found = [self._lesson(place, kinds) for place in asked]
        return [[each[number] for each in found] for number in range(len(kinds))]

    def _lesson(self, place: int, kinds: Sequence[Sequence[str]]) -> Sequence[Candidates]:
        question = self.prepared.questions[place]
        gold = sorted({tool for group in self.prepared.tool_set.gold[place] for tool in group})
        rows = self.evidence(question.as_a_whole).rows
        return [
            Candidates.of(np.concatenate([rows[name] for name in some]), gold) for some in kinds
        ]


def prepare(sets: Mapping[str, ToolSet], stem: Stem) -> Mapping[str, Prepared]:
    strangers = {name: [Question.of([text]) for text in _some(sets[name])] for name in FIVE}
    return {
        name: Prepared(
            each,
            {other: some for other, some in strangers.items() if name not in {other, MULTI}},
            stem,
        )
        for name, each in sets.items()
    }


def others(held_out: str, names: Sequence[str]) -> Iterator[str]:
    """Which sets may be learnt from when this one is to be searched."""
    for name in names:
        if name != held_out and {name, held_out} != {META, MULTI}:
            yield name


def _some(tool_set: ToolSet) -> Sequence[str]:
    return [tool_set.questions[place] for place in evenly(len(tool_set.questions), _STRANGERS)]
