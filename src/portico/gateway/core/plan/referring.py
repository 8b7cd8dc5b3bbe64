"""Whether what a plan refers to is there: the steps, the inputs, the fields of what steps give."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from portico.gateway.core.plan.expressions import WHOLE, BadExpression, Expressions
from portico.gateway.core.plan.faults import Faults
from portico.gateway.core.plan.output import DOCUMENT_FIELDS, ITEMS_FIELDS
from portico.gateway.core.plan.plan import Given, Reference, Step
from portico.gateway.core.plan.references import INDEX, INPUTS, ITEM, references


@dataclass(frozen=True, slots=True)
class Referring:
    steps: Mapping[str, Step]
    inputs: Collection[str]
    expressions: Expressions
    faults: Faults

    def check_step(self, step: Step, place: str) -> None:
        each = step.for_each
        self.check_given(dict(step.arguments), f"{place}/arguments", inside=each is not None)
        if each is not None:
            self.check_given(each.over, f"{place}/for_each/in")
        if step.when is not None:
            self._check_condition(step.when, f"{place}/when")
        for number, name in enumerate(step.after):
            self.check_name(name, f"{place}/after/{number}")

    def check_given(self, given: Given, place: str, *, inside: bool = False) -> None:
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
                self.faults.add(
                    where, f"{reference.step!r} is there only in the arguments of a for_each."
                )

    def check_name(self, name: str, place: str) -> bool:
        if name not in self.steps:
            fix = self.faults.guess(name, self.steps)
            self.faults.add(place, f"There is no step {name[:64]!r}.", fix)
        return name in self.steps

    def _check_condition(self, expression: str, place: str) -> None:
        for name in sorted(self._roots(expression, place)):
            if name == WHOLE:
                self.faults.add(
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
            self.faults.add(place, what, self._instead(reference, name, known or ()))

    def _roots(self, expression: str, place: str) -> frozenset[str]:
        try:
            return self.expressions.roots(expression)
        except BadExpression as error:
            at = f"at character {error.position + 1}"
            self.faults.add(place, f"The expression is wrong {at}: {error.what}")
            return frozenset()

    def _instead(self, reference: Reference, name: str, known: Collection[str]) -> str:
        close = self.faults.guess(name, known)
        if close is not None or reference.step == INPUTS:
            return close or f"Its inputs are: {', '.join(list(known)[:20]) or 'none'}."
        if "json" in known:
            return f"Did you mean {reference.step}.json.{reference.path[:60]}?"
        return f"It gives one for each item: {reference.step}.items[0].json"


def fields_of(step: Step) -> Collection[str]:
    return DOCUMENT_FIELDS if step.for_each is None else ITEMS_FIELDS
