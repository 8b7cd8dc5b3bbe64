"""What a step is really given, once what it refers to is there."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from portico.gateway.core.plan.effort import LETTERS, Effort
from portico.gateway.core.plan.expressions import Expressions, holds
from portico.gateway.core.plan.graph import Graph
from portico.gateway.core.plan.output import document_value
from portico.gateway.core.plan.plan import Given, Plan, Reference, Step, Template
from portico.gateway.core.plan.references import INDEX, ITEM, references
from portico.kernel.errors import Kind, PorticoError
from portico.kernel.json import JsonObject, JsonValue

MOST_CHARACTERS: Final = 4_000_000
"""Of all that one step is given."""
_REFERENCE: Final = 10
"""Of work, for looking one up."""
_STRETCH: Final = 50_000
"""Of work: about five milliseconds."""

Known = Mapping[str, JsonValue]
"""What is there by now: documents of steps by their ids (of one whose stand-in gave it, that), and
`inputs`. A step that gave nothing is not in it."""


class MissingValue(PorticoError):
    kind = Kind.INVALID
    code = "missing_value"
    title = "There is nothing where the plan refers to"
    fix = "Give the reference a default, or look at what the step really gave."

    def __init__(self, place: str, reference: str) -> None:
        super().__init__(f"{place}: {reference[:100]!r} leads to nothing.")
        self.place = place
        self.reference = reference


class GivenTooLarge(PorticoError):
    kind = Kind.EXHAUSTED
    code = "given_too_large"
    title = "The step would be given too much"
    fix = "Refer to the part that is needed, not to all that a step gave."

    def __init__(self) -> None:
        super().__init__(f"Its arguments would have more than {MOST_CHARACTERS:,} characters.")


class NotAList(PorticoError):
    kind = Kind.INVALID
    code = "not_a_list"
    title = "There is no list to go through"
    fix = "A for_each goes through a list; look at what the step really gave."

    def __init__(self, what: str) -> None:
        super().__init__(f"/for_each/in: what is there is {what}.")


class TooManyItems(PorticoError):
    kind = Kind.EXHAUSTED
    code = "too_many_items"
    title = "The list is longer than the plan allows"
    fix = "Raise `most` of its for_each, or choose fewer items by the path."

    def __init__(self, count: int, most: int) -> None:
        super().__init__(f"There are {count:,} items; the plan allows {most:,}.")
        self.count = count
        self.most = most


def wanted(
    step: Step, known: Known, expressions: Expressions, effort: Effort | None = None
) -> bool:
    """Whether its condition is met; a step that gave nothing is null there."""
    return step.when is None or holds(expressions.search(step.when, dict(known), effort))


def with_item(known: Known, item: JsonValue, index: int) -> Known:
    return {**known, ITEM: item, INDEX: index}


class Resolving:
    """A value being put together: first what it refers to is looked up, reference by reference, so
    that whoever has others to serve may do so in between, and then it is made."""

    def __init__(
        self,
        given: Given,
        place: str,
        known: Known,
        expressions: Expressions,
        effort: Effort | None = None,
    ) -> None:
        self._given = given
        self._place = place
        self._known = known
        self._expressions = expressions
        self._effort = Effort.of_run().of_step() if effort is None else effort
        self._left = MOST_CHARACTERS
        self._found: dict[int, JsonValue] = {}
        """By the identity of the reference, which the plan holds."""

    def __iter__(self) -> Iterator[None]:
        """Raises `MissingValue`, `GivenTooLarge`, and what `Expressions.search` raises."""
        told = self._effort.spent
        for place, reference in references(self._given, self._place):
            self._found[id(reference)] = self._looked_up(reference, place)
            if self._effort.spent - told > _STRETCH:
                told = self._effort.spent
                yield

    def value(self) -> JsonValue:
        """Once all was looked up."""
        return self._made(self._given)

    def _made(self, given: Given) -> JsonValue:
        match given:
            case Reference():
                return self._found[id(given)]
            case Template():
                return "".join(self._part(part) for part in given.parts)
            case Mapping():
                return {key: self._made(inner) for key, inner in given.items()}
            case None | bool() | int() | float() | str():
                return given
            case _:
                return [self._made(inner) for inner in given]

    def _part(self, part: str | Reference) -> str:
        value = part if isinstance(part, str) else self._found[id(part)]
        return value if isinstance(value, str) else _written(value)

    def _looked_up(self, reference: Reference, place: str) -> JsonValue:
        value = self._known.get(reference.step)
        if value is not None and reference.path:
            value = self._expressions.search(reference.path, value, self._effort)
        if value is None and not reference.has_default:
            raise MissingValue(place, str(reference))
        value = reference.default if value is None else value
        # Before it is put anywhere: one large value may be referred to a thousand times.
        size = len(value) if isinstance(value, str) else len(_written(value))
        self._left -= size
        if self._left < 0:
            raise GivenTooLarge
        self._effort.spend(_REFERENCE + size // LETTERS)
        return value


def arguments(
    step: Step, known: Known, expressions: Expressions, effort: Effort | None = None
) -> Resolving:
    return Resolving(dict(step.arguments), "/arguments", known, expressions, effort)


def as_arguments(value: JsonValue) -> JsonObject:
    return value if isinstance(value, Mapping) else {}


def items(
    step: Step, known: Known, expressions: Expressions, effort: Effort | None = None
) -> Resolving:
    over: Given = () if step.for_each is None else step.for_each.over
    return Resolving(over, "/for_each/in", known, expressions, effort)


def as_items(step: Step, value: JsonValue) -> Sequence[JsonValue]:
    """Raises `NotAList`, `TooManyItems`."""
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise NotAList(_NAMES.get(type(value).__name__, "an object"))
    if step.for_each is not None and len(value) > step.for_each.most:
        raise TooManyItems(len(value), step.for_each.most)
    return value


def output(
    plan: Plan, known: Known, expressions: Expressions, effort: Effort | None = None
) -> Resolving:
    return Resolving(plan.output, "/output", known, expressions, effort)


def last_of(graph: Graph, known: Known) -> JsonObject:
    return {name: document_value(known[name]) for name in graph.last if name in known}


def _written(value: JsonValue) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


_NAMES: Final = {
    "str": "a text",
    "NoneType": "null",
    "bool": "true or false",
    "int": "a number",
    "float": "a number",
}
