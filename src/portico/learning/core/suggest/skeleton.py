"""What is kept of a plan that went well: tools, and where each argument came from; no values.

A value that stood in the intent is kept as its place there, one that no one can be known by as
itself, and of any other only that there was one.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Final

from portico.gateway.core.inferred_schema import names_a_field
from portico.gateway.core.search import whole
from portico.kernel.json import JsonObject, JsonValue
from portico.learning.core.prefetch.nobodys import nobodys
from portico.learning.core.suggest.intent import Kind, Span, spans
from portico.workflows.core.plan import Plan, Reference, Step

_PATH: Final = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*|\[\d{1,3}\])*")
"""Members and items only: whatever compares something holds somebody's value."""
_KEY: Final = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True, slots=True)
class FromIntent:
    """The so-manieth value of its kind that the intent has."""

    kind: Kind
    number: int
    as_text: bool = False
    """A number that was handed on as it was written."""


@dataclass(frozen=True, slots=True)
class Constant:
    value: JsonValue


@dataclass(frozen=True, slots=True)
class Unknown:
    """It was told; nobody knows from where."""


Kept = FromIntent | Constant | Unknown | Reference


@dataclass(frozen=True, slots=True)
class PastStep:
    id: str
    tool: str
    arguments: Mapping[str, Kept] = field(default_factory=dict)
    after: Sequence[str] = ()

    @property
    def fed_by(self) -> Sequence[str]:
        """Steps whose results it takes."""
        given = self.arguments.values()
        return list(dict.fromkeys(each.step for each in given if isinstance(each, Reference)))


Listed = Mapping[str, Collection[JsonValue]]
"""By `server.tool#parameter`: the values that stand in the tool's own definition."""


def skeleton_of(plan: Plan, intent: str, listed: Listed | None = None) -> Sequence[PastStep]:
    """Its steps are numbered: what somebody called them is theirs."""
    plain = {
        step.id: f"s{number}"
        for number, step in enumerate(plan.steps, 1)
        if step.for_each is None and step.fallback is None
    }
    keeping = _Keeping(whole(intent), spans(intent), plain, listed or {})
    return [
        PastStep(
            f"s{number}",
            str(step.tool),
            {name: keeping.of(step, name) for name in step.arguments if names_a_field(name)},
            tuple(plain[name] for name in step.after if name in plain),
        )
        for number, step in enumerate(plan.steps, 1)
    ]


def listed_values(tool: str, schema: JsonObject) -> Listed:
    """Of a tool's `inputSchema`."""
    properties = schema.get("properties")
    members = properties if isinstance(properties, Mapping) else {}
    found = {f"{tool}#{name}": list(_listed(each)) for name, each in members.items()}
    return {place: values for place, values in found.items() if values}


@dataclass(frozen=True, slots=True)
class _Keeping:
    intent: str
    spans: Sequence[Span]
    plain: Mapping[str, str]
    """Steps that are done once and give what their tool gives, with their numbers."""
    listed: Listed

    def of(self, step: Step, parameter: str) -> Kept:
        given = step.arguments[parameter]
        if isinstance(given, Reference):
            plainly = step.id in self.plain and self._refers_plainly(given)
            return Reference(self.plain[given.step], given.path) if plainly else Unknown()
        if given is None or isinstance(given, bool | int | float | str):
            return self._place(given) or self._constant(given, f"{step.tool}#{parameter}")
        return Unknown()

    def _refers_plainly(self, given: Reference) -> bool:
        there = given.step in self.plain and not given.has_default
        named = all(names_a_field(key) for key in _KEY.findall(given.path))
        return there and named and (not given.path or _PATH.fullmatch(given.path) is not None)

    def _place(self, value: JsonValue) -> FromIntent | None:
        by_kind = sorted(self.spans, key=lambda span: span.kind)
        for kind, some in groupby(by_kind, key=lambda span: span.kind):
            for number, span in enumerate(some):
                if span.value == value and type(span.value) is type(value):
                    return FromIntent(kind, number)
                if span.text == value:
                    return FromIntent(kind, number, as_text=True)
        return None

    def _constant(self, value: JsonValue, place: str) -> Constant | Unknown:
        """Never a word of the intent, which will be another the next time."""
        if any(value == each and type(value) is type(each) for each in self.listed.get(place, ())):
            return Constant(value)
        return Unknown() if self._somebodys(value) else Constant(value)

    def _somebodys(self, value: JsonValue) -> bool:
        said = isinstance(value, str) and value.casefold() in self.intent.casefold()
        return said or not nobodys(value)


def _is_a_value(value: JsonValue) -> bool:
    return value is None or isinstance(value, bool | int | float | str)


def _listed(schema: JsonValue) -> Iterator[JsonValue]:
    if not isinstance(schema, Mapping):
        return
    for keyword in ("enum", "examples"):
        some = schema.get(keyword)
        if isinstance(some, Sequence) and not isinstance(some, str):
            yield from (each for each in some if _is_a_value(each))
    yield from (schema[key] for key in ("const", "default") if _is_a_value(schema.get(key, [])))
