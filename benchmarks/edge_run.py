"""Learn from three sets of plans, propose edges for the fourth, and hold them against the truth."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from benchmarks.edge_baselines import RULES, Rule, edges_by
from benchmarks.edge_figures import (
    Score,
    Taught,
    between_tools,
    calibration_error,
    clarity,
    errors,
    gain_interval,
    right_fields,
    told_edges,
)
from benchmarks.edge_lessons import (
    Asked,
    Embed,
    ask,
    best_floor,
    flows_elsewhere,
    learn,
    learn_seen,
)
from benchmarks.edge_sets import FOUR, GoldPlan, PlanSet
from portico.kernel.json import JsonObject, JsonValue
from portico.learning.core.dataflow import SHOWN, Floors

Told = Sequence[set[tuple[int, int, str]]]
Figure = Callable[[Sequence[Asked], Taught, Sequence[GoldPlan]], JsonValue]


@dataclass(frozen=True)
class EdgeRun:
    sets: Mapping[str, PlanSet]
    embed: Embed

    @cached_property
    def asked(self) -> Mapping[str, Sequence[Asked]]:
        return {name: ask(each.plans, self.embed) for name, each in self.sets.items()}

    @cached_property
    def asked_with_flows(self) -> Mapping[str, Sequence[Asked]]:
        """Each plan as if all the others of its set had been seen."""
        return {
            name: ask(each.plans, self.embed, flows_elsewhere(each.plans))
            for name, each in self.sets.items()
        }

    @cached_property
    def asked_with_values(self) -> Mapping[str, Sequence[Asked]]:
        return {name: ask(self.with_values(name), self.embed) for name in self.sets}

    @cached_property
    def asked_as_learnt(self) -> Mapping[str, Sequence[Asked]]:
        return {
            name: ask([plan.as_learnt() for plan in each.plans], self.embed)
            for name, each in self.sets.items()
        }

    @cached_property
    def taught(self) -> Mapping[str, Taught]:
        """For each set, what the three others taught."""
        return {name: self._learn([other for other in FOUR if other != name]) for name in FOUR}

    @cached_property
    def of_all(self) -> Taught:
        """What ships; for the figure that is in-sample."""
        return self._learn(FOUR)

    def _learn(self, names: Sequence[str]) -> Taught:
        lessons = [self.asked[name] for name in names]
        weights = learn(lessons)
        floor = best_floor(lessons, weights)
        seen = [self.asked_with_flows[name] for name in names]
        return Taught(learn_seen(seen, weights), Floors(floor, floor))

    def with_values(self, name: str) -> Sequence[GoldPlan]:
        return [plan.with_values() for plan in self.sets[name].plans]

    def told(self, name: str) -> Told:
        return told_edges(self.asked[name], self.taught[name], self.sets[name].plans)

    def score(self, name: str) -> Score:
        return Score.of(self.told(name), self.sets[name].plans)

    def f1(self) -> JsonObject:
        return self._each(lambda name: self.score(name).f1)

    def figures(self) -> JsonObject:
        return {
            "f1": self.f1(),
            "baseline_f1": self._each(lambda name: best_rule(self.sets[name].plans)),
            "gain_interval": self._each(self._gain_interval),
            "precision": self._each(lambda name: self.score(name).precision),
            "recall": self._each(lambda name: self.score(name).recall),
            "tool_edge_f1": self._each(
                lambda name: between_tools(self.told(name), self.sets[name].plans)
            ),
            "in_sample_f1": self._each(lambda name: self._f1_of(self.asked, self.of_all, name)),
            "with_flows_f1": self._each(
                lambda name: self._f1_of(self.asked_with_flows, self.taught[name], name)
            ),
            "as_learnt_f1": self._each(
                lambda name: self._f1_of(self.asked_as_learnt, self.taught[name], name)
            ),
            "as_used_f1": self._each(
                lambda name: self._f1_of(self.asked_with_values, _as_shown(self.taught[name]), name)
            ),
            "as_used_baseline_f1": self._each(lambda name: best_rule(self.with_values(name))),
            "right_field": self._each(lambda name: self._about(right_fields, name)),
            "calibration_error": self._each(
                lambda name: calibration_error(self.asked[name], self.taught[name])
            ),
            "ambiguity": self._each(lambda name: clarity(self.asked[name], self.taught[name])),
            "errors": self._each(lambda name: self._about(errors, name)),
        }

    def _gain_interval(self, name: str) -> JsonValue:
        plans = self.sets[name].plans
        rule = max(RULES.values(), key=lambda each: _by_rule(each, plans).f1)
        return gain_interval(self.told(name), [edges_by(rule, plan) for plan in plans], plans)

    def _about(self, figure: Figure, name: str) -> JsonValue:
        return figure(self.asked[name], self.taught[name], self.sets[name].plans)

    def _f1_of(self, asked: Mapping[str, Sequence[Asked]], taught: Taught, name: str) -> float:
        plans = self.sets[name].plans
        return Score.of(told_edges(asked[name], taught, plans), plans).f1

    def _each(self, figure: Callable[[str], JsonValue]) -> JsonObject:
        return {name: figure(name) for name in FOUR}


def best_rule(plans: Sequence[GoldPlan]) -> float:
    return max(_by_rule(rule, plans).f1 for rule in RULES.values())


def baseline_figures(sets: Mapping[str, PlanSet]) -> JsonObject:
    """Every rule on every set, parameters and tools alike."""
    return {
        name: {rule: _rule_figures(RULES[rule], plan_set.plans) for rule in RULES}
        for name, plan_set in sets.items()
    }


def _rule_figures(rule: Rule, plans: Sequence[GoldPlan]) -> JsonObject:
    score, told = _by_rule(rule, plans), [edges_by(rule, plan) for plan in plans]
    return {
        "precision": score.precision,
        "recall": score.recall,
        "f1": score.f1,
        "tool_edge_f1": between_tools(told, plans),
    }


def _by_rule(rule: Rule, plans: Sequence[GoldPlan]) -> Score:
    return Score.of([edges_by(rule, plan) for plan in plans], plans)


def _as_shown(taught: Taught) -> Taught:
    return replace(taught, floors=SHOWN)
