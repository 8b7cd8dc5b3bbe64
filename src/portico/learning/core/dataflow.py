"""Dataflow between steps: candidates, their fit, the best with reasons."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from heapq import nlargest
from math import exp, inf, log1p
from types import MappingProxyType
from typing import Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from portico.gateway.core.catalog_snapshot import Definition, ToolRef
from portico.gateway.core.inferred_schema import ObservedSchema, schema_of, vague
from portico.gateway.core.search_text import STOP_WORDS
from portico.kernel.json import JsonObject
from portico.learning.core.dataflow_fields import (
    CONTROL,
    IDENTIFIERS,
    NO_FLOWS,
    OPEN,
    VERBS,
    WEAK,
    Flow,
    Flows,
    Kinship,
    Meanings,
    OutputField,
    Parameter,
    StepSignature,
    fields_of,
    kinship,
    nearness,
    parameters_of,
    share,
    spelled,
    type_of,
    words,
)
from portico.workflows.core.plan import Graph, Plan, Step

_SAME_NAME: Final = 1.5
_WORDS: Final = 1.5
_ENTITY: Final = 1.0
_MEANING: Final = 1.5
_SAME_TYPE: Final = 1.0
_A_LEVEL_DEEPER: Final = 0.1
_SEEN: Final = 2.0
_LONGEST: Final = 1_000


@dataclass(frozen=True, slots=True)
class Output:
    """A field with the words that it is looked at by."""

    field: OutputField
    spelled: str
    words: frozenset[str]
    entities: frozenset[str]
    """What it and what gives it are about: `customer` of `get_customer`'s `id`."""
    depth: int
    named: str
    told: str

    @classmethod
    def of(cls, field: OutputField, tool: str, description: str) -> Self:
        keys = field.keys
        about = [*words(tool), *(word for key in keys for word in words(key))]
        named = " ".join(words(field.name))
        return cls(
            field=field,
            spelled=spelled(field.name),
            words=frozenset(words(field.name)),
            entities=frozenset(about) - VERBS - WEAK,
            depth=len(keys) - 1,
            named=named,
            told=f"{' '.join(words(tool))} {named} {(field.description or description)[:_LONGEST]}",
        )


@dataclass(frozen=True, slots=True)
class Want:
    """A parameter with the words that it is looked at by."""

    parameter: Parameter
    spelled: str
    words: frozenset[str]
    last: str
    """The word that says what kind of thing it is."""
    entities: frozenset[str]
    named: str
    told: str

    @classmethod
    def of(cls, parameter: Parameter) -> Self:
        found = words(parameter.name)
        return cls(
            parameter=parameter,
            spelled=spelled(parameter.name),
            words=frozenset(found),
            last=found[-1] if found else "",
            entities=frozenset(found) - WEAK,
            named=" ".join(found),
            told=f"{' '.join(found)} {parameter.description[:_LONGEST]}",
        )


class Fit(NamedTuple):
    """A tuple, because a long plan has hundreds of thousands of them."""

    score: float
    """To choose among the fields of one step; how the steps compare is learnt."""
    same_name: bool
    words: float
    name_meaning: float
    meaning: float
    kinship: Kinship
    seen: int


class Near(NamedTuple):
    """In meaning, from vectors."""

    name: float
    all_told: float


def fit(output: Output, want: Want, kin: Kinship, near: Near, seen: int = 0) -> Fit:
    same_name = output.spelled == want.spelled
    in_common = share(output.words, want.words)
    score = (
        _SAME_NAME * same_name
        + _WORDS * in_common
        + _ENTITY * _met(want.entities, output.entities)
        + _MEANING * (near.name + near.all_told)
        + _SAME_TYPE * (kin is Kinship.SAME)
        - _A_LEVEL_DEEPER * output.depth
        + _SEEN * log1p(seen)
    )
    return Fit(score, same_name, in_common, near.name, near.all_told, kin, seen)


