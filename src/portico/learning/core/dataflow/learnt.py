"""What was learnt from plans whose edges are known, by `just bench edges`."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from portico.learning.core.dataflow.shape import Parameter
from portico.learning.core.dataflow.signs import Sign


@dataclass(frozen=True, slots=True)
class Weights:
    of: Mapping[Sign, float]
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
            Sign.WORDS: 1.0686,
            Sign.NAME_MEANING: 0.3081,
            Sign.MEANING: 2.3879,
            Sign.SAME_TYPE: 0.4006,
            Sign.ABOUT: 0.7028,
            Sign.TURN: 0.7813,
            Sign.OPEN: 1.9096,
            Sign.IDENTIFIER: 1.1088,
            Sign.SEEN: 1.0476,
            Sign.RIVAL: -0.8756,
            Sign.ECHO: -2.8043,
            Sign.SAME_TOOL: -2.6265,
            Sign.CONTROL: -2.2226,
            Sign.CHOICE: -1.4812,
            Sign.DEFAULT: -2.7338,
        }
    ),
    start=-2.9347,
)

RankWeights = tuple[float, float, float, float, float]
"""Near in meaning, named so, words in common; seen for anything, seen for a parameter called so."""

RANKING: Final[RankWeights] = (7.5653, 2.0673, 4.4813, 1.1669, 1.2677)
WITHOUT_FLOWS: Final[RankWeights] = (7.8074, 6.7619, 0.0, 0.0, 0.0)
