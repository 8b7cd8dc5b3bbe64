"""For each parameter that is still wanted: what every earlier step could give for it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import nlargest
from math import inf, log1p
from typing import Final, Self

from portico.learning.core.dataflow.fit import Fit, Near, Output, Want, fit
from portico.learning.core.dataflow.flows import Flow, Flows
from portico.learning.core.dataflow.kinship import Kinship, kinship
from portico.learning.core.dataflow.known_step import Known
from portico.learning.core.dataflow.meanings import Meanings, nearness
from portico.learning.core.dataflow.shape import OutputField, StepShape
from portico.learning.core.dataflow.signs import Sign, Signs
from portico.learning.core.dataflow.words import CONTROL, IDENTIFIERS, OPEN

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
    signs: Signs
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

    producer: Known
    consumer: Known
    fits: Sequence[Mapping[int, Fit]]
    """One mapping a parameter, by output; those whose types are apart are not there."""

    @classmethod
    def of(cls, producer: Known, consumer: Known, flows: Flows) -> Self:
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


def sought(steps: Sequence[StepShape], meanings: Meanings, flows: Flows) -> Sequence[Sought]:
    known = [Known.of(step, meanings) for step in steps]
    return [each for place in range(len(known)) for each in _of_step(known, place, flows)]


def earlier_than(place: int) -> range:
    """The steps that could give it something."""
    return range(max(0, place - _MOST_PRODUCERS), place)


def _of_step(known: Sequence[Known], place: int, flows: Flows) -> Iterator[Sought]:
    consumer = known[place]
    if not consumer.wants:
        return
    earlier = earlier_than(place)
    pairs = {each: _Pair.of(known[each], consumer, flows) for each in earlier}
    for number, want in enumerate(consumer.wants):
        found = (_candidate(known, pairs, producer, number) for producer in earlier)
        yield Sought(place, want, [each for each in found if each is not None])


def _candidate(
    known: Sequence[Known], pairs: Mapping[int, _Pair], producer: int, number: int
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
        Sign.RIVAL: pair.rival(place, number),
        Sign.TURN: _turn(known, pairs, producer, number),
    }
    return Candidate(producer, pair.producer.outputs[place].field, found, signs, unclear)


def _of_pair(pair: _Pair, place: int, number: int) -> Signs:
    output, want = pair.producer.outputs[place], pair.consumer.wants[number]
    each = pair.fits[number][place]
    return {
        Sign.WORDS: each.words,
        Sign.NAME_MEANING: each.name_meaning,
        Sign.MEANING: each.meaning,
        Sign.SAME_TYPE: float(each.kinship is Kinship.SAME),
        Sign.ABOUT: float(bool(want.entities & pair.producer.about)),
        Sign.SEEN: log1p(each.seen),
        Sign.ECHO: float(output.spelled in pair.producer.told),
        Sign.SAME_TOOL: float(pair.producer.shape.tool == pair.consumer.shape.tool),
    }


def _of_parameter(want: Want) -> Signs:
    return {
        Sign.OPEN: float(want.last in OPEN),
        Sign.IDENTIFIER: float(want.last in IDENTIFIERS),
        Sign.CONTROL: float(bool(want.words & CONTROL)),
        Sign.CHOICE: float(want.parameter.choice),
        Sign.DEFAULT: float(want.parameter.default),
    }


def _turn(known: Sequence[Known], pairs: Mapping[int, _Pair], producer: int, number: int) -> float:
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


def _seen(flows: Flows, producer: Known, consumer: Known, output: Output, want: Want) -> int:
    giver, taker = producer.shape.tool, consumer.shape.tool
    return flows.seen(Flow(giver, output.field.path, taker, want.parameter.name))
