"""Checks of a plan against the tools that it names."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from portico.kernel.errors import Kind, PorticoError
from portico.workflows.core.plan import (
    INDEX,
    INPUTS,
    ITEM,
    MOST_FALLBACKS,
    RESERVED,
    WHOLE,
    ArgumentTemplate,
    Expressions,
    InvalidExpression,
    Need,
    Plan,
    PlanDiagnostics,
    Reference,
    Step,
    before_of,
    circles,
    needs_of,
    references,
    with_fallbacks,
)
from portico.workflows.core.plan_values import DOCUMENT_FIELDS, ITEMS_FIELDS


@dataclass(frozen=True, slots=True)
class Referring:
    steps: Mapping[str, Step]
    inputs: Collection[str]
    expressions: Expressions
    diagnostics: PlanDiagnostics

    def check_step(self, step: Step, place: str) -> None:
        each = step.for_each
        self.check_given(dict(step.arguments), f"{place}/arguments", inside=each is not None)
        if each is not None:
            self.check_given(each.over, f"{place}/for_each/in")
        if step.when is not None:
            self._check_condition(step.when, f"{place}/when")
        for number, name in enumerate(step.after):
            self.check_name(name, f"{place}/after/{number}")

    def check_given(self, given: ArgumentTemplate, place: str, *, inside: bool = False) -> None:
        """Inside a `for_each` there are its `item` and `index` as well."""
        for where, reference in references(given, place):
            if reference.step == INPUTS:
                self._check_path(reference, where, self.inputs)
            elif reference.step not in {ITEM, INDEX}:
                if self.check_name(reference.step, where):
                    self._check_path(reference, where, fields_of(self.steps[reference.step]))
            elif inside:
                self._check_path(reference, where, None)
            else:
                self.diagnostics.add(
                    where, f"{reference.step!r} is there only in the arguments of a for_each."
                )

    def check_name(self, name: str, place: str) -> bool:
        if name not in self.steps:
            fix = self.diagnostics.guess(name, self.steps)
            self.diagnostics.add(place, f"There is no step {name[:64]!r}.", fix)
        return name in self.steps

    def _check_condition(self, expression: str, place: str) -> None:
        for name in sorted(self._roots(expression, place)):
            if name == WHOLE:
                self.diagnostics.add(
                    place, "It looks at all steps at once.", "Name the steps: read.json.ok"
                )
            elif name != INPUTS:
                self.check_name(name, place)

    def _check_path(self, reference: Reference, place: str, known: Collection[str] | None) -> None:
        if not reference.path:
            return
        roots = self._roots(reference.path, place) - {WHOLE}
        for name in sorted(roots.difference(known) if known is not None else ()):
            what = f"There is no {name[:60]!r} in what {reference.step!r} gives."
            self.diagnostics.add(place, what, self._instead(reference, name, known or ()))

    def _roots(self, expression: str, place: str) -> frozenset[str]:
        try:
            return self.expressions.roots(expression)
        except InvalidExpression as error:
            at = f"at character {error.position + 1}"
            self.diagnostics.add(place, f"The expression is wrong {at}: {error.what}")
            return frozenset()

    def _instead(self, reference: Reference, name: str, known: Collection[str]) -> str:
        close = self.diagnostics.guess(name, known)
        if close is not None or reference.step == INPUTS:
            return close or f"Its inputs are: {', '.join(list(known)[:20]) or 'none'}."
        if "json" in known:
            return f"Did you mean {reference.step}.json.{reference.path[:60]}?"
        return f"It gives one for each item: {reference.step}.items[0].json"


def fields_of(step: Step) -> Collection[str]:
    return DOCUMENT_FIELDS if step.for_each is None else ITEMS_FIELDS


Placed = Sequence[tuple[str, Step]]
"""Steps with their places; one that could not be read is not among them."""


def check_links(
    plan: Plan, placed: Placed, expressions: Expressions, faults: PlanDiagnostics
) -> None:
    places = _named(placed, faults)
    steps = {step.id: step for place, step in placed if places.get(step.id) == place}
    faults.settle_doubts(RESERVED | steps.keys())
    referring = Referring(steps, plan.inputs, expressions, faults)
    for place, step in placed:
        referring.check_step(step, place)
    referring.check_given(plan.output, "/output")
    needs = {name: _needs(step, steps, expressions) for name, step in steps.items()}
    _check_fallbacks(placed, places, needs, referring)
    _check_circles(steps, places, needs, faults)


def _named(placed: Placed, faults: PlanDiagnostics) -> Mapping[str, str]:
    """The place of each step by its id; of two with the same, the first."""
    places: dict[str, str] = {}
    for place, step in placed:
        if step.id in RESERVED:
            words = ", ".join(sorted(RESERVED))
            faults.add(f"{place}/id", f"{step.id!r} means something else: {words} are taken.")
        elif step.id in places:
            faults.add(f"{place}/id", f"{places[step.id]} has the id {step.id!r} already.")
        elif step.id:
            places[step.id] = place
    return places


def _needs(step: Step, steps: Mapping[str, Step], expressions: Expressions) -> Sequence[Need]:
    """Of what there is: what is wrong with the others has been said."""
    try:
        needs = [*needs_of(step, expressions)]
    except InvalidExpression:
        needs = [*needs_of(replace(step, when=None), expressions)]
    return [need for need in needs if need.needs in steps]


def _check_fallbacks(
    placed: Placed,
    places: Mapping[str, str],
    needs: Mapping[str, Sequence[Need]],
    referring: Referring,
) -> None:
    stands_in_for: dict[str, str] = {}
    for place, step in placed:
        if step.fallback is None or not referring.check_name(
            step.fallback, f"{place}/on_error/fallback"
        ):
            continue
        other = stands_in_for.setdefault(step.fallback, step.id)
        if other != step.id:
            what = f"{step.fallback!r} stands in for {other!r} already."
            referring.diagnostics.add(f"{place}/on_error/fallback", what, "Give each its own.")
    _check_length(stands_in_for, places, referring.diagnostics)
    for need in (need for each in needs.values() for need in each if need.needs in stands_in_for):
        referring.diagnostics.add(
            f"{places[need.step]}{need.place}",
            f"{need.needs!r} only stands in for another step.",
            f"Refer to {stands_in_for[need.needs]!r}: it gives what its stand-in gave.",
        )


def _check_length(
    stands_in_for: Mapping[str, str], places: Mapping[str, str], faults: PlanDiagnostics
) -> None:
    for name in stands_in_for:
        first, count = name, 0
        while first in stands_in_for and count <= MOST_FALLBACKS:
            first, count = stands_in_for[first], count + 1
        if count == MOST_FALLBACKS + 1 and first not in stands_in_for:
            what = (
                f"{name!r} is the {count}th that stands in for another, beginning with {first!r}."
            )
            faults.add(places[name], what, f"{MOST_FALLBACKS} in a row are the most.")


def _check_circles(
    steps: Mapping[str, Step],
    places: Mapping[str, str],
    needs: Mapping[str, Sequence[Need]],
    faults: PlanDiagnostics,
) -> None:
    known = {
        name: step if step.fallback in steps else replace(step, fallback=None)
        for name, step in steps.items()
    }
    fallback = {name: step.fallback for name, step in known.items()}
    for circle in circles(before_of(known.values(), needs)):
        name, wanted = circle[0], circle[1]
        said = (
            need.place for need in needs[name] if wanted in with_fallbacks(need.needs, fallback)
        )
        alone = f"{name!r} would wait for itself, or for what it stands in for."
        faults.add(
            f"{places[name]}{next(said, '')}",
            alone if name == wanted else f"Steps wait for one another: {' → '.join(circle)}.",
            None if name == wanted else "Each arrow is a need; take one of them out.",
        )


# How many calls one run may make, all in all: of its plan, of every item, and of the workflows that
# it calls.
#
# Each of these is bounded by itself; multiplied they are more than a journal should hold.

MOST_CALLS: Final = 10_000


class TooManyCalls(PorticoError):
    kind = Kind.EXHAUSTED
    code = "too_many_calls"
    title = "A run cannot make that many calls"
    fix = "Go through fewer items at a time, or make several runs of it."

    def __init__(self, most: int) -> None:
        super().__init__(f"With this step the run would make more than {most:,} calls.")


class Amount:
    """Counted anew whenever the run is taken up again: what was made already counts as well."""

    def __init__(self, most: int = MOST_CALLS) -> None:
        self._most = most
        self._calls = 0

    def add(self, calls: int) -> None:
        """Raises `TooManyCalls`."""
        self._calls += calls
        if self._calls > self._most:
            raise TooManyCalls(self._most)


def known_calls(plan: Plan) -> int:
    """As far as it can be said before it is run."""
    return sum(_calls(step) for step in plan.steps)


def _calls(step: Step) -> int:
    over = None if step.for_each is None else step.for_each.over
    return len(over) if isinstance(over, Sequence) and not isinstance(over, str) else 1
