"""Plans that ran before: their skeletons, and what they were asked for."""

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby
from math import exp
from typing import Final, Self
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from portico.gateway.core.inferred_schema import ToolPlace, names_a_field
from portico.gateway.core.search import whole
from portico.gateway.core.search_text import words
from portico.gateway.core.servers import ServerId
from portico.kernel.ids import Id, PrincipalId, SpaceId
from portico.kernel.json import JsonObject, JsonValue, canonical
from portico.kernel.label import Label
from portico.learning.core.dataflow_fields import NO_FLOWS, Flow, Flows, spelled
from portico.learning.core.intents import Kind, Span, in_general, spans
from portico.learning.core.observed_values import nobodys
from portico.workflows.core.plan import INPUTS, Plan, Reference, Step

# What is kept of a plan that went well: tools, and where each argument came from; no values.
#
# A value that stood in the intent is kept as its place there, one that no one can be known by as
# itself, and of any other only that there was one.

_PATH: Final = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*|\[\d{1,3}\])*")
"""Members and items only: whatever compares something holds somebody's value."""
_KEY: Final = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True, slots=True)
class FromIntent:
    """The so-manieth value of its kind that the intent has."""

    kind: Kind
    number: int
    as_text: bool = False
    """A number that was handed on as it was written."""


@dataclass(frozen=True, slots=True)
class Constant:
    value: JsonValue


@dataclass(frozen=True, slots=True)
class Unknown:
    """It was told; nobody knows from where."""


StoredArgument = FromIntent | Constant | Unknown | Reference


@dataclass(frozen=True, slots=True)
class PastStep:
    id: str
    tool: str
    arguments: Mapping[str, StoredArgument] = field(default_factory=dict)
    after: Sequence[str] = ()

    @property
    def fed_by(self) -> Sequence[str]:
        """Steps whose results it takes."""
        given = self.arguments.values()
        return list(dict.fromkeys(each.step for each in given if isinstance(each, Reference)))


Listed = Mapping[str, Collection[JsonValue]]
"""By `server.tool#parameter`: the values that stand in the tool's own definition."""


def skeleton_of(plan: Plan, intent: str, listed: Listed | None = None) -> Sequence[PastStep]:
    """Its steps are numbered: what somebody called them is theirs."""
    plain = {
        step.id: f"s{number}"
        for number, step in enumerate(plan.steps, 1)
        if step.for_each is None and step.fallback is None
    }
    keeping = _Keeping(whole(intent), spans(intent), plain, listed or {})
    return [
        PastStep(
            f"s{number}",
            str(step.tool),
            {name: keeping.of(step, name) for name in step.arguments if names_a_field(name)},
            tuple(plain[name] for name in step.after if name in plain),
        )
        for number, step in enumerate(plan.steps, 1)
    ]


def listed_values(tool: str, schema: JsonObject) -> Listed:
    """Of a tool's `inputSchema`."""
    properties = schema.get("properties")
    members = properties if isinstance(properties, Mapping) else {}
    found = {f"{tool}#{name}": list(_listed(each)) for name, each in members.items()}
    return {place: values for place, values in found.items() if values}


@dataclass(frozen=True, slots=True)
class _Keeping:
    intent: str
    spans: Sequence[Span]
    plain: Mapping[str, str]
    """Steps that are done once and give what their tool gives, with their numbers."""
    listed: Listed

    def of(self, step: Step, parameter: str) -> StoredArgument:
        given = step.arguments[parameter]
        if isinstance(given, Reference):
            plainly = step.id in self.plain and self._refers_plainly(given)
            return Reference(self.plain[given.step], given.path) if plainly else Unknown()
        if given is None or isinstance(given, bool | int | float | str):
            return self._place(given) or self._constant(given, f"{step.tool}#{parameter}")
        return Unknown()

    def _refers_plainly(self, given: Reference) -> bool:
        there = given.step in self.plain and not given.has_default
        named = all(names_a_field(key) for key in _KEY.findall(given.path))
        return there and named and (not given.path or _PATH.fullmatch(given.path) is not None)

    def _place(self, value: JsonValue) -> FromIntent | None:
        by_kind = sorted(self.spans, key=lambda span: span.kind)
        for kind, some in groupby(by_kind, key=lambda span: span.kind):
            for number, span in enumerate(some):
                if span.value == value and type(span.value) is type(value):
                    return FromIntent(kind, number)
                if span.text == value:
                    return FromIntent(kind, number, as_text=True)
        return None

    def _constant(self, value: JsonValue, place: str) -> Constant | Unknown:
        """Never a word of the intent, which will be another the next time."""
        if any(value == each and type(value) is type(each) for each in self.listed.get(place, ())):
            return Constant(value)
        return Unknown() if self._somebodys(value) else Constant(value)

    def _somebodys(self, value: JsonValue) -> bool:
        said = isinstance(value, str) and value.casefold() in self.intent.casefold()
        return said or not nobodys(value)


