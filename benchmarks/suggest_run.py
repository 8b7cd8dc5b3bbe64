"""All figures of suggestions: each set asked for with what its own other plans have shown, and
weighed with what the other sets have taught."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from time import process_time
from typing import Final

import numpy as np

from benchmarks.reliability import expected_error
from benchmarks.suggest_arguments import argument_figures
from benchmarks.suggest_figures import (
    Found,
    Next,
    Outcomes,
    by_custom,
    by_edges_alone,
    by_search,
    by_suggestion,
    by_votes,
    curve,
    first_order,
    next_by_search,
    next_by_suggestion,
    second_order,
)
from benchmarks.suggest_lessons import Taught, learn_calibration, teach
from benchmarks.suggest_search import Fold, Ready, Sets
from benchmarks.suggest_sets import LINK, NESTFUL, ULTRA
from portico.bench.tool_sets import evenly
from portico.kernel.json import JsonObject
from portico.learning.core.intents import Calibration, Weights
from portico.learning.core.suggestions import suggest

BY_PLAN: Final = f"{LINK}_by_plan"
_TIMED: Final = 300


@dataclass(frozen=True)
class SuggestRun:
    sets: Sets

    @cached_property
    def taught(self) -> Mapping[str, Taught]:
        """By the set that it is for; what it is for UltraTool ships."""
        return {name: teach(self._others(name)) for name in self.sets}

    @cached_property
    def folds(self) -> Mapping[str, Sequence[Fold]]:
        """By tool where a set says which tool a request is about, and ToolLinkOS also by request:
        then others for the same tool were seen."""
        found = {
            name: ready.folds([plan.about for plan in ready.of.plans])
            for name, ready in self.sets.items()
        }
        link = self.sets[LINK]
        return {**found, BY_PLAN: link.folds([f"{place}" for place in range(len(link.of.plans))])}

    @cached_property
    def outcomes(self) -> Mapping[str, Outcomes]:
        return {
            name: Outcomes.of(folds, self.taught[_set_of(name)])
            for name, folds in self.folds.items()
        }

    def calibration(self, held_out: str) -> Calibration:
        """Learnt from the other sets, and never from UltraTool."""
        names = [name for name in self.folds if _set_of(name) not in {held_out, ULTRA}]
        return learn_calibration([self.outcomes[name].all for name in names])

    def tools(self) -> JsonObject:
        ours = by_suggestion(self.taught[LINK])
        return {
            "by_tool": Found.of(self.folds[LINK], ours).told(),
            "by_plan": Found.of(self.folds[BY_PLAN], ours).told(),
        }

    def tools_without(self) -> JsonObject:
        """The same with less: search, the nearest plans alone, edges alone, what is common."""
        ways = {
            "search": by_search,
            "nearest_plans_alone": by_votes,
            "search_and_edges": by_edges_alone(self.taught[LINK]),
            "search_and_commonest": by_custom,
        }
        return {
            way: {
                "by_tool": Found.of(self.folds[LINK], ranks).mean,
                "by_plan": Found.of(self.folds[BY_PLAN], ranks).mean,
            }
            for way, ranks in ways.items()
        }

    def next_tool(self) -> JsonObject:
        ours = Next.of(self.folds[ULTRA], next_by_suggestion(self.taught[ULTRA]))
        as_it_is = Calibration(1.0, 0.0)
        shipped = ours.outcomes.as_shipped(as_it_is)
        taught = ours.outcomes.with_history(as_it_is)
        return {
            "next_tool_top1": ours.top(1),
            "next_tool_top3": ours.top(3),
            "next_tool_ece": round(expected_error(taught), 4),
            "next_tool_ece_before_history": round(expected_error(shipped), 4),
            "next_tool_curve": curve(taught),
        }

    def next_without(self) -> JsonObject:
        ways = {"first_order": first_order, "second_order": second_order, "search": next_by_search}
        found = {way: Next.of(self.folds[ULTRA], ranks) for way, ranks in ways.items()}
        return {way: {"top1": each.top(1), "top3": each.top(3)} for way, each in found.items()}

    def sure(self) -> JsonObject:
        """How sure a whole plan is, and how often just its tools were wanted."""
        return {
            name: self.outcomes[name].told(self.calibration(_set_of(name))) for name in self.folds
        }

    def without_past(self) -> JsonObject:
        """On the first day: the same where nothing was ever done."""
        found = {
            name: Outcomes.of(self.folds[name], self.taught[name], without_past=True)
            for name in self.sets
        }
        return {name: each.told(self.calibration(name)) for name, each in found.items()}

    def arguments(self) -> JsonObject:
        """Of the sets that say what each call was told."""
        return {name: argument_figures(self.folds[name]) for name in NESTFUL}

    def learnt(self) -> JsonObject:
        """As it stands in `gateway/core/suggest`."""
        line = self.calibration(ULTRA)
        taught = self.taught[ULTRA]
        return {
            "likely": _told(taught.likely),
            "unprecedented": _told(taught.unprecedented),
            "next": _told(taught.next),
            "calibration": {"slope": line.slope, "start": line.start},
        }

    def cpu_ms(self) -> JsonObject:
        """Of one suggestion, once the intent is searched for and its vector is known."""
        fold = self.folds[ULTRA][0]
        offered = fold.ready.of.offered
        took = []
        for number in evenly(len(fold.asked_for), _TIMED):
            asked, learnt = fold.asked(int(fold.asked_for[number])), fold.learnt
            began = process_time()
            suggest(asked, learnt, offered)
            took.append((process_time() - began) * 1_000)
        return {
            "mean": round(float(np.mean(took)), 2),
            "p95": round(float(np.quantile(took, 0.95)), 2),
        }

    def _others(self, held_out: str) -> Sequence[Ready]:
        return [each for name, each in self.sets.items() if name not in {held_out, ULTRA}]


def _set_of(name: str) -> str:
    return LINK if name == BY_PLAN else name


def _told(weights: Weights) -> JsonObject:
    return {**{str(sign): each for sign, each in weights.of.items()}, "start": weights.start}
