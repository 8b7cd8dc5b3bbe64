"""The reads at the beginning of a suggested plan, as they can be made ahead: those of which
everything is known, and then those that hang on nothing but what one of them gave."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from portico.gateway.core.calls import Answer
from portico.gateway.core.catalog_snapshot import ToolRef
from portico.gateway.core.inferred_schema import ToolPlace
from portico.kernel.errors import PorticoError
from portico.kernel.json import JsonObject
from portico.learning.core.prefetch.predicted import Origin, Source
from portico.learning.core.prefetch.wanted import Wanted
from portico.workflows.core.plan import Expressions, Plan, Step, references
from portico.workflows.core.plan_values import arguments, as_arguments, step_document


@dataclass(frozen=True, slots=True)
class KnownRead:
    """A tool that only reads, as it stands on the caller's shelf."""

    place: ToolPlace
    pin: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstReads:
    plan: Plan
    reads: Callable[[ToolRef], KnownRead | None]
    """None of a tool that may change something, or is not there."""
    said: Mapping[str, AbstractSet[str]] = field(default_factory=dict)
    """By step, the arguments that stand in the caller's words; the others are constants."""
    expressions: Expressions

    def __call__(self) -> Mapping[str, Wanted]:
        """By step, those that wait for nothing."""
        found = {
            step.id: self._wanted(step, known, {}, frozenset())
            for step, known in self._in_question()
            if not step.after and not _refers_to(step)
        }
        return {name: wanted for name, wanted in found.items() if wanted is not None}

    def _in_question(self) -> Iterator[tuple[Step, KnownRead]]:
        """In the plan's order, up to the first that could change something: what is read after
        that is read as it will be then."""
        for step in self.plan.steps:
            known = self.reads(step.tool)
            if known is None:
                return
            if step.for_each is None and step.when is None and step.fallback is None:
                yield step, known

    def _wanted(
        self, step: Step, known: KnownRead, there: JsonObject, result: AbstractSet[Source]
    ) -> Wanted | None:
        """None if what it refers to is not there."""
        given = self._given(step, there)
        if given is None:
            return None
        return Wanted(
            ref=step.tool,
            pin=known.pin,
            arguments=given,
            sources={name: self._source(step, name, result) for name in given},
            proven=True,
            then=lambda answer: self._after(step, known.place, answer),
        )

    def _given(self, step: Step, there: JsonObject) -> JsonObject | None:
        resolving = arguments(step, there, self.expressions)
        try:
            _ = [*resolving]  # it looks up what is referred to
        except PorticoError:
            return None
        return as_arguments(resolving.value())

    def _source(
        self, step: Step, argument: str, result: AbstractSet[Source]
    ) -> AbstractSet[Source]:
        if [*references(step.arguments[argument])]:
            return result
        said = argument in self.said.get(step.id, ())
        return frozenset({Source(Origin.WORDS if said else Origin.CONSTANT)})

    def _after(self, before: Step, place: ToolPlace, answer: Answer) -> Sequence[Wanted]:
        there: JsonObject = {before.id: step_document(answer)}
        result = frozenset({Source(Origin.RESULT, place)})
        found = [
            self._wanted(step, known, there, result)
            for step, known in self._in_question()
            if _refers_to(step) == {before.id} and {*step.after} <= {before.id}
        ]
        return [wanted for wanted in found if wanted is not None]


def _refers_to(step: Step) -> AbstractSet[str]:
    return {reference.step for _, reference in references(dict(step.arguments))}