def _is_a_value(value: JsonValue) -> bool:
    return value is None or isinstance(value, bool | int | float | str)


def _listed(schema: JsonValue) -> Iterator[JsonValue]:
    if not isinstance(schema, Mapping):
        return
    for keyword in ("enum", "examples"):
        some = schema.get(keyword)
        if isinstance(some, Sequence) and not isinstance(some, str):
            yield from (each for each in some if _is_a_value(each))
    yield from (schema[key] for key in ("const", "default") if _is_a_value(schema.get(key, [])))


def skeleton_document(steps: Sequence[PastStep]) -> JsonValue:
    return [
        {
            "id": step.id,
            "tool": step.tool,
            "arguments": {name: _written(each) for name, each in step.arguments.items()},
            "after": list(step.after),
        }
        for step in steps
    ]


def read_skeleton(document: JsonValue) -> Sequence[PastStep]:
    """Raises `ValueError`."""
    return [
        PastStep(
            _text(each, "id"),
            _text(each, "tool"),
            {name: _read(kept) for name, kept in _object(each.get("arguments", {})).items()},
            [str(name) for name in _list(each.get("after", []))],
        )
        for each in map(_object, _list(document))
    ]


def _written(kept: StoredArgument) -> JsonObject:
    if isinstance(kept, FromIntent):
        found: dict[str, JsonValue] = {"intent": str(kept.kind), "number": kept.number}
        return {**found, "text": True} if kept.as_text else found
    if isinstance(kept, Constant):
        return {"value": kept.value}
    if isinstance(kept, Reference):
        return {"step": kept.step, "path": kept.path}
    return {}


def _read(document: JsonValue) -> StoredArgument:
    told = _object(document)
    if "intent" in told:
        number = told.get("number")
        if not isinstance(number, int):
            raise ValueError(f"{number!r} is no number of a value.")
        return FromIntent(Kind(_text(told, "intent")), number, told.get("text") is True)
    if "value" in told:
        return Constant(told["value"])
    if "step" in told:
        return Reference(_text(told, "step"), _text(told, "path"))
    return Unknown()


def _object(value: JsonValue) -> JsonObject:
    if not isinstance(value, Mapping):
        raise ValueError(f"{str(value)[:40]!r} is no object.")  # noqa: TRY004 # one error for all
    return value


def _list(value: JsonValue) -> Sequence[JsonValue]:
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise ValueError(f"{str(value)[:40]!r} is no list.")  # noqa: TRY004 # one error for all
    return value


def _text(told: JsonObject, name: str) -> str:
    value = told.get(name)
    if not isinstance(value, str):
        raise ValueError(f"{name!r} is no text.")  # noqa: TRY004 # one error for all
    return value


Floats = NDArray[np.float32]

