"""Which tool of a whole catalogue gives a parameter: ToolLinkOS, whose answers are known."""

import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from benchmarks.edge_lessons import Embed
from benchmarks.edge_sets import FILES
from benchmarks.minimise import Point, minimise
from portico.kernel.json import JsonObject
from portico.learning.core.dataflow import RankWeights, Source, Sources, texts_of, weighed
from portico.learning.core.dataflow_fields import Flow, Flows, Meanings, Parameter

_DEPTHS: Final = (1, 5, 10, 20)
_SPLITS: Final = 20
_BY_TEXT: Final = 3
"""Rows of signs that nothing has to be seen for."""
_RIDGE: Final = 0.3
_STEPS: Final = 100
_ALL: Final = 100.0
_NOWHERE: Final = -1e9

Signs = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Need:
    consumer: str
    parameter: Parameter
    givers: frozenset[int]
    """Any of them is right."""


@dataclass(frozen=True, slots=True)
class Catalogue:
    sources: Sources
    needs: tuple[Need, ...]

    @property
    def consumers(self) -> Sequence[str]:
        return sorted({need.consumer for need in self.needs})

    def flows(self, consumers: frozenset[str]) -> Counter[Flow]:
        """What these tools would have taught."""
        return Counter(
            Flow(self.sources.of[giver].tool, "", need.consumer, need.parameter.name)
            for need in self.needs
            if need.consumer in consumers
            for giver in need.givers
        )


def read_catalogue(folder: Path) -> Catalogue:
    told = json.loads((folder / FILES[2]).read_text("utf-8"))
    tools = [Source(tool=each["id"], description=each["description"]) for each in told["tools"]]
    place = {tool.tool: number for number, tool in enumerate(tools)}
    givers: dict[tuple[str, str], set[int]] = defaultdict(set)
    for edge in told["edges"]:
        known = edge["param"] and edge["source"] in place and edge["target"] in place
        if known and edge["type"].startswith("PARAMETER"):
            givers[edge["target"], edge["param"]].add(place[edge["source"]])
    described = {
        (tool["id"], each["name"]): each.get("description") or ""
        for tool in told["tools"]
        for each in tool["params"]
    }
    needs = [
        Need(
            tool, Parameter(name=name, description=described.get((tool, name), "")), frozenset(some)
        )
        for (tool, name), some in givers.items()
    ]
    return Catalogue(Sources.ready(tools), tuple(needs))


@dataclass(frozen=True, slots=True)
class Hits:
    """The share of parameters with a right tool among the first so many, by split."""

    rows: NDArray[np.float64]

    def told(self) -> JsonObject:
        mean, spread = self.rows.mean(axis=0), self.rows.std(axis=0)
        return {
            f"hit{depth}": {"mean": round(float(one), 4), "sd": round(float(other), 4)}
            for depth, one, other in zip(_DEPTHS, mean, spread, strict=True)
        }

    def at(self, depth: int) -> float:
        return round(float(self.rows.mean(axis=0)[_DEPTHS.index(depth)]), 4)


