"""What is suggested, held against what was wanted: the tools, the next one, and how surely."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from benchmarks.reliability import Bin, expected_error, reliability
from benchmarks.suggest_lessons import NOTHING_LEARNT, Taught
from benchmarks.suggest_search import Fold
from portico.kernel.json import JsonObject, JsonValue
from portico.learning.core.intents import Calibration, Judged, log_odds
from portico.learning.core.likely_tools import choose, likely, next_tools
from portico.learning.core.past_plans import START, Votes

AT: Final = 10
_DRAWS: Final = 1_000
_NOWHERE: Final = 10**6

Ranks = Callable[[Fold, int], Sequence[str]]
"""Of a fold and one of its plans: tools, best first."""


@dataclass(frozen=True, slots=True)
class Found:
    """How much of what each plan needs is among the first ten."""

    shares: NDArray[np.float64]

    @classmethod
    def of(cls, folds: Sequence[Fold], ranks: Ranks) -> "Found":
        shares = []
        for fold, place in each_asked(folds):
            wanted = set(fold.ready.of.plans[place].tools)
            shares.append(len(wanted & set(ranks(fold, place)[:AT])) / len(wanted))
        return cls(np.array(shares))

    def told(self) -> JsonObject:
        draw = np.random.default_rng(0)
        means = [draw.choice(self.shares, len(self.shares)).mean() for _ in range(_DRAWS)]
        low, high = np.quantile(means, [0.025, 0.975])
        return {
            "r10": self.mean,
            "interval": [round(float(low), 4), round(float(high), 4)],
            "all_found": round(float((self.shares == 1).mean()), 4),
        }

    @property
    def mean(self) -> float:
        return round(float(self.shares.mean()), 4)


def by_suggestion(taught: Taught) -> Ranks:
    def ranks(fold: Fold, place: int) -> Sequence[str]:
        found = likely(fold.asked(place), fold.learnt, fold.ready.of.offered, *taught.for_tools)
        return [each.tool for each in found]

    return ranks


def by_edges_alone(taught: Taught) -> Ranks:
    """What search finds, and what came before that in other plans; not what they were for."""

    def ranks(fold: Fold, place: int) -> Sequence[str]:
        asked = replace(fold.asked(place), near=())
        found = likely(asked, fold.learnt, fold.ready.of.offered, taught.likely, taught.likely)
        return [each.tool for each in found]

    return ranks


def by_search(fold: Fold, place: int) -> Sequence[str]:
    return list(fold.ready.searched[place][0].hits)


def by_votes(fold: Fold, place: int) -> Sequence[str]:
    votes = Votes.of(fold.asked(place).near).for_tools()
    return sorted(votes, key=lambda tool: -votes[tool])


def by_custom(fold: Fold, place: int) -> Sequence[str]:
    """The first that search finds, and then the commonest of all."""
    seen = fold.learnt.seen
    return [by_search(fold, place)[0], *sorted(seen, key=lambda tool: -seen[tool])]


@dataclass(frozen=True, slots=True)
class Next:
    """Of every step but the first: where the right tool stood, and how sure the first was; one
    list a fold."""

    folds: Sequence[Sequence[tuple[int, float]]]

    @classmethod
    def of(cls, folds: Sequence[Fold], ranks: "RanksNext") -> "Next":
        return cls([[*_places(fold, ranks)] for fold in folds])

    def top(self, depth: int) -> float:
        every = [place for some in self.folds for place, _ in some]
        return round(float((np.array(every) < depth).mean()), 4)

    @property
    def outcomes(self) -> "Outcomes":
        """Of the first of them alone."""
        return Outcomes(
            [[Judged(log_odds(sure), place == 0) for place, sure in some] for some in self.folds]
        )


def _places(fold: Fold, ranks: "RanksNext") -> Iterator[tuple[int, float]]:
    for place in map(int, fold.asked_for):
        tools = fold.ready.of.plans[place].tools
        for number in range(1, len(tools)):
            found = ranks(fold, place, tools[:number])
            order = [tool for tool, _ in found]
            where = order.index(tools[number]) if tools[number] in order else _NOWHERE
            yield where, found[0][1] if found else 0.0


RanksNext = Callable[[Fold, int, Sequence[str]], Sequence[tuple[str, float]]]


def next_by_suggestion(taught: Taught) -> RanksNext:
    def ranks(fold: Fold, place: int, done: Sequence[str]) -> Sequence[tuple[str, float]]:
        offered = fold.ready.of.offered
        found = next_tools(fold.asked(place), done, fold.learnt, offered, taught.next)
        return [(each.tool, each.probability) for each in found]

    return ranks


def first_order(fold: Fold, _place: int, done: Sequence[str]) -> Sequence[tuple[str, float]]:
    """What came after the last tool most often, and then what is commonest."""
    return _by_counts(fold.learnt.then.get(done[-1], {}), fold.learnt.seen)


def second_order(fold: Fold, _place: int, done: Sequence[str]) -> Sequence[tuple[str, float]]:
    """The same after the last two, as far as those were seen."""
    tools = dict.fromkeys((*fold.learnt.after(done), *fold.learnt.seen))
    shares = {tool: fold.learnt.follows(done, tool) for tool in tools}
    return sorted(shares.items(), key=lambda item: -item[1])


def next_by_search(fold: Fold, place: int, done: Sequence[str]) -> Sequence[tuple[str, float]]:
    hits = fold.ready.searched[place][0].hits
    return [(tool, share) for tool, share in hits.items() if tool not in done]


def _by_counts(
    counts: Mapping[str, float], common: Mapping[str, float]
) -> Sequence[tuple[str, float]]:
    order = sorted(
        {*counts, *common} - {START}, key=lambda tool: (-counts.get(tool, 0), -common.get(tool, 0))
    )
    total = sum(counts.values()) or 1.0
    return [(tool, counts.get(tool, 0.0) / total) for tool in order]


@dataclass(frozen=True, slots=True)
class Outcomes:
    """Of each suggestion how likely it seemed, and whether it was right; one list a fold."""

    folds: Sequence[Sequence[Judged]]
    in_order: float = 0.0
    """Of plans that had just the tools that were wanted: the share of all that had them in the
    right order too."""

    @classmethod
    def of(cls, folds: Sequence[Fold], taught: Taught, *, without_past: bool = False) -> "Outcomes":
        chosen = [[*_chosen(fold, taught, without_past=without_past)] for fold in folds]
        exact = [order for some in chosen for _, order in some]
        found = [[each for each, _ in some] for some in chosen]
        return cls(found, round(float(np.mean(exact)), 4))

    @property
    def all(self) -> Sequence[Judged]:
        return [each for some in self.folds for each in some]

    def as_shipped(self, calibration: Calibration) -> Sequence[Bin]:
        said = [calibration.confidence(each.raw, each.backing) for each in self.all]
        return reliability(said, [each.right for each in self.all])

    def with_history(self, calibration: Calibration) -> Sequence[Bin]:
        """Each fold as it is told once the others have shown what suggestions are worth here."""
        said, was = [], []
        for number, some in enumerate(self.folds):
            others = [
                each for place, fold in enumerate(self.folds) if place != number for each in fold
            ]
            taught = calibration.fitted(others)
            said += [taught.confidence(each.raw, each.backing) for each in some]
            was += [each.right for each in some]
        return reliability(said, was)

    def told(self, calibration: Calibration) -> JsonObject:
        shipped, taught = self.as_shipped(calibration), self.with_history(calibration)
        right = [each.right for each in self.all]
        return {
            "same_tools": round(float(np.mean(right)), 4),
            "same_order": self.in_order,
            "ece": round(expected_error(taught), 4),
            "ece_before_history": round(expected_error(shipped), 4),
            "curve": curve(taught),
        }


def _chosen(fold: Fold, taught: Taught, *, without_past: bool) -> Iterator[tuple[Judged, bool]]:
    """How likely each plan seemed and whether it had the right tools, and those in their order."""
    learnt, offered = NOTHING_LEARNT if without_past else fold.learnt, fold.ready.of.offered
    for place in map(int, fold.asked_for):
        known = fold.asked(place)
        asked = replace(known, near=()) if without_past else known
        tools = likely(asked, learnt, offered, *taught.for_tools)
        choice = choose(asked, tools, learnt, offered)
        wanted = fold.ready.of.plans[place].tools
        if choice is not None:
            same = set(choice.tools) == set(wanted)
            yield Judged(choice.raw, same, choice.backing), choice.tools == wanted


def curve(bins: Sequence[Bin]) -> list[JsonValue]:
    """What was said, what was, and of how many."""
    return [[round(each.said, 3), round(each.was, 3), each.count] for each in bins]


def each_asked(folds: Sequence[Fold]) -> Iterator[tuple[Fold, int]]:
    for fold in folds:
        for place in fold.asked_for:
            yield fold, int(place)