_NEAREST: Final = 40
_MOST_TIMES: Final = 5
"""What is run every minute is not everything that is ever wanted."""
_SHARPNESS: Final = 0.1
_STRANGE: Final = 0.3
"""As near as intents are that have nothing to do with one another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PastPlan:
    id: str
    steps: Sequence[PastStep]
    times: int = 1
    accepted: int = 0
    rejected: int = 0
    own: bool = True
    """Of whoever asks."""

    @property
    def tools(self) -> tuple[str, ...]:
        return tuple(step.tool for step in self.steps)

    @property
    def weight(self) -> float:
        """How much it counts among others."""
        return min(self.times, _MOST_TIMES) * self._kept

    @property
    def runs(self) -> float:
        """How many runs speak for it."""
        return self.times * self._kept

    @property
    def _kept(self) -> float:
        """What was rejected as often as it was run counts for little."""
        return (self.times + self.accepted) / (self.times + self.accepted + 2 * self.rejected)


@dataclass(frozen=True, slots=True)
class Near:
    plan: PastPlan
    similarity: float


@dataclass(frozen=True, slots=True)
class PastPlans:
    plans: Sequence[PastPlan]
    vectors: Floats
    """One row a plan, of its intent."""
    words: Sequence[frozenset[str]]
    """Of each intent, for where there is no vector."""

    @classmethod
    def of(
        cls,
        plans: Sequence[PastPlan],
        vectors: Floats,
        words_of_intents: Sequence[frozenset[str]] = (),
    ) -> Self:
        return cls(plans, np.nan_to_num(vectors), words_of_intents or [frozenset()] * len(plans))

    def nearest(
        self, vector: Floats | None, said: frozenset[str], most: int = _NEAREST
    ) -> Sequence[Near]:
        """By meaning; where there is no vector of the same kind, by words in common."""
        if not self.plans:
            return []
        if vector is None or self.vectors.shape[1:] != vector.shape:
            likeness = np.array([_in_common(said, each) for each in self.words], np.float32)
        else:
            likeness = self.vectors @ np.nan_to_num(vector)
        order = np.argsort(-likeness, kind="stable")[:most]
        return [Near(self.plans[place], float(likeness[place])) for place in order]


def runs_of(tools: frozenset[str], near: Sequence[Near]) -> float:
    """How many runs with just these tools went well, each by how near it is to the nearest."""
    best = max((each.similarity for each in near), default=0.0)
    return sum(
        _likeness(each, best) * each.plan.runs
        for each in near
        if frozenset(each.plan.tools) == tools
    )


def words_of(intent: str) -> frozenset[str]:
    return frozenset(words(intent))


@dataclass(frozen=True, slots=True)
class Votes:
    """What the nearest plans say: near ones more than others, and none of them much if none is
    near."""

    shares: Sequence[tuple[PastPlan, float]]

    @classmethod
    def of(cls, near: Sequence[Near]) -> Self:
        best = max((each.similarity for each in near), default=0.0)
        weights = [_likeness(each, best) * each.plan.weight for each in near]
        total = sum(weights) + exp((_STRANGE - best) / _SHARPNESS)
        pairs = zip(near, weights, strict=True)
        return cls([(each.plan, weight / total) for each, weight in pairs])

    @property
    def precedent(self) -> bool:
        """Whether there is one: near enough that the past says more than nothing does."""
        return sum(share for _, share in self.shares) >= 0.5

    def for_tools(self) -> Mapping[str, float]:
        found: dict[str, float] = {}
        for plan, share in self.shares:
            for tool in dict.fromkeys(plan.tools):
                found[tool] = found.get(tool, 0.0) + share
        return found

    def after(self, tool: str | None) -> Mapping[str, float]:
        """What came next, where this came; without one, what came first."""
        found: dict[str, float] = {}
        for plan, share in self.shares:
            before = (None, *plan.tools)
            for one, then in zip(before, plan.tools, strict=False):
                if one == tool:
                    found[then] = found.get(then, 0.0) + share
        return found


def _likeness(near: Near, best: float) -> float:
    return exp((near.similarity - best) / _SHARPNESS)


def _in_common(some: frozenset[str], others: frozenset[str]) -> float:
    both = some | others
    return len(some & others) / len(both) if both else 0.0


# The steps of a past plan on their way to where they are kept and back: a tool by its server's id,
# which is no other's when a name is given again, and a step by its number, for what somebody called
# it may be a word of theirs.


def stored(steps: Sequence[PastStep], place: Callable[[str], ToolPlace | None]) -> JsonValue:
    """None if a tool has no place any more. That a step waits for what it takes something from goes
    without saying."""
    numbers = {step.id: f"s{number}" for number, step in enumerate(steps, 1)}
    placed = {step.tool: place(step.tool) for step in steps}
    found = {tool: f"{at.server.value}.{at.tool}" for tool, at in placed.items() if at is not None}
    if len(found) < len(placed):
        return None
    return skeleton_document(
        [
            PastStep(
                numbers[step.id],
                found[step.tool],
                {name: _numbered(kept, numbers) for name, kept in step.arguments.items()},
                [numbers[name] for name in step.after if name not in step.fed_by],
            )
            for step in steps
        ]
    )


def restored(
    document: JsonValue, named: Callable[[ToolPlace], str | None]
) -> Sequence[PastStep] | None:
    """None if somebody may not know of one of its tools, or if it cannot be read."""
    try:
        steps = [(step, named(_place(step.tool))) for step in read_skeleton(document)]
    except ValueError:
        return None
    found = [
        PastStep(step.id, tool, step.arguments, step.after)
        for step, tool in steps
        if tool is not None
    ]
    return found if len(found) == len(steps) else None


def with_inputs(plan: Plan, inputs: JsonObject) -> Plan:
    """With what it was given in the place of what refers to that, so that it is seen whether the
    intent says it."""
    return Plan(steps=[_told(step, inputs) for step in plan.steps], name=plan.name)


def _told(step: Step, inputs: JsonObject) -> Step:
    arguments = {
        name: inputs[given.path]
        if isinstance(given, Reference) and given.step == INPUTS and given.path in inputs
        else given
        for name, given in step.arguments.items()
    }
    return Step(
        id=step.id,
        tool=step.tool,
        arguments=arguments,
        after=step.after,
        for_each=step.for_each,
        fallback=step.fallback,
    )


def _numbered(kept: StoredArgument, numbers: Mapping[str, str]) -> StoredArgument:
    return Reference(numbers[kept.step], kept.path) if isinstance(kept, Reference) else kept


def _place(text: str) -> ToolPlace:
    """Raises `ValueError`."""
    server, _, tool = text.partition(".")
    return ToolPlace(ServerId(UUID(server)), tool)


# A plan that went well, as it is kept: whose it was, for which words, and no value of anybody.

MOST_OF_STEPS: Final = 60_000
"""Characters of the steps of a plan, as they are written down."""


class PastPlanId(Id):
    __slots__ = ()
    prefix = "pln"

    @classmethod
    def of(
        cls, space: SpaceId, who: PrincipalId, label: Label, intent: str, steps: JsonValue = None
    ) -> Self:
        """The same for the same words of the same person that came to the same plan, whichever
        values stand among them."""
        words = in_general(intent).casefold()
        whole = canonical([str(space), str(who), str(label), words, steps])
        return cls.of_digest(b"past plan " + whole)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredPlan:
    id: PastPlanId
    principal: PrincipalId
    label: Label
    """Of the run that it comes from: it covers whatever its tools know."""
    intent: str
    """With a kind in the place of each value; empty for everybody but its author."""
    vector: bytes
    """Of the intent without its values: little-endian float32, of length one; none if there was
    nothing to embed."""
    steps: JsonValue
    """As `skeleton_document` writes them, each tool by the id of its server."""
    runs: int = 1
    accepted: int = 0
    rejected: int = 0
    modified: int = 0
    last_at: datetime


# What is known about an intent before anything is suggested: what search and the past say.


@dataclass(frozen=True, slots=True)
class Searched:
    text: str
    hits: Mapping[str, float]
    """The probability of each tool that was found, best first."""
    fits: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class SuggestionRequest:
    intent: str
    searched: Sequence[Searched]
    """For the whole, and then for each of its sub-steps, if there are several."""
    near: Sequence[Near] = ()

    @property
    def whole(self) -> Mapping[str, float]:
        return self.searched[0].hits if self.searched else {}

    @property
    def parts(self) -> Sequence[Searched]:
        return self.searched[1:] or self.searched

    def best_part(self, tool: str) -> float:
        """The probability for the sub-step that it answers best."""
        return max((each.hits.get(tool, 0.0) for each in self.parts), default=0.0)

    def part_of(self, tool: str) -> int | None:
        """Which sub-step it answers best."""
        found = [(each.hits.get(tool, 0.0), -place) for place, each in enumerate(self.parts)]
        best, place = max(found, default=(0.0, 0))
        return -place if best else None

    def part_texts(self, tools: Iterable[str]) -> Mapping[str, str]:
        """By tool: the words of the sub-step that it answers best."""
        places = {tool: self.part_of(tool) for tool in tools}
        return {tool: self.parts[place].text for tool, place in places.items() if place is not None}


_UNSEEN: Final = 1.0
"""Plans that a share is shrunk by: what was seen once is not certain."""
_FIRST_ORDER: Final = 2.0
_SECOND_ORDER: Final = 3.0
START: Final = ""

Counts = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True, slots=True)
class ToolStatistics:
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