def _met(wanted: frozenset[str], there: frozenset[str]) -> float:
    return len(wanted & there) / len(wanted) if wanted else 0.0


class Feature(StrEnum):
    WORDS = "words"
    """The share of their names' words that field and parameter have in common."""
    NAME_MEANING = "name_meaning"
    MEANING = "meaning"
    """How near the names are, and all that is said about them, by vectors."""
    SAME_TYPE = "same_type"
    ABOUT = "about"
    """The parameter's name speaks of what the producer is called after."""
    TURN = "turn"
    """One tool called twice, two parameters of a kind: the first for the first. Below nought for
    the other way round."""
    OPEN = "open"
    """The parameter takes whatever there is: a text, a message, an amount."""
    IDENTIFIER = "identifier"
    SEEN = "seen"
    """How often this very thing was seen."""
    RIVAL = "rival"
    """Another parameter of the same step would fit the field better, or nearly so well."""
    ECHO = "echo"
    """The producer was told this itself: whoever told it can say it again."""
    SAME_TOOL = "same_tool"
    CONTROL = "control"
    CHOICE = "choice"
    DEFAULT = "default"


AGAINST: Final = frozenset(
    {
        Feature.RIVAL,
        Feature.ECHO,
        Feature.SAME_TOOL,
        Feature.CONTROL,
        Feature.CHOICE,
        Feature.DEFAULT,
    }
)

Features = Mapping[Feature, float]

# What was learnt from plans whose edges are known, by `just bench edges`.


@dataclass(frozen=True, slots=True)
class Weights:
    of: Mapping[Feature, float]
    start: float
    """The log-odds of an edge of which nothing is known, against none at all."""


@dataclass(frozen=True, slots=True)
class Floors:
    """The confidence from which on an edge is worth showing."""

    required: float
    optional: float

    def under(self, parameter: Parameter) -> float:
        return self.required if parameter.required else self.optional


SHOWN: Final = Floors(required=0.1, optional=0.5)
"""What must have a value has to come from somewhere; what may be left out mostly is."""


SHIPPED: Final = Weights(
    MappingProxyType(
        {
            Feature.WORDS: 1.0686,
            Feature.NAME_MEANING: 0.3081,
            Feature.MEANING: 2.3879,
            Feature.SAME_TYPE: 0.4006,
            Feature.ABOUT: 0.7028,
            Feature.TURN: 0.7813,
            Feature.OPEN: 1.9096,
            Feature.IDENTIFIER: 1.1088,
            Feature.SEEN: 1.0476,
            Feature.RIVAL: -0.8756,
            Feature.ECHO: -2.8043,
            Feature.SAME_TOOL: -2.6265,
            Feature.CONTROL: -2.2226,
            Feature.CHOICE: -1.4812,
            Feature.DEFAULT: -2.7338,
        }
    ),
    start=-2.9347,
)

RankWeights = tuple[float, float, float, float, float]
"""Near in meaning, named so, words in common; seen for anything, seen for a parameter called so."""

RANKING: Final[RankWeights] = (7.5653, 2.0673, 4.4813, 1.1669, 1.2677)
WITHOUT_FLOWS: Final[RankWeights] = (7.8074, 6.7619, 0.0, 0.0, 0.0)

Floats = NDArray[np.float32]

_RANK_LONGEST: Final = 2_000
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
        return f"{self.named}: {self.description[:_RANK_LONGEST]}{gives}"


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
    return want.named, f"get {want.named}: {parameter.description[:_RANK_LONGEST]}"


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


_MOST_FIELDS: Final = 200


@dataclass(frozen=True, slots=True)
class Rows:
    """Vectors: of the names, and of all that is told."""

    names: Floats
    told: Floats

    @classmethod
    def of(cls, some: Sequence[Output] | Sequence[Want], meanings: Meanings) -> Self:
        names, told = [each.named for each in some], [each.told for each in some]
        return cls(meanings.rows(names), meanings.rows(told))


