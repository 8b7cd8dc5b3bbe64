"""What was learnt from sets of questions and tools, by `just bench search --learnt`.

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
        frozenset(): Learnt(Weights({LEXICAL: 0.478}), Judgement(0.4804, 0.4793, 0.0)),
        frozenset({STATIC}): Learnt(
            Weights({LEXICAL: 0.1844, STATIC: 11.8078, NAMES: 4.0316}),
            Judgement(0.7319, 0.3082, 0.0216),
        ),
        frozenset({ENCODER}): Learnt(
            Weights({LEXICAL: 0.2421, ENCODER: 14.2818}), Judgement(0.6949, 0.0727, 0.2096)
        ),
        frozenset({STATIC, ENCODER}): Learnt(
            Weights({LEXICAL: 0.1422, STATIC: 6.5118, ENCODER: 8.5066, NAMES: 3.4876}),
            Judgement(0.6988, 0.0296, 0.3635),
        ),
    }
)
