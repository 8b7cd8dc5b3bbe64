"""What can be said of a step's arguments before it is run: of those that refer to nothing, all."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from portico.gateway.core.plan.faults import PlanFault, did_you_mean
from portico.gateway.core.plan.givens import refers
from portico.gateway.core.plan.plan import Step, Template
from portico.kernel.errors import Flaw
from portico.kernel.json import JsonObject, JsonValue, pointed


@dataclass(frozen=True, slots=True)
class LiteralArguments:
    step: Step
    place: str
    """Of the step in its plan."""
    schema: JsonObject
    """What its tool wants."""

    @property
    def values(self) -> JsonObject:
        """Those that are known."""
        given = self.step.arguments.items()
        known = {name: value for name, value in given if not refers(value)}
        return cast("JsonObject", known)  # nothing but JSON is left

    def faults(self, flaws: Sequence[Flaw]) -> Iterator[PlanFault]:
        """`flaws` are those of the known values by themselves: what they say of the whole holds
        only where nothing else comes to it."""
        yield from self._missing()
        yield from self._unexpected()
        yield from self._texts()
        whole = len(self.values) == len(self.step.arguments)
        named = {*self._required(), *self._names()}
        for flaw in flaws:
            first, *rest = flaw.field.split(".")
            if first in self.values or (whole and first not in named):
                place = f"{self.place}/arguments"
                for name in [first, *rest] if flaw.field else []:
                    place = pointed(place, name)
                odd = not rest and first not in self._names()
                fix = did_you_mean(first, self._names()) if odd else None
                yield PlanFault(place, f"It {flaw.message}.", fix)

    def _missing(self) -> Iterator[PlanFault]:
        for name in self._required():
            if name not in self.step.arguments:
                what = f"{self.step.tool} needs the argument {name[:64]!r}."
                yield PlanFault(f"{self.place}/arguments", what, left_out=True)

    def _unexpected(self) -> Iterator[PlanFault]:
        """Only of those that are not known: of the others the check itself says it."""
        closed = self.schema.get("additionalProperties") is False
        if not closed or "patternProperties" in self.schema:
            return
        for name in self.step.arguments.keys() - self.values.keys() - set(self._names()):
            fix = did_you_mean(name, self._names())
            what = f"{self.step.tool} takes no argument {name[:64]!r}."
            yield PlanFault(pointed(f"{self.place}/arguments", name), what, fix)

    def _texts(self) -> Iterator[PlanFault]:
        for name, value in self.step.arguments.items():
            kinds = _types(self._property(name))
            if isinstance(value, Template) and kinds and "string" not in kinds:
                what = f"{self.step.tool} wants {' or '.join(kinds)} here, and not a text."
                fix = 'To take a value as it is, write {"$from": …}.'
                yield PlanFault(pointed(f"{self.place}/arguments", name), what, fix)

    def _required(self) -> Sequence[str]:
        return _listed(self.schema.get("required"))

    def _names(self) -> Sequence[str]:
        known = self.schema.get("properties")
        return [*known] if isinstance(known, Mapping) else []

    def _property(self, name: str) -> JsonValue:
        known = self.schema.get("properties")
        return known.get(name) if isinstance(known, Mapping) else None


def _types(schema: JsonValue) -> Sequence[str]:
    kind = schema.get("type") if isinstance(schema, Mapping) else None
    return [kind] if isinstance(kind, str) else _listed(kind)


def _listed(value: JsonValue) -> Sequence[str]:
    if isinstance(value, str) or not isinstance(value, Sequence):
        return []
    return [each for each in value if isinstance(each, str)]