@dataclass(frozen=True, slots=True)
class KnownStep:
    shape: StepSignature
    outputs: Sequence[Output]
    wants: Sequence[Want]
    told: frozenset[str]
    """What it is told by whoever made the plan, or will be."""
    about: frozenset[str]
    given_rows: Rows
    wanted_rows: Rows

    @classmethod
    def of(cls, shape: StepSignature, meanings: Meanings) -> Self:
        own = shape.tool.rpartition(".")[2]
        asked = [*shape.given, *(parameter.name for parameter in shape.wanted)]
        outputs, wants = outputs_of(shape), wants_of(shape)
        return cls(
            shape=shape,
            outputs=outputs,
            wants=wants,
            told=frozenset(spelled(name) for name in asked),
            about=frozenset(words(own)) - VERBS,
            given_rows=Rows.of(outputs, meanings),
            wanted_rows=Rows.of(wants, meanings),
        )


def outputs_of(shape: StepSignature) -> Sequence[Output]:
    own = shape.tool.rpartition(".")[2]
    return [Output.of(field, own, shape.description) for field in shape.outputs[:_MOST_FIELDS]]


def wants_of(shape: StepSignature) -> Sequence[Want]:
    return [Want.of(parameter) for parameter in shape.wanted]


_MOST_PRODUCERS: Final = 50
"""Of the steps before; the latest of them."""
_NEARLY: Final = 0.25
"""Fields of one step whose fits are this near to one another are told apart by nobody."""
_FAR: Final = 2.0


@dataclass(frozen=True, slots=True)
class Candidate:
    producer: int
    """Which step of the plan."""
    field: OutputField
    fit: Fit
    features: Features
    unclear: bool
    """Another field of the same step would do as well."""


@dataclass(frozen=True, slots=True)
class Sought:
    consumer: int
    want: Want
    candidates: Sequence[Candidate]


@dataclass(frozen=True, slots=True)
class _Pair:
    """A step and an earlier one, every output of which is held against every parameter."""

    producer: KnownStep
    consumer: KnownStep
    fits: Sequence[Mapping[int, Fit]]
    """One mapping a parameter, by output; those whose types are apart are not there."""

    @classmethod
    def of(cls, producer: KnownStep, consumer: KnownStep, flows: Flows) -> Self:
        names = nearness(consumer.wanted_rows.names, producer.given_rows.names)
        told = nearness(consumer.wanted_rows.told, producer.given_rows.told)
        fits = [
            {
                place: fit(
                    output,
                    want,
                    kin,
                    Near(names[number][place], told[number][place]),
                    _seen(flows, producer, consumer, output, want) if flows.exact else 0,
                )
                for place, output in enumerate(producer.outputs)
                if (kin := kinship(output.field.type, want.parameter.type)) is not Kinship.APART
            }
            for number, want in enumerate(consumer.wants)
        ]
        return cls(producer, consumer, fits)

    def best(self, number: int) -> tuple[int, bool] | None:
        """Of its outputs, for one parameter; and whether it is not clear which."""
        scores = nlargest(2, ((each.score, -place) for place, each in self.fits[number].items()))
        if not scores:
            return None
        return -scores[0][1], len(scores) > 1 and scores[0][0] - scores[1][0] < _NEARLY

    def rival(self, place: int, number: int) -> float:
        """How much better another parameter would fit; below nought if none would."""
        others = (fits for wanted, fits in enumerate(self.fits) if wanted != number)
        best = max((fits[place].score for fits in others if place in fits), default=-inf)
        return min(max(best - self.fits[number][place].score, -_FAR), _FAR)


def sought(steps: Sequence[StepSignature], meanings: Meanings, flows: Flows) -> Sequence[Sought]:
    known = [KnownStep.of(step, meanings) for step in steps]
    return [each for place in range(len(known)) for each in _of_step(known, place, flows)]


def earlier_than(place: int) -> range:
    """The steps that could give it something."""
    return range(max(0, place - _MOST_PRODUCERS), place)


