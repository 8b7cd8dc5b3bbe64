"""What was learnt from sets of questions and tools, by `portico bench search --learn`.

One row for each choice of models at hand; UltraTool, whose licence is not clear, had no part in it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from portico.gateway.core.search.abstain import Judgement
from portico.gateway.core.search.fusion import ENCODER, LEXICAL, NAMES, STATIC, Weights


@dataclass(frozen=True, slots=True)
class Learnt:
    weights: Weights
    judgement: Judgement


Learning = Mapping[frozenset[str], Learnt]

SHIPPED: Final[Learning] = MappingProxyType(
    {
        frozenset(): Learnt(Weights({LEXICAL: 0.3}), Judgement(1.0, 1.0, 0.0)),
        frozenset({STATIC}): Learnt(
            Weights({LEXICAL: 0.19, STATIC: 12.6, NAMES: 3.9}), Judgement(1.0, 0.5, 0.5)
        ),
        frozenset({ENCODER}): Learnt(
            Weights({LEXICAL: 0.25, ENCODER: 12.0}), Judgement(1.0, 0.5, 0.5)
        ),
        frozenset({STATIC, ENCODER}): Learnt(
            Weights({LEXICAL: 0.16, STATIC: 5.5, ENCODER: 8.3, NAMES: 4.3}),
            Judgement(1.0, 0.5, 0.5),
        ),
    }
)
