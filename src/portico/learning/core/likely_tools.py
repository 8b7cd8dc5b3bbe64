"""Tools that are likely next, and how their arguments are filled."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import takewhile
from math import exp, expm1, log, prod
from typing import Final

from portico.learning.core.dataflow_fields import Parameter
from portico.learning.core.intents import (
    LEAST,
    LIKELY,
    NEXT,
    NUMBERS,
    UNPRECEDENTED,
    IntentFeature,
    IntentFeatures,
    IntentValues,
    Kind,
    Offered,
    Span,
    Weights,
    form_of,
    log_odds,
    logarithm,
)
from portico.learning.core.past_plans import (
    Constant,
    FromIntent,
    PastPlan,
    PastStep,
    Searched,
    StoredArgument,
    SuggestionRequest,
    ToolStatistics,
    Unknown,
    Votes,
    runs_of,
)
from portico.workflows.core.plan import ArgumentTemplate, Reference

# Which tools a plan for an intent needs, and how likely each of them is in it.
#
# First what search and the nearest past plans say; then what the likely ones draw after them: what
# came before them in other plans.

_DEEPEST: Final = 3
_WORTH: Final = 0.02
"""What is less likely than this draws nothing after it."""

Tools = Mapping[str, Offered]
Shares = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Likely:
    tool: str
    probability: float
    features: IntentFeatures


def likely(
    asked: SuggestionRequest,
    learnt: ToolStatistics,
    offered: Tools,
    weights: Weights = LIKELY,
    unprecedented: Weights = UNPRECEDENTED,
) -> Sequence[Likely]:
    """Best first. Where no past plan is near, what search says of the parts counts for more."""
    used = weights if Votes.of(asked.near).precedent else unprecedented
    found = [
        Likely(tool, sigmoid(used.weighed(signs)), signs)
        for tool, signs in likely_signs(asked, learnt, offered).items()
    ]
    return sorted(found, key=lambda each: -each.probability)


def likely_signs(
    asked: SuggestionRequest, learnt: ToolStatistics, offered: Tools
) -> Mapping[str, IntentFeatures]:
    votes, whole = Votes.of(asked.near).for_tools(), asked.whole
    hits = [tool for each in asked.searched for tool in each.hits]
    seeds = {
        tool: 1 - (1 - whole.get(tool, 0.0)) * (1 - votes.get(tool, 0.0))
        for tool in dict.fromkeys((*hits, *votes))
        if tool in offered
    }
    drawn = drawn_by(seeds, learnt, offered)
    return {
        tool: {
            IntentFeature.EITHER: log_odds(
                1 - (1 - seeds.get(tool, 0.0)) * (1 - drawn.get(tool, 0.0))
            ),
            IntentFeature.STEP: logarithm(asked.best_part(tool), LEAST),
        }
        for tool in dict.fromkeys((*seeds, *drawn))
    }


def drawn_by(seeds: Shares, learnt: ToolStatistics, offered: Tools) -> Shares:
    """That any of the likely tools had it before it, also by way of others."""
    found: dict[str, float] = {}
    level = seeds
    for _ in range(_DEEPEST):
        reached = _one_further(level, learnt, offered)
        level = {tool: share for tool, share in reached.items() if share > found.get(tool, 0.0)}
        found |= level
    return found


def _one_further(level: Shares, learnt: ToolStatistics, offered: Tools) -> Shares:
    reached: dict[str, float] = {}
    for consumer, share in level.items():
        for producer in learnt.before.get(consumer, ()) if share >= _WORTH else ():
            if producer in offered:
                chance = share * learnt.need(consumer, producer)
                reached[producer] = 1 - (1 - reached.get(producer, 0.0)) * (1 - chance)
    return reached


def sigmoid(odds: float) -> float:
    return 1 / (1 + exp(-max(-30.0, min(30.0, odds))))


def next_tools(
    asked: SuggestionRequest,
    done: Sequence[str],
    learnt: ToolStatistics,
    offered: Tools,
    weights: Weights = NEXT,
) -> Sequence[Likely]:
    """Best first; that it is one of them is certain, so their probabilities sum to one."""
    signs = next_signs(asked, done, learnt, offered)
    odds = {tool: weights.weighed(each) for tool, each in signs.items()}
    highest = max(odds.values(), default=0.0)
    shares = {tool: exp(each - highest) for tool, each in odds.items()}
    total = sum(shares.values())
    found = [Likely(tool, share / total, signs[tool]) for tool, share in shares.items()]
    return sorted(found, key=lambda each: -each.probability)


def next_signs(
    asked: SuggestionRequest, done: Sequence[str], learnt: ToolStatistics, offered: Tools
) -> Mapping[str, IntentFeatures]:
    votes = Votes.of(asked.near)
    for_tools, after = votes.for_tools(), votes.after(done[-1] if done else None)
    left = _left(asked, done)
    hits = [tool for each in asked.searched for tool in each.hits]
    return {
        tool: {
            IntentFeature.SEARCH: logarithm(asked.whole.get(tool, 0.0), LEAST),
            IntentFeature.STEP: logarithm(
                max((part.hits.get(tool, 0.0) for part in left), default=0), LEAST
            ),
            IntentFeature.FOLLOWS: logarithm(learnt.follows(done, tool), LEAST),
            IntentFeature.VOTE: logarithm(0.0 if tool in done else for_tools.get(tool, 0.0)),
            IntentFeature.AFTER: logarithm(after.get(tool, 0.0), 0.02),
            IntentFeature.DONE: float(tool in done),
        }
        for tool in dict.fromkeys((*hits, *for_tools, *learnt.after(done)))
        if tool in offered
    }


def _left(asked: SuggestionRequest, done: Sequence[str]) -> Sequence[Searched]:
    """The sub-steps that nothing that was done answers best; all of them, if none is left."""
    answered = {asked.part_of(tool) for tool in done}
    left = [part for place, part in enumerate(asked.parts) if place not in answered]
    return left or asked.parts


_LEAST: Final = 0.1
_MOST: Final = 20


@dataclass(frozen=True, slots=True)
class Hop:
    from_tool: str
    to_tool: str
    confidence: float


@dataclass(frozen=True, slots=True)
class DependencyPath:
    hops: Sequence[Hop]

    @property
    def direct(self) -> bool:
        return len(self.hops) == 1

    @property
    def confidence(self) -> float:
        return prod(hop.confidence for hop in self.hops)

    def __str__(self) -> str:
        first, last = self.hops[0].from_tool, self.hops[-1].to_tool
        if self.direct:
            return f"{last} needs {first} directly ({self.confidence:.2f})"
        through = ", ".join(hop.to_tool for hop in self.hops[:-1])
        shares = " x ".join(f"{hop.confidence:.2f}" for hop in self.hops)
        return f"{last} needs {first} by way of {through} ({shares} = {self.confidence:.2f})"


def paths(tools: Sequence[str], learnt: ToolStatistics) -> Sequence[DependencyPath]:
    """Between the tools of a plan, in their order: each hop itself, and from where nothing came
    before to what each hop leads to in the end."""
    once = list(dict.fromkeys(tools))
    hops = list(_hops(once, learnt))
    direct = [DependencyPath([hop]) for hop in hops]
    into = {hop.to_tool for hop in hops}
    out = {hop.from_tool for hop in hops}
    far = [
        path
        for first in hops
        if first.from_tool not in into
        for path in _further([first], hops)
        if path.hops[-1].to_tool not in out
    ]
    return [*direct, *far][:_MOST]


def _hops(tools: Sequence[str], learnt: ToolStatistics) -> Iterator[Hop]:
    for place, later in enumerate(tools):
        for earlier in tools[:place]:
            share = learnt.need(later, earlier)
            if share >= _LEAST:
                yield Hop(earlier, later, share)


def _further(before: Sequence[Hop], hops: Sequence[Hop]) -> Iterator[DependencyPath]:
    """The surest way on from here, to its end; nothing if there is none."""
    on = [hop for hop in hops if hop.from_tool == before[-1].to_tool]
    if on:
        surest = max(on, key=lambda hop: hop.confidence)
        yield from _further([*before, surest], hops)
    elif len(before) > 1:
        yield DependencyPath(before)


# Arguments for the steps of a plan: only what the intent says, and what was handed on before.
#
# Nothing is made up. What has to be told and is not known from either is missing, and said to be.

_MOSTLY: Final = 0.5
"""The share of what was seen for a parameter that has to have come from one place."""
_COULD_GIVE: Final = 3


class From(StrEnum):
    INTENT = "intent"
    STEP = "step"
    CONSTANT = "constant"


@dataclass(frozen=True, slots=True)
class Origin:
    """Where an argument is from."""

    kind: From
    text: str
    """As it stands in the intent, or `step.path`, or the value."""


@dataclass(frozen=True, slots=True)
class MissingArgument:
    """It has to be told, and nothing gives it."""

    step: str
    parameter: str
    could_give: Sequence[str] = ()
    """Tools that gave what is called so in other plans, the likeliest first."""


@dataclass(frozen=True, slots=True)
class Filled:
    id: str
    tool: str
    arguments: Mapping[str, ArgumentTemplate]
    origins: Mapping[str, Origin]
    missing: Sequence[MissingArgument]
    after: Sequence[str]
    """As the past plan says that it follows."""


_Found = tuple[ArgumentTemplate, Origin]


def fill(
    steps: Sequence[PastStep],
    intent: str,
    learnt: ToolStatistics,
    offered: Tools,
    parts: Mapping[str, str] | None = None,
) -> Sequence[Filled]:
    """`steps` in their order; those that are not of a past plan have no arguments. All tools are
    offered. `parts`: by tool, the part of the intent that it answers."""
    filling = _Filling(steps, IntentValues.of(intent), learnt, offered, parts or {})
    found = {step.id: filling.step(step) for step in steps}
    for step, name, value in filling.left_over(found):
        found[step][name] = value
    return [filling.filled(step, found[step.id]) for step in steps]


@dataclass(frozen=True, slots=True)
class _Filling:
    steps: Sequence[PastStep]
    said: IntentValues
    learnt: ToolStatistics
    offered: Tools
    parts: Mapping[str, str]

    def step(self, step: PastStep) -> dict[str, _Found]:
        """First what the past plan says and what is needed, then what may be left out."""
        tool = self.offered[step.tool]
        needed = (each.name for each in tool.required)
        every = {name: self._found(step, name) for name in (*step.arguments, *needed)}
        for each in tool.parameters:
            if each.name not in every and not step.arguments:
                every[each.name] = self._from_intent(tool, each)
        return {name: each for name, each in every.items() if each is not None}

    def left_over(
        self, found: Mapping[str, Mapping[str, _Found]]
    ) -> Iterator[tuple[str, str, _Found]]:
        """The only thing that is said and not used yet, for the only one that wants such."""
        wanting = [
            (step.id, parameter)
            for step in self.steps
            for parameter in self.offered[step.tool].required
            if parameter.name not in found[step.id]
        ]
        for step, parameter in wanting:
            alike = [each for _, each in wanting if _kind(each) == _kind(parameter)]
            span = self.said.only_one(parameter) if len(alike) == 1 else None
            if span is not None:
                yield step, parameter.name, _told(span, as_text=parameter.type not in NUMBERS)

    def filled(self, step: PastStep, found: Mapping[str, _Found]) -> Filled:
        missing = [
            MissingArgument(step.id, each.name, self._could_give(step.tool, each.name))
            for each in self.offered[step.tool].required
            if each.name not in found
        ]
        return Filled(
            step.id,
            step.tool,
            {name: given for name, (given, _) in found.items()},
            {name: origin for name, (_, origin) in found.items()},
            missing,
            step.after,
        )

    def _found(self, step: PastStep, name: str) -> _Found | None:
        known = self._as_kept(step.arguments.get(name, Unknown()))
        if known is not None:
            return known
        tool = self.offered[step.tool]
        parameter = tool.parameter(name) or Parameter(name=name)
        said = self._from_intent(tool, parameter)
        if said is not None:
            return said
        listed = self.said.listed(tool, name)
        if listed is not None:
            return listed, Origin(From.INTENT, listed)
        return self._handed_on(step, name)

    def _from_intent(self, tool: Offered, parameter: Parameter) -> _Found | None:
        span = self.said.for_parameter(tool, parameter, self.parts.get(tool.tool, ""))
        return None if span is None else _told(span, as_text=parameter.type not in NUMBERS)

    def _as_kept(self, kept: StoredArgument) -> _Found | None:
        if isinstance(kept, Reference):
            return kept, Origin(From.STEP, str(kept))
        if isinstance(kept, Constant):
            return kept.value, Origin(From.CONSTANT, f"{kept.value}")
        if isinstance(kept, FromIntent):
            span = self.said.number(kept.kind, kept.number)
            return None if span is None else _told(span, as_text=kept.as_text)
        return None

    def _handed_on(self, step: PastStep, name: str) -> _Found | None:
        """From where it mostly came, in other plans, if that is one step of this one."""
        seen = self.learnt.sources.get((step.tool, name), {})
        enough = max(1.0, _MOSTLY * sum(seen.values()))
        before = [*takewhile(lambda each: each.id != step.id, self.steps)]
        times_there = Counter(each.tool for each in before)
        ids = {each.tool: each.id for each in before if times_there[each.tool] == 1}
        found = [
            Reference(ids[producer], path)
            for (producer, path), times in seen.items()
            if times >= enough and path and producer in ids
        ]
        return (found[0], Origin(From.STEP, str(found[0]))) if found else None

    def _could_give(self, tool: str, name: str) -> Sequence[str]:
        found = self.learnt.givers_of(name)
        some = sorted(found, key=lambda each: (-found[each], each))
        return tuple(each for each in some if each != tool and each in self.offered)[:_COULD_GIVE]


def _told(span: Span, *, as_text: bool) -> _Found:
    return span.text if as_text else span.value, Origin(From.INTENT, span.text)


def _kind(parameter: Parameter) -> tuple[str | None, Kind | None]:
    return parameter.type, form_of(parameter)


MOST_STEPS: Final = 12
_PUT_TOGETHER: Final = 0.01
"""As if this share of the nearest plans had been it."""
_UNSEEN: Final = 0.2
"""Runs that might have gone otherwise: what went well once is not certain. Of those that `portico
bench suggest` was tried with, the one with which it says least too much."""
_CHOOSE_LEAST: Final = 1e-3
_NEVER: Final = -9.0
_SURE: Final = 0.999
_AT_MOST: Final = -0.001


@dataclass(frozen=True, slots=True)
class Choice:
    tools: tuple[str, ...]
    """In their order."""
    like: PastPlan | None
    """The past plan that it follows."""
    share: float
    """Of the nearest past plans, those that had the same tools."""
    runs: float
    """That went well, of these."""
    score: float
    """The log-likelihood of it."""

    @property
    def raw(self) -> float:
        """The log-odds of it, to be calibrated: the likelihood takes each tool by itself, which
        they are not."""
        score = min(self.score, _AT_MOST)
        return score - log(-expm1(score))

    @property
    def backing(self) -> float:
        """As much of its confidence as the runs behind it allow; one that nobody made before leans
        on none."""
        return 1.0 if self.like is None else self.runs / (self.runs + _UNSEEN)


def choose(
    asked: SuggestionRequest, tools: Sequence[Likely], learnt: ToolStatistics, offered: Tools
) -> Choice | None:
    """The likeliest; none if nothing comes into question."""
    if not tools:
        return None
    choices = [*_made_before(asked, tools, offered)]
    together = [each.tool for each in tools[:MOST_STEPS] if each.probability >= 0.5]
    new = frozenset(together or [tools[0].tool])
    if new not in {frozenset(each.tools) for each in choices}:
        order = in_order(new, asked, learnt, offered)
        choices.append(Choice(order, None, 0.0, 0.0, _score(new, _PUT_TOGETHER, tools)))
    return max(choices, key=lambda each: each.score)


def in_order(
    tools: frozenset[str], asked: SuggestionRequest, learnt: ToolStatistics, offered: Tools
) -> tuple[str, ...]:
    """The likeliest next each time, and nothing before what it needs."""
    done: list[str] = []
    left = set(tools)
    some = {tool: offered[tool] for tool in sorted(tools)}
    while left:
        ready = [tool for tool in left if not _waits(tool, left, learnt)] or sorted(left)
        found = [each.tool for each in next_tools(asked, done, learnt, some)]
        order = [tool for tool in found if tool in ready]
        done.append(order[0] if order else min(ready))
        left.remove(done[-1])
    return tuple(done)


def _waits(tool: str, left: set[str], learnt: ToolStatistics) -> bool:
    """For something that mostly came before it, and not the other way round."""
    return any(
        learnt.need(tool, other) > max(learnt.need(other, tool), 0.3)
        for other in left
        if other != tool
    )


def _made_before(
    asked: SuggestionRequest, tools: Sequence[Likely], offered: Tools
) -> Iterator[Choice]:
    shares: dict[frozenset[str], float] = {}
    best: dict[frozenset[str], tuple[float, PastPlan]] = {}
    for plan, share in Votes.of(asked.near).shares:
        same = frozenset(plan.tools)
        if same and len(plan.steps) <= MOST_STEPS and all(tool in offered for tool in same):
            shares[same] = shares.get(same, 0.0) + share
            if same not in best or share > best[same][0]:
                best[same] = (share, plan)
    for same, (_, plan) in best.items():
        runs, score = runs_of(same, asked.near), _score(same, shares[same], tools)
        yield Choice(plan.tools, plan, shares[same], runs, score)


def _score(tools: frozenset[str], share: float, known: Sequence[Likely]) -> float:
    """The log-likelihood of just these tools, each by itself, and of a plan that had them all."""
    within = {each.tool: min(each.probability, _SURE) for each in known}
    inside = sum(log(within[tool]) if tool in within else _NEVER for tool in tools)
    outside = sum(log(1 - part) for tool, part in within.items() if tool not in tools)
    return log(share + _CHOOSE_LEAST) + inside + outside