def _of_step(known: Sequence[KnownStep], place: int, flows: Flows) -> Iterator[Sought]:
    consumer = known[place]
    if not consumer.wants:
        return
    earlier = earlier_than(place)
    pairs = {each: _Pair.of(known[each], consumer, flows) for each in earlier}
    for number, want in enumerate(consumer.wants):
        found = (_candidate(known, pairs, producer, number) for producer in earlier)
        yield Sought(place, want, [each for each in found if each is not None])


def _candidate(
    known: Sequence[KnownStep], pairs: Mapping[int, _Pair], producer: int, number: int
) -> Candidate | None:
    pair = pairs[producer]
    best = pair.best(number)
    if best is None:
        return None
    place, unclear = best
    found = pair.fits[number][place]
    signs = {
        **_of_pair(pair, place, number),
        **_of_parameter(pair.consumer.wants[number]),
        Feature.RIVAL: pair.rival(place, number),
        Feature.TURN: _turn(known, pairs, producer, number),
    }
    return Candidate(producer, pair.producer.outputs[place].field, found, signs, unclear)


def _of_pair(pair: _Pair, place: int, number: int) -> Features:
    output, want = pair.producer.outputs[place], pair.consumer.wants[number]
    each = pair.fits[number][place]
    return {
        Feature.WORDS: each.words,
        Feature.NAME_MEANING: each.name_meaning,
        Feature.MEANING: each.meaning,
        Feature.SAME_TYPE: float(each.kinship is Kinship.SAME),
        Feature.ABOUT: float(bool(want.entities & pair.producer.about)),
        Feature.SEEN: log1p(each.seen),
        Feature.ECHO: float(output.spelled in pair.producer.told),
        Feature.SAME_TOOL: float(pair.producer.shape.tool == pair.consumer.shape.tool),
    }


def _of_parameter(want: Want) -> Features:
    return {
        Feature.OPEN: float(want.last in OPEN),
        Feature.IDENTIFIER: float(want.last in IDENTIFIERS),
        Feature.CONTROL: float(bool(want.words & CONTROL)),
        Feature.CHOICE: float(want.parameter.choice),
        Feature.DEFAULT: float(want.parameter.default),
    }


def _turn(
    known: Sequence[KnownStep], pairs: Mapping[int, _Pair], producer: int, number: int
) -> float:
    """Departure and arrival from two searches for an airport: each in its turn."""
    tool, wants = known[producer].shape.tool, pairs[producer].consumer.wants
    alike = [place for place in pairs if known[place].shape.tool == tool]
    kind = _kind(wants[number])
    siblings = [place for place, want in enumerate(wants) if _kind(want) == kind]
    if len(alike) < 2 or len(siblings) < 2:
        return 0.0
    return 1.0 if alike.index(producer) % len(siblings) == siblings.index(number) else -1.0


def _kind(want: Want) -> tuple[str, str | None]:
    return want.last, want.parameter.type


def _seen(
    flows: Flows, producer: KnownStep, consumer: KnownStep, output: Output, want: Want
) -> int:
    giver, taker = producer.shape.tool, consumer.shape.tool
    return flows.seen(Flow(giver, output.field.path, taker, want.parameter.name))


# How much of a plan edges are sought for: who sends a long one keeps nobody else waiting.

MOST_STEPS: Final = 50
"""That want something."""
MOST_PAIRS: Final = 200_000
"""Of something wanted and something given; each is looked at."""


@dataclass(frozen=True, slots=True)
class Bounded:
    steps: Sequence[StepSignature]
    """All of them, in their places: those that are left out want nothing, and what nobody could
    take from a step it does not give."""
    left_out: Sequence[str]
    """Steps that want something, and for which nothing is sought."""


