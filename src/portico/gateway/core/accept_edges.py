"""Proposed edges that somebody has accepted, written into their plan as references."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from portico.gateway.core.plan.expressions import Expressions
from portico.gateway.core.plan.faults import BadPlan, Faults, did_you_mean
from portico.gateway.core.plan.plan import Plan, Reference, Step
from portico.gateway.core.plan.reading import read_plan
from portico.gateway.core.plan.references import Unreadable, read_reference
from portico.gateway.core.plan.writing import plan_document

_ARROW: Final = " -> "
_FORM: Final = "An edge is written as it is proposed: `read.json.path -> write.path`."


@dataclass(frozen=True, slots=True)
class _Accepted:
    place: str
    given: Reference
    step: str
    parameter: str


def with_edges(plan: Plan, accept: Sequence[str], expressions: Expressions) -> Plan:
    """The plan with each of them in its place, checked anew: an edge that closes a circle, or that
    takes from a step that is not there, is refused as if it had been written by hand. Raises
    `BadPlan`."""
    if not accept:
        return plan
    faults = Faults()
    edges = [_read(f"/accept/{number}", text, faults) for number, text in enumerate(accept)]
    steps = {step.id: step for step in plan.steps}
    for edge in edges:
        if edge is not None and _fits(edge, steps, faults):
            step = steps[edge.step]
            given = {**step.arguments, edge.parameter: edge.given}
            steps[edge.step] = replace(step, arguments=given)
    if faults.found:
        raise BadPlan(faults.found)
    return read_plan(plan_document(replace(plan, steps=tuple(steps.values()))), expressions)


def _read(place: str, text: str, faults: Faults) -> _Accepted | None:
    source, arrow, target = text.rpartition(_ARROW)
    step, dot, parameter = target.strip().partition(".")
    if not (arrow and dot and parameter):
        faults.add(place, f"{text[:100]!r} is not an edge.", _FORM)
        return None
    try:
        return _Accepted(place, read_reference(source), step, parameter)
    except Unreadable as error:
        faults.add(place, str(error), _FORM)
        return None


def _fits(edge: _Accepted, steps: dict[str, Step], faults: Faults) -> bool:
    if edge.step not in steps:
        faults.add(edge.place, f"There is no step {edge.step!r}.", did_you_mean(edge.step, steps))
        return False
    if edge.parameter in steps[edge.step].arguments:
        what = f"{edge.step!r} has a value for {edge.parameter!r} already."
        faults.add(edge.place, what, "Accept one edge for it, or take the value out.")
        return False
    return True
