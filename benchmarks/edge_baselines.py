"""The rules to beat: an edge where the names or the types of any output and a parameter agree."""

import re
from collections.abc import Callable, Mapping
from itertools import combinations
from typing import Final

from benchmarks.edge_sets import GoldPlan, Place
from portico.learning.core.dataflow_fields import OutputField, Parameter, StepSignature

_HUMP: Final = re.compile(r"([a-z0-9])([A-Z])")
_NAMES_ITSELF: Final = frozenset({"id", "name", "key", "code"})
_SAYING_NOTHING: Final = "id name key code number uuid value get search list find fetch the a of"
_SAYS_NOTHING: Final = frozenset(_SAYING_NOTHING.split())

Rule = Callable[[StepSignature, OutputField, Parameter], bool]


def edges_by(rule: Rule, plan: GoldPlan) -> set[Place]:
    return {
        (giver, taker, parameter.name)
        for giver, taker in combinations(range(len(plan.steps)), 2)
        for parameter in plan.steps[taker].wanted
        if any(
            rule(plan.steps[giver], field, parameter)
            for field in plan.steps[giver].outputs
            if not field.path.endswith("]")
        )
    }


def same_name(_giver: StepSignature, field: OutputField, parameter: Parameter) -> bool:
    return _together(field.name) == _together(parameter.name)


def half_the_words(giver: StepSignature, field: OutputField, parameter: Parameter) -> bool:
    one, other = set(_words(field.name)), set(_words(parameter.name))
    common = len(one & other)
    return same_name(giver, field, parameter) or (common > 0 and common / len(one | other) >= 0.5)


def words_or_producer(giver: StepSignature, field: OutputField, parameter: Parameter) -> bool:
    if half_the_words(giver, field, parameter):
        return True
    called, given, wanted = set(_words(giver.tool)), _words(field.name), _words(parameter.name)
    both_ids = given[-1:] == wanted[-1:] == ["id"]
    itself = _together(field.name) in _NAMES_ITSELF
    return (both_ids and bool(set(wanted[:-1]) & called)) or (
        itself and bool((set(wanted) - _SAYS_NOTHING) & called)
    )


def same_type(_giver: StepSignature, field: OutputField, parameter: Parameter) -> bool:
    return field.type is not None and field.type == parameter.type


RULES: Final[Mapping[str, Rule]] = {
    "same_name": same_name,
    "half_the_words": half_the_words,
    "words_or_producer": words_or_producer,
    "same_type": same_type,
}


def _together(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _words(name: str) -> list[str]:
    found = re.split(r"[^a-z0-9]+", _HUMP.sub(r"\1 \2", name).lower())
    return [word[:-1] if word.endswith("s") and len(word) > 3 else word for word in found if word]