def bounded(steps: Sequence[StepSignature]) -> Bounded:
    """Who needs something comes before who could merely take something."""
    wanting = [place for place, step in enumerate(steps) if step.wanted]
    wanting.sort(key=lambda place: not any(each.required for each in steps[place].wanted))
    sought: set[int] = set()
    pairs = 0
    for place in wanting:
        its = _pairs(steps, place)
        if len(sought) < MOST_STEPS and pairs + its <= MOST_PAIRS:
            sought.add(place)
            pairs += its
    givers = {giver for place in sought for giver in earlier_than(place)}
    return Bounded(
        steps=[
            replace(
                step,
                wanted=step.wanted if place in sought else (),
                outputs=step.outputs if place in givers else (),
            )
            for place, step in enumerate(steps)
        ],
        left_out=[steps[place].step for place in sorted(wanting) if place not in sought],
    )


def _pairs(steps: Sequence[StepSignature], place: int) -> int:
    given = sum(len(steps[giver].outputs) for giver in earlier_than(place))
    return given * len(steps[place].wanted)


_NEAR: Final = 0.45
"""The cosine from which on two texts are said to mean much the same."""


def reason(candidate: Candidate) -> str:
    return ", ".join([*_for(candidate), *_against(candidate)]) or "nothing else would fit"


def _for(candidate: Candidate) -> Iterator[str]:
    fit, signs = candidate.fit, candidate.features
    if fit.seen:
        yield f"seen {fit.seen} times" if fit.seen > 1 else "seen once"
    yield from _by_name(candidate)
    if fit.kinship is Kinship.SAME:
        yield "same type"
    if signs[Feature.OPEN]:
        yield "takes anything"


def _by_name(candidate: Candidate) -> Iterator[str]:
    fit = candidate.fit
    if fit.same_name:
        yield "same name"
    elif fit.words > 0:
        yield "words in common"
    elif fit.name_meaning >= _NEAR:
        yield "names near in meaning"
    if candidate.features[Feature.ABOUT]:
        yield "named after what the step is about"
    if not fit.same_name and fit.meaning >= _NEAR:
        yield "descriptions near in meaning"


def _against(candidate: Candidate) -> Iterator[str]:
    fit, signs = candidate.fit, candidate.features
    if fit.kinship is Kinship.NEAR:
        yield "though of another type"
    if signs[Feature.ECHO]:
        yield "though that step was told it itself"
    if signs[Feature.SAME_TOOL]:
        yield "though it is the same tool"
    if candidate.unclear:
        yield "though another of its fields fits as well"


_PROPOSE_NEARLY: Final = 0.6
"""A second candidate with this share of the first's confidence is nearly as good."""
_MOST: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    from_step: str
    path: str
    to_step: str
    parameter: str
    confidence: float
    """From 0 to 1: how often an edge that looks like this was right, where that is known."""
    reason: str
    ambiguous: bool
    """Something else would do nearly as well, so that a person or a model has to say."""
    fits: bool = True
    """Not if it is known that what is given is of another type than what is wanted."""

    def __str__(self) -> str:
        """As it is accepted: `read.json.path -> write.path`."""
        given = f"{self.from_step}.{self.path}" if self.path else self.from_step
        return f"{given} -> {self.to_step}.{self.parameter}"


def texts_to_embed(steps: Sequence[StepSignature]) -> Sequence[str]:
    """Each once: all that `propose` asks the vectors of."""
    found: dict[str, None] = {}
    for step in steps:
        for output in outputs_of(step):
            found.update(dict.fromkeys((output.named, output.told)))
        for want in wants_of(step):
            found.update(dict.fromkeys((want.named, want.told)))
    return list(found)


def propose(
    steps: Sequence[StepSignature],
    meanings: Meanings,
    flows: Flows = NO_FLOWS,
    *,
    weights: Weights = SHIPPED,
    floors: Floors = SHOWN,
) -> Sequence[Edge]:
    """In the order of the plan, where only an earlier step feeds a later one. For each parameter
    the best one first; others beside it if they are nearly as good."""
    asked = sought(steps, meanings, flows)
    return [edge for each in asked for edge in _edges(steps, each, weights, floors)]


