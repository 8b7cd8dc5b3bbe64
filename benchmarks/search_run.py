"""One set at a time is left out: everything is learnt from the others, and then it is searched."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from benchmarks.kept_vectors import KeptVectors
from benchmarks.search_folds import (
    BARE,
    BM25_ALONE,
    DEFAULT,
    ENCODED,
    FULL,
    SPIKE,
    SPIKE_ENCODED,
    Kind,
    Places,
    Way,
    learn,
    search,
)
from benchmarks.search_models import PLAIN, Tables, token_lesson
from benchmarks.search_sets import Encoded, Prepared, Searched, others
from benchmarks.search_strangers import Verdicts, judge, learn_judgements
from benchmarks.token_weights import Lesson, learn_token_weights
from portico.bench.search import Embeds
from portico.bench.tool_sets import MULTI
from portico.gateway.core.search_scoring import LearnedWeights


@dataclass(frozen=True, slots=True)
class Fold:
    """What became of the set that was left out, and what was learnt from the others."""

    places: Mapping[str, Places]
    """By the way in which it was searched."""
    verdicts: Mapping[Kind, Verdicts]
    learnt: Mapping[Kind, LearnedWeights]
    tokens: NDArray[np.float16]


@dataclass(frozen=True)
class Sets:
    prepared: Mapping[str, Prepared]
    encoders: Mapping[str, Embeds] | None
    """By the set that they have not seen, and plain."""
    kept: KeptVectors
    tables: Tables

    def fold(self, held_out: str) -> Fold:
        learnt_from = list(others(held_out, list(self.prepared)))
        lessons = [self._lessons[name] for name in learnt_from]
        tokens = learn_token_weights(lessons, self.tables.plain.table.astype(np.float64))
        table = self.tables.weighted(held_out, tokens)
        searched = {name: self._searched(name, table) for name in (*learnt_from, held_out)}
        learnt = self._learnt(searched, held_out)
        places = search(searched[held_out], dict(_ways(learnt)))
        return Fold(
            places={**places, **self._before(held_out)},
            verdicts=judge(searched[held_out], learnt),
            learnt=learnt,
            tokens=tokens,
        )

    def _learnt(
        self, searched: Mapping[str, Searched], held_out: str
    ) -> Mapping[Kind, LearnedWeights]:
        kinds = [BARE, DEFAULT, *([ENCODED, FULL] if self.encoders else [])]
        weights = learn(searched, held_out, kinds)
        judges = [each for name, each in searched.items() if name not in {held_out, MULTI}]
        judgements = learn_judgements(judges, held_out, weights)
        return {kind: LearnedWeights(weights[kind], judgements[kind]) for kind in kinds}

    def _before(self, held_out: str) -> Mapping[str, Places]:
        """The same without what was found since: words alone, and the notes' configuration, with
        and without the nearness of names; the table and the encoder as their makers left them."""
        kinds = {"spike": SPIKE, "spike_names": DEFAULT}
        if self.encoders:
            kinds |= {"spike_onnx": SPIKE_ENCODED, "spike_onnx_names": FULL}
        weights = learn(self._plain, held_out, list(kinds.values()))
        ways = {name: Way(weights[kind]) for name, kind in kinds.items()}
        ways["bm25"] = Way(BM25_ALONE, whole_only=True)
        return search(self._plain[held_out], ways)

    def _searched(self, name: str, table: Embeds) -> Searched:
        return self.prepared[name].searched(table, self._encoded.get(name))

    @cached_property
    def _encoded(self) -> Mapping[str, Encoded]:
        known = self.encoders or {}
        return {
            name: each.encoded(known[name], self.kept)
            for name, each in self.prepared.items()
            if known
        }

    @cached_property
    def _plain(self) -> Mapping[str, Searched]:
        table = self.tables.plain
        encoder = self.encoders[PLAIN] if self.encoders else None
        return {
            name: each.searched(table, each.encoded(encoder, self.kept) if encoder else None)
            for name, each in self.prepared.items()
        }

    @cached_property
    def _lessons(self) -> Mapping[str, Lesson]:
        table = self.tables.plain
        return {name: token_lesson(each, table) for name, each in self._plain.items()}


def _ways(learnt: Mapping[Kind, LearnedWeights]) -> Iterator[tuple[str, Way]]:
    names: Sequence[tuple[str, Kind]] = (("default", DEFAULT), ("onnx", FULL))
    for name, kind in names:
        if kind in learnt:
            yield name, Way(learnt[kind].weights)
            yield f"{name}_uncut", Way(learnt[kind].weights, whole_only=True)
