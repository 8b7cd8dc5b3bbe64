"""How well one output would do as one parameter, whatever else there is in the plan."""

from dataclasses import dataclass
from math import log1p
from typing import Final, NamedTuple, Self

from portico.learning.core.dataflow.kinship import Kinship
from portico.learning.core.dataflow.shape import OutputField, Parameter
from portico.learning.core.dataflow.words import VERBS, WEAK, share, spelled, words

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
