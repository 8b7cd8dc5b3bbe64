"""A step with the words and the vectors that it is looked at by."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Self

from portico.learning.core.dataflow.fit import Output, Want
from portico.learning.core.dataflow.meanings import Floats, Meanings
from portico.learning.core.dataflow.shape import StepShape
from portico.learning.core.dataflow.words import VERBS, spelled, words

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
class Known:
    shape: StepShape
    outputs: Sequence[Output]
    wants: Sequence[Want]
    told: frozenset[str]
    """What it is told by whoever made the plan, or will be."""
    about: frozenset[str]
    given_rows: Rows
    wanted_rows: Rows

    @classmethod
    def of(cls, shape: StepShape, meanings: Meanings) -> Self:
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


def outputs_of(shape: StepShape) -> Sequence[Output]:
    own = shape.tool.rpartition(".")[2]
    return [Output.of(field, own, shape.description) for field in shape.outputs[:_MOST_FIELDS]]


def wants_of(shape: StepShape) -> Sequence[Want]:
    return [Want.of(parameter) for parameter in shape.wanted]