@dataclass(frozen=True, slots=True)
class Ranking:
    catalogue: Catalogue
    by_text: NDArray[np.float32]
    """By need, sign and tool."""

    @classmethod
    def of(cls, catalogue: Catalogue, embed: Embed) -> "Ranking":
        asked = [text for need in catalogue.needs for text in texts_of(need.parameter)]
        texts = list(dict.fromkeys([*catalogue.sources.texts_to_embed(), *asked]))
        meanings = Meanings.of(texts, embed(texts))
        sources = catalogue.sources
        rows = [sources.by_text(need.parameter, meanings) for need in catalogue.needs]
        return cls(catalogue, np.stack(rows))

    def measure(self) -> Mapping[str, Hits]:
        """Half of the tools that need something teach, the others are asked; twenty times. Weights
        and flows are of the first half alone."""
        draw = np.random.default_rng(0)
        consumers = self.catalogue.consumers
        found: dict[str, list[list[float]]] = {"with_prior": [], "without_prior": [], "prior": []}
        for _ in range(_SPLITS):
            taught = frozenset(draw.choice(consumers, len(consumers) // 2, replace=False).tolist())
            for name, hits in self._split(taught).items():
                found[name].append(hits)
        return {name: Hits(np.array(rows)) for name, rows in found.items()}

    def learnt(self) -> tuple[RankWeights, RankWeights]:
        """From all of it: what ships."""
        places = range(len(self.catalogue.needs))
        signs = self.with_flows(places, frozenset(self.catalogue.consumers))
        return self._learn(signs, places), self._learn(signs[:, :_BY_TEXT], places)

    def with_flows(self, places: Sequence[int], taught: frozenset[str]) -> Signs:
        """A tool is never told what it would have taught itself."""
        seen: dict[str, Flows] = {}
        rows = []
        for place in places:
            need = self.catalogue.needs[place]
            if need.consumer not in seen:
                seen[need.consumer] = Flows.of(self.catalogue.flows(taught - {need.consumer}))
            flows = self.catalogue.sources.by_flows(need.parameter, seen[need.consumer])
            rows.append(np.concatenate([self.by_text[place], flows]))
        return np.stack(rows)

    def _split(self, taught: frozenset[str]) -> Mapping[str, list[float]]:
        needs = self.catalogue.needs
        lessons = [place for place, need in enumerate(needs) if need.consumer in taught]
        asked = [place for place, need in enumerate(needs) if need.consumer not in taught]
        learnt, signs = self.with_flows(lessons, taught), self.with_flows(asked, taught)
        full, bare = self._learn(learnt, lessons), self._learn(learnt[:, :_BY_TEXT], lessons)
        some = [needs[place] for place in asked]
        where = self._where(some)
        return {
            "with_prior": _hits(_scores(signs, full), where, some),
            "without_prior": _hits(_scores(signs, bare), where, some),
            "prior": _hits(_scores(signs, (0.0, 0.0, 0.0, 1.0, 1.0)), where, some),
        }

    def _where(self, needs: Sequence[Need]) -> NDArray[np.int64]:
        place = {source.tool: number for number, source in enumerate(self.catalogue.sources.of)}
        return np.array([place[need.consumer] for need in needs])

    def _learn(self, signs: Signs, places: Sequence[int]) -> RankWeights:
        """By how likely one of the right tools is among all, none of the weights below nought."""
        needs = [self.catalogue.needs[place] for place in places]
        where, rows = self._where(needs), np.arange(len(needs))
        right = np.zeros((len(needs), signs.shape[2]))
        for row, need in enumerate(needs):
            right[row, sorted(need.givers - {int(where[row])})] = 1
        table = signs.astype(np.float64)

        def by_logarithm(point: Point) -> tuple[float, Point]:
            weights = np.exp(np.minimum(point, 4.0))
            odds = np.einsum("nst,s->nt", table, weights)
            odds[rows, where] = _NOWHERE
            shares = np.exp(odds - odds.max(axis=1, keepdims=True))
            shares /= shares.sum(axis=1, keepdims=True)
            likely = (shares * right).sum(axis=1) + 1e-300
            slope = shares - shares * right / likely[:, None]
            loss = -float(np.log(likely).mean()) * _ALL + _RIDGE * float(weights @ weights) / 2
            pull = np.einsum("nt,nst->s", slope, table) * _ALL / len(needs)
            return loss, (pull + _RIDGE * weights) * weights

        found = np.exp(np.minimum(minimise(by_logarithm, np.zeros(signs.shape[1]), _STEPS), 4.0))
        one, two, three, four, five = (*map(float, found), 0.0, 0.0)[:5]
        return one, two, three, four, five


def _scores(signs: Signs, weights: RankWeights) -> Signs:
    return np.stack([weighed(each, weights) for each in signs])


def _hits(scores: Signs, where: NDArray[np.int64], needs: Sequence[Need]) -> list[float]:
    scores[np.arange(len(needs)), where] = _NOWHERE
    order = np.argsort(-scores, axis=1, kind="stable")
    places = np.argsort(order, axis=1)
    first = [min(places[row, giver] for giver in need.givers) for row, need in enumerate(needs)]
    return [float(np.mean(np.array(first) < depth)) for depth in _DEPTHS]
