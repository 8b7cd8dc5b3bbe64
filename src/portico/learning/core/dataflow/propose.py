"""Edges that could be meant, each with how sure that is and why. Nothing is run for one of them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import exp
from typing import Final

from portico.learning.core.dataflow.candidates import Candidate, Sought, sought
from portico.learning.core.dataflow.flows import NO_FLOWS, Flows
from portico.learning.core.dataflow.kinship import Kinship
from portico.learning.core.dataflow.known_step import outputs_of, wants_of
from portico.learning.core.dataflow.learnt import SHIPPED, SHOWN, Floors, Weights
from portico.learning.core.dataflow.meanings import Meanings
from portico.learning.core.dataflow.reasons import reason
from portico.learning.core.dataflow.shape import StepShape
from portico.learning.core.dataflow.signs import Signs

_NEARLY: Final = 0.6
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


def texts_to_embed(steps: Sequence[StepShape]) -> Sequence[str]:
    """Each once: all that `propose` asks the vectors of."""
    found: dict[str, None] = {}
    for step in steps:
        for output in outputs_of(step):
            found.update(dict.fromkeys((output.named, output.told)))
        for want in wants_of(step):
            found.update(dict.fromkeys((want.named, want.told)))
    return list(found)


def propose(
    steps: Sequence[StepShape],
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
    odds = [exp(min(log_odds(each.signs, weights), 30.0)) for each in candidates]
    total = 1.0 + sum(odds)
    return [each / total for each in odds]


def log_odds(signs: Signs, weights: Weights) -> float:
    return weights.start + sum(signs[sign] * weight for sign, weight in weights.of.items())


def nearly_as_good(sure: Sequence[float]) -> Sequence[int]:
    """Which candidates are to be shown for a parameter: the best, and what comes near it."""
    ranked = sorted(range(len(sure)), key=lambda place: -sure[place])
    return [place for place in ranked if sure[place] >= _NEARLY * sure[ranked[0]]][:_MOST]


def _edges(
    steps: Sequence[StepShape], asked: Sought, weights: Weights, floors: Floors
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
