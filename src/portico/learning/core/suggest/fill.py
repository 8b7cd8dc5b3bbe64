"""Arguments for the steps of a plan: only what the intent says, and what was handed on before.

Nothing is made up. What has to be told and is not known from either is missing, and said to be.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import takewhile
from typing import Final

from portico.learning.core.dataflow.shape import Parameter
from portico.learning.core.suggest.intent import Kind, Span
from portico.learning.core.suggest.likely import Tools
from portico.learning.core.suggest.needs import Learnt
from portico.learning.core.suggest.offered import Offered
from portico.learning.core.suggest.said import NUMBERS, Said, form_of
from portico.learning.core.suggest.skeleton import Constant, FromIntent, Kept, PastStep, Unknown
from portico.workflows.core.plan import Given, Reference

_MOSTLY: Final = 0.5
"""The share of what was seen for a parameter that has to have come from one place."""
_COULD_GIVE: Final = 3


class From(StrEnum):
    INTENT = "intent"
    STEP = "step"
    CONSTANT = "constant"


@dataclass(frozen=True, slots=True)
class Origin:
    """Where an argument is from."""

    kind: From
    text: str
    """As it stands in the intent, or `step.path`, or the value."""


@dataclass(frozen=True, slots=True)
class MissingArgument:
    """It has to be told, and nothing gives it."""

    step: str
    parameter: str
    could_give: Sequence[str] = ()
    """Tools that gave what is called so in other plans, the likeliest first."""


@dataclass(frozen=True, slots=True)
class Filled:
    id: str
    tool: str
    arguments: Mapping[str, Given]
    origins: Mapping[str, Origin]
    missing: Sequence[MissingArgument]
    after: Sequence[str]
    """As the past plan says that it follows."""


_Found = tuple[Given, Origin]


def fill(
    steps: Sequence[PastStep],
    intent: str,
    learnt: Learnt,
    offered: Tools,
    parts: Mapping[str, str] | None = None,
) -> Sequence[Filled]:
    """`steps` in their order; those that are not of a past plan have no arguments. All tools are
    offered. `parts`: by tool, the part of the intent that it answers."""
    filling = _Filling(steps, Said.of(intent), learnt, offered, parts or {})
    found = {step.id: filling.step(step) for step in steps}
    for step, name, value in filling.left_over(found):
        found[step][name] = value
    return [filling.filled(step, found[step.id]) for step in steps]


@dataclass(frozen=True, slots=True)
class _Filling:
    steps: Sequence[PastStep]
    said: Said
    learnt: Learnt
    offered: Tools
    parts: Mapping[str, str]

    def step(self, step: PastStep) -> dict[str, _Found]:
        """First what the past plan says and what is needed, then what may be left out."""
        tool = self.offered[step.tool]
        needed = (each.name for each in tool.required)
        every = {name: self._found(step, name) for name in (*step.arguments, *needed)}
        for each in tool.parameters:
            if each.name not in every and not step.arguments:
                every[each.name] = self._from_intent(tool, each)
        return {name: each for name, each in every.items() if each is not None}

    def left_over(
        self, found: Mapping[str, Mapping[str, _Found]]
    ) -> Iterator[tuple[str, str, _Found]]:
        """The only thing that is said and not used yet, for the only one that wants such."""
        wanting = [
            (step.id, parameter)
            for step in self.steps
            for parameter in self.offered[step.tool].required
            if parameter.name not in found[step.id]
        ]
        for step, parameter in wanting:
            alike = [each for _, each in wanting if _kind(each) == _kind(parameter)]
            span = self.said.only_one(parameter) if len(alike) == 1 else None
            if span is not None:
                yield step, parameter.name, _told(span, as_text=parameter.type not in NUMBERS)

    def filled(self, step: PastStep, found: Mapping[str, _Found]) -> Filled:
        missing = [
            MissingArgument(step.id, each.name, self._could_give(step.tool, each.name))
            for each in self.offered[step.tool].required
            if each.name not in found
        ]
        return Filled(
            step.id,
            step.tool,
            {name: given for name, (given, _) in found.items()},
            {name: origin for name, (_, origin) in found.items()},
            missing,
            step.after,
        )

    def _found(self, step: PastStep, name: str) -> _Found | None:
        known = self._as_kept(step.arguments.get(name, Unknown()))
        if known is not None:
            return known
        tool = self.offered[step.tool]
        parameter = tool.parameter(name) or Parameter(name=name)
        said = self._from_intent(tool, parameter)
        if said is not None:
            return said
        listed = self.said.listed(tool, name)
        if listed is not None:
            return listed, Origin(From.INTENT, listed)
        return self._handed_on(step, name)

    def _from_intent(self, tool: Offered, parameter: Parameter) -> _Found | None:
        span = self.said.for_parameter(tool, parameter, self.parts.get(tool.tool, ""))
        return None if span is None else _told(span, as_text=parameter.type not in NUMBERS)

    def _as_kept(self, kept: Kept) -> _Found | None:
        if isinstance(kept, Reference):
            return kept, Origin(From.STEP, str(kept))
        if isinstance(kept, Constant):
            return kept.value, Origin(From.CONSTANT, f"{kept.value}")
        if isinstance(kept, FromIntent):
            span = self.said.number(kept.kind, kept.number)
            return None if span is None else _told(span, as_text=kept.as_text)
        return None

    def _handed_on(self, step: PastStep, name: str) -> _Found | None:
        """From where it mostly came, in other plans, if that is one step of this one."""
        seen = self.learnt.sources.get((step.tool, name), {})
        enough = max(1.0, _MOSTLY * sum(seen.values()))
        before = [*takewhile(lambda each: each.id != step.id, self.steps)]
        times_there = Counter(each.tool for each in before)
        ids = {each.tool: each.id for each in before if times_there[each.tool] == 1}
        found = [
            Reference(ids[producer], path)
            for (producer, path), times in seen.items()
            if times >= enough and path and producer in ids
        ]
        return (found[0], Origin(From.STEP, str(found[0]))) if found else None

    def _could_give(self, tool: str, name: str) -> Sequence[str]:
        found = self.learnt.givers_of(name)
        some = sorted(found, key=lambda each: (-found[each], each))
        return tuple(each for each in some if each != tool and each in self.offered)[:_COULD_GIVE]


def _told(span: Span, *, as_text: bool) -> _Found:
    return span.text if as_text else span.value, Origin(From.INTENT, span.text)


def _kind(parameter: Parameter) -> tuple[str | None, Kind | None]:
    return parameter.type, form_of(parameter)
