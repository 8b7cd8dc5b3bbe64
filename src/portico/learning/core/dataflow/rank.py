"""A parameter that no step of the plan gives: which tools of the whole catalogue could."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log1p
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from portico.gateway.core.search_text import STOP_WORDS
from portico.learning.core.dataflow.fit import Want
from portico.learning.core.dataflow.flows import NO_FLOWS, Flows
from portico.learning.core.dataflow.learnt import RANKING, WITHOUT_FLOWS, RankWeights
from portico.learning.core.dataflow.meanings import Meanings
from portico.learning.core.dataflow.shape import OutputField, Parameter
from portico.learning.core.dataflow.words import words

Floats = NDArray[np.float32]

_LONGEST: Final = 2_000
_MOST_OUTPUTS: Final = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A tool that might give something."""

    tool: str
    description: str = ""
    outputs: Sequence[OutputField] = ()

    @property
    def named(self) -> str:
        return " ".join(words(self.tool.rpartition(".")[2]))

    @property
    def told(self) -> str:
        names = dict.fromkeys(field.name for field in self.outputs[:_MOST_OUTPUTS])
        gives = f" Gives: {', '.join(' '.join(words(name)) for name in names)}" if names else ""
        return f"{self.named}: {self.description[:_LONGEST]}{gives}"


@dataclass(frozen=True, slots=True)
class Ranked:
    tool: str
    score: float
    """Log-odds against the others: to compare the tools for one parameter, and nothing else."""
    seen: int
    """How often something of this tool was given for a parameter called so."""


@dataclass(frozen=True, slots=True)
class Sources:
    """The catalogue, made ready once for many questions."""

    of: Sequence[Source]
    named: Sequence[str]
    told: Sequence[str]
    places: Mapping[str, NDArray[np.int64]]
    """Which tools speak of a word."""

    @classmethod
    def ready(cls, sources: Sequence[Source]) -> Self:
        told = [source.told for source in sources]
        places: dict[str, list[int]] = {}
        for place, text in enumerate(told):
            for word in frozenset(words(text)) - STOP_WORDS:
                places.setdefault(word, []).append(place)
        return cls(
            of=sources,
            named=[source.named for source in sources],
            told=told,
            places={word: np.array(some, np.int64) for word, some in places.items()},
        )

    def texts_to_embed(self) -> Sequence[str]:
        return list(dict.fromkeys([*self.named, *self.told]))

    def by_text(self, parameter: Parameter, meanings: Meanings) -> Floats:
        """Three rows, one column a tool: near in meaning, named so, words in common."""
        name, told = texts_of(parameter)
        return np.stack(
            [
                meanings.similarities(told, self.told),
                meanings.similarities(name, self.named),
                self._words(Want.of(parameter)),
            ]
        )

    def by_flows(self, parameter: Parameter, flows: Flows) -> Floats:
        """Two rows: how often for anything, and how often for a parameter called so."""
        anything = [log1p(flows.from_producer(source.tool)) for source in self.of]
        called_so = [log1p(flows.called_so(source.tool, parameter.name)) for source in self.of]
        return np.array([anything, called_so], np.float32)

    def _words(self, want: Want) -> Floats:
        """The share of the parameter's words that a tool speaks of, rare ones counting more."""
        found, total = np.zeros(len(self.of), np.float32), 0.0
        for word in sorted(frozenset(words(want.told)) - STOP_WORDS):
            there = self.places.get(word, np.array([], np.int64))
            rarity = log1p((len(self.of) - len(there) + 0.5) / (len(there) + 0.5))
            found[there] += np.float32(rarity)
            total += rarity
        return np.asarray(found / np.float32(total or 1.0), np.float32)


def texts_of(parameter: Parameter) -> tuple[str, str]:
    """What is asked the vectors of: its name, and all that is said about it as a request."""
    want = Want.of(parameter)
    return want.named, f"get {want.named}: {parameter.description[:_LONGEST]}"


def rank_producers(
    parameter: Parameter,
    consumer: str,
    sources: Sources,
    meanings: Meanings,
    flows: Flows = NO_FLOWS,
) -> Sequence[Ranked]:
    """Best first, without the tool that wants it. Without any flow what is said counts alone."""
    weights = RANKING if flows.by_producer else WITHOUT_FLOWS
    scores = weighed(
        np.concatenate([sources.by_text(parameter, meanings), sources.by_flows(parameter, flows)]),
        weights,
    )
    return [
        Ranked(tool, float(scores[place]), flows.called_so(tool, parameter.name))
        for place in np.argsort(-scores, kind="stable")
        if (tool := sources.of[place].tool) != consumer
    ]


def weighed(signs: Floats, weights: RankWeights) -> Floats:
    scores: Floats = np.asarray(weights, np.float32) @ signs
    return scores
