"""Each set of plans searched as the product searches: the whole intent, and its sub-steps."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from benchmarks.suggest_sets import SuggestSet, Wanted
from portico.adapters.stemming import stem
from portico.bench.search import Embeds
from portico.gateway.core.search import Question, SearchIndex, texts_to_embed, texts_to_index
from portico.gateway.core.search_scoring import STATIC, Learning
from portico.learning.core.intents import sub_steps, without_values
from portico.learning.core.past_plans import (
    PastPlan,
    PastPlans,
    Searched,
    SuggestionRequest,
    ToolStatistics,
    words_of,
)

HITS: Final = 40
_FOLDS: Final = 5


@dataclass(frozen=True)
class Ready:
    """A set, and all that does not depend on which of its plans are known."""

    of: SuggestSet
    table: Embeds
    learning: Learning

    @cached_property
    def index(self) -> SearchIndex:
        vectors = {STATIC: self.table.embed_now(texts_to_index(self.of.tools)[STATIC])}
        return SearchIndex.build(self.of.tools, vectors, stem=stem, learning=self.learning)

    @cached_property
    def vectors(self) -> NDArray[np.float32]:
        return self.table.embed_now([without_values(plan.intent) for plan in self.of.plans])

    @cached_property
    def searched(self) -> Sequence[Sequence[Searched]]:
        return [self._searched(plan) for plan in self.of.plans]

    def _searched(self, plan: Wanted) -> Sequence[Searched]:
        parts = sub_steps(plan.intent)
        texts = [plan.intent, *(parts if len(parts) > 1 else [])]
        return [self._found(text) for text in texts]

    def _found(self, text: str) -> Searched:
        question = Question.of([text])
        vectors = {STATIC: self.table.embed_now(texts_to_embed(question)[STATIC])}
        ranking = self.index.search(question, vectors, HITS)
        hits = {hit.ref: hit.probability for hit in ranking.hits}
        return Searched(text, hits, ranking.fits)

    def folds(self, about: Sequence[str]) -> Sequence["Fold"]:
        """Plans about one thing are in one fold."""
        names = sorted(set(about))
        drawn = np.random.default_rng(0).permutation(len(names))
        fold = {names[place]: number % _FOLDS for number, place in enumerate(drawn)}
        places = np.array([fold[name] for name in about])
        return [Fold(self, np.flatnonzero(places == each)) for each in range(_FOLDS)]


@dataclass(frozen=True)
class Fold:
    """Some plans are asked for, and all the others were seen."""

    ready: Ready
    asked_for: NDArray[np.int64]

    @cached_property
    def past(self) -> PastPlans:
        plans = self.ready.of.plans
        known = np.setdiff1d(np.arange(len(plans)), self.asked_for)
        seen = [PastPlan(id=f"{place}", steps=plans[place].steps) for place in known]
        return PastPlans.of(
            seen, self.ready.vectors[known], [words_of(plans[place].intent) for place in known]
        )

    @cached_property
    def learnt(self) -> ToolStatistics:
        return ToolStatistics.of(self.past.plans)

    def asked(self, place: int) -> SuggestionRequest:
        intent = self.ready.of.plans[place].intent
        near = self.past.nearest(self.ready.vectors[place], words_of(intent))
        return SuggestionRequest(intent=intent, searched=self.ready.searched[place], near=near)


Sets = Mapping[str, Ready]
