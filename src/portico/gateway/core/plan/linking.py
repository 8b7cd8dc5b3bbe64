"""Whether what the steps of a plan say of each other holds: ids, who stands in, circles."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from portico.gateway.core.plan.circles import circles
from portico.gateway.core.plan.expressions import BadExpression, Expressions
from portico.gateway.core.plan.faults import Faults
from portico.gateway.core.plan.fields import MOST_FALLBACKS
from portico.gateway.core.plan.graph import Need, before_of, needs_of, with_fallbacks
from portico.gateway.core.plan.plan import Plan, Step
from portico.gateway.core.plan.references import RESERVED
from portico.gateway.core.plan.referring import Referring

Placed = Sequence[tuple[str, Step]]
"""Steps with their places; one that could not be read is not among them."""


def check_links(plan: Plan, placed: Placed, expressions: Expressions, faults: Faults) -> None:
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


def _named(placed: Placed, faults: Faults) -> Mapping[str, str]:
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
    except BadExpression:
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
            referring.faults.add(f"{place}/on_error/fallback", what, "Give each its own.")
    _check_length(stands_in_for, places, referring.faults)
    for need in (need for each in needs.values() for need in each if need.needs in stands_in_for):
        referring.faults.add(
            f"{places[need.step]}{need.place}",
            f"{need.needs!r} only stands in for another step.",
            f"Refer to {stands_in_for[need.needs]!r}: it gives what its stand-in gave.",
        )


def _check_length(
    stands_in_for: Mapping[str, str], places: Mapping[str, str], faults: Faults
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
    faults: Faults,
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