def confidences(candidates: Sequence[Candidate], weights: Weights) -> Sequence[float]:
    """Each against all the others and against none of them."""
    odds = [exp(min(log_odds(each.features, weights), 30.0)) for each in candidates]
    total = 1.0 + sum(odds)
    return [each / total for each in odds]


def log_odds(signs: Features, weights: Weights) -> float:
    return weights.start + sum(signs[sign] * weight for sign, weight in weights.of.items())


def nearly_as_good(sure: Sequence[float]) -> Sequence[int]:
    """Which candidates are to be shown for a parameter: the best, and what comes near it."""
    ranked = sorted(range(len(sure)), key=lambda place: -sure[place])
    return [place for place in ranked if sure[place] >= _PROPOSE_NEARLY * sure[ranked[0]]][:_MOST]


def _edges(
    steps: Sequence[StepSignature], asked: Sought, weights: Weights, floors: Floors
) -> Iterator[Edge]:
    sure = confidences(asked.candidates, weights)
    shown = nearly_as_good(sure)
    if not shown or sure[shown[0]] < floors.under(asked.want.parameter):
        return
    for place in shown:
        candidate = asked.candidates[place]
        yield Edge(
            from_step=steps[candidate.producer].step,
            path=candidate.field.path,
            to_step=steps[asked.consumer].step,
            parameter=asked.want.parameter.name,
            confidence=round(sure[place], 4),
            reason=reason(candidate),
            ambiguous=len(shown) > 1 or candidate.unclear,
            fits=candidate.fit.kinship is not Kinship.NEAR,
        )


_FIELDS: Final = 4_000
"""Of all steps of a plan together; each has some all the same."""
_LEAST_FIELDS: Final = 8


@dataclass(frozen=True, slots=True)
class KnownTool:
    definition: Definition
    returns: ObservedSchema | None = None
    """What has been learnt from its results."""

    @property
    def output_schema(self) -> JsonObject | None:
        """What was seen, where its server does not say what is in it; or what that says; None if
        nobody knows."""
        says = self.definition.output_schema
        if self.returns is None or not (says is None or vague(says)):
            return says
        return schema_of(self.returns.shape)


def step_shapes(
    plan: Plan, graph: Graph, tools: Mapping[ToolRef, KnownTool]
) -> Sequence[StepSignature]:
    """In an order that the plan allows: then no edge from an earlier to a later one can close a
    circle. What only stands in for another step is referred to by nobody."""
    most = max(_LEAST_FIELDS, _FIELDS // max(1, len(plan.steps)))
    steps = {step.id: step for step in plan.steps}
    return [
        _shape(steps[name], tools[steps[name].tool], 0 if name in graph.stands_in_for else most)
        for name in graph.order
    ]


def _shape(step: Step, tool: KnownTool, most: int) -> StepSignature:
    return StepSignature(
        step=step.id,
        tool=str(step.tool),
        description=tool.definition.description,
        outputs=_outputs(step, tool)[:most],
        wanted=[
            parameter
            for parameter in parameters_of(tool.definition.input_schema)
            if parameter.name not in step.arguments and _could_be_meant(parameter)
        ],
        given=frozenset(step.arguments),
    )


def _could_be_meant(parameter: Parameter) -> bool:
    """What has to be said, and what is plainly left out: not what has a value unless it is told
    another, and not a choice."""
    return parameter.required or not (parameter.default or parameter.choice)


def output_fields(tool: KnownTool, root: str = "") -> Sequence[OutputField]:
    """Its fields, or as a whole what has none; of what nobody knows, its text."""
    schema = tool.output_schema
    kind = "string" if schema is None else type_of(schema)
    fields = fields_of(schema, f"{root}json")
    if fields or kind == "object":
        return fields
    whole = "text" if kind == "string" else "json"
    return [OutputField(path=f"{root}{whole}", type=kind)]


def _outputs(step: Step, tool: KnownTool) -> Sequence[OutputField]:
    if step.for_each is None:
        return output_fields(tool)
    return [replace(field, type="array") for field in output_fields(tool, "items[].")]
