"""What was learnt from plans: how often each tool was in one, what came before it, what fed it."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Self

from portico.learning.core.dataflow.flows import NO_FLOWS, Flow, Flows
from portico.learning.core.dataflow.words import spelled
from portico.learning.core.suggest.past import PastPlan
from portico.workflows.core.plan import Reference

_UNSEEN: Final = 1.0
"""Plans that a share is shrunk by: what was seen once is not certain."""
_FIRST_ORDER: Final = 2.0
_SECOND_ORDER: Final = 3.0
START: Final = ""

Counts = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True, slots=True)
class Learnt:
    seen: Mapping[str, float]
    """In how many plans each tool was."""
    total: float
    """How many steps all plans had."""
    before: Counts
    """By tool: what it took something from or waited for, in how many plans."""
    then: Counts
    """By tool: what came right after it; by `START`, what came first."""
    then_after_two: Mapping[tuple[str, str], Mapping[str, float]]
    flows: Flows
    sources: Mapping[tuple[str, str], Mapping[tuple[str, str], int]]
    """By tool and parameter: which tool's output, at which path, was told it, and how often."""
    givers: Counts
    """By what a parameter is called: which tools something was taken from for one called so."""

    @classmethod
    def of(
        cls,
        plans: Sequence[PastPlan],
        edges: Mapping[tuple[str, str], int] | None = None,
        flows: Flows = NO_FLOWS,
    ) -> Self:
        """`edges` and `flows`: what was seen outside of plans."""
        counting = _Counting()
        for plan in plans:
            counting.add(plan)
        for (earlier, later), times in (edges or {}).items():
            counting.then[earlier][later] += times
        fed = {**flows.exact, **_added(counting.fed, flows)}
        return cls(
            seen=counting.seen,
            total=sum(sum(each.values()) for each in counting.then.values()),
            before=counting.before,
            then=counting.then,
            then_after_two=counting.two,
            flows=Flows.of(fed),
            sources=_sources(fed),
            givers=_givers(fed),
        )

    def need(self, consumer: str, producer: str) -> float:
        """The share of plans with the one that had the other before it, and for it."""
        times = self.before.get(consumer, {}).get(producer, 0.0)
        return times / (self.seen.get(consumer, 0.0) + _UNSEEN)

    def givers_of(self, parameter: str) -> Mapping[str, float]:
        """By tool: the share of what was taken for parameters called so that came from it."""
        found = self.givers.get(spelled(parameter), {})
        total = sum(found.values()) + _UNSEEN
        return {tool: times / total for tool, times in found.items()}

    def common(self, tool: str) -> float:
        """The share of all steps; a little also for what was never used."""
        return (self.seen.get(tool, 0.0) + 0.5) / (self.total + 0.5 * (len(self.seen) + 1))

    def follows(self, done: Sequence[str], tool: str) -> float:
        """How likely it comes next: by the two before it, as far as those were seen, then by the
        one, then by how common it is."""
        last = done[-1] if done else START
        one = self.then.get(last, {})
        first = (one.get(tool, 0.0) + _FIRST_ORDER * self.common(tool)) / (
            sum(one.values()) + _FIRST_ORDER
        )
        if not done:
            return first
        two = self.then_after_two.get((done[-2] if len(done) > 1 else START, last), {})
        return (two.get(tool, 0.0) + _SECOND_ORDER * first) / (sum(two.values()) + _SECOND_ORDER)

    def after(self, done: Sequence[str]) -> Sequence[str]:
        """What ever came next, where this was last."""
        return list(self.then.get(done[-1] if done else START, {}))


def _counts() -> dict[str, dict[str, float]]:
    return defaultdict(lambda: defaultdict(float))


@dataclass(slots=True)
class _Counting:
    seen: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    before: dict[str, dict[str, float]] = field(default_factory=_counts)
    then: dict[str, dict[str, float]] = field(default_factory=_counts)
    two: dict[tuple[str, str], dict[str, float]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(float))
    )
    fed: dict[Flow, float] = field(default_factory=lambda: defaultdict(float))

    def add(self, plan: PastPlan) -> None:
        weight = plan.weight
        for tool in dict.fromkeys(plan.tools):
            self.seen[tool] += weight
        self._add_order(plan.tools, weight)
        self._add_needs(plan, weight)

    def _add_order(self, tools: Sequence[str], weight: float) -> None:
        padded = (START, START, *tools)
        for two, one, tool in zip(padded, padded[1:], tools, strict=False):
            self.then[one][tool] += weight
            if one:
                self.two[two, one][tool] += weight

    def _add_needs(self, plan: PastPlan, weight: float) -> None:
        tools = {step.id: step.tool for step in plan.steps}
        needed: dict[tuple[str, str], None] = {}
        for step in plan.steps:
            for other in (*step.fed_by, *step.after):
                if other in tools:
                    needed[step.tool, tools[other]] = None
            for name, kept in step.arguments.items():
                if isinstance(kept, Reference) and kept.step in tools:
                    self.fed[Flow(tools[kept.step], kept.path, step.tool, name)] += weight
        for consumer, producer in needed:
            self.before[consumer][producer] += weight


def _added(fed: Mapping[Flow, float], flows: Flows) -> Mapping[Flow, int]:
    return {flow: max(1, round(times)) + flows.exact.get(flow, 0) for flow, times in fed.items()}


def _sources(fed: Mapping[Flow, int]) -> Mapping[tuple[str, str], Mapping[tuple[str, str], int]]:
    found: dict[tuple[str, str], dict[tuple[str, str], int]] = defaultdict(dict)
    for flow, times in fed.items():
        found[flow.consumer, flow.parameter][flow.producer, flow.path] = times
    return found


def _givers(fed: Mapping[Flow, int]) -> Counts:
    found = _counts()
    for flow, times in fed.items():
        found[spelled(flow.parameter)][flow.producer] += times
    return found
