"""How the steps of a plan hang together: what needs what, in what order, what takes longest."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from portico.gateway.core.plan.expressions import Expressions
from portico.gateway.core.plan.plan import Plan, Step
from portico.gateway.core.plan.references import RESERVED, references


@dataclass(frozen=True, slots=True)
class Need:
    """One step's need of another, and where the plan says so."""

    step: str
    needs: str
    place: str
    """In the step: `/arguments/path/$from`."""
    given: bool = True
    """It wants what that gives; otherwise only that it is over."""
    must: bool = True
    """Without what that gives, it cannot be done: there is no default."""


def needs_of(step: Step, expressions: Expressions) -> Iterator[Need]:
    """As the step itself says it. Raises `BadExpression`."""
    wanted = [*references(dict(step.arguments), "/arguments")]
    if step.for_each is not None:
        wanted += references(step.for_each.over, "/for_each/in")
    for place, reference in wanted:
        if reference.step not in RESERVED:
            must = not reference.has_default
            yield Need(step.id, reference.step, place, must=must)
    if step.when is not None:
        for root in sorted(expressions.roots(step.when) - RESERVED):
            yield Need(step.id, root, "/when", must=False)
    for number, name in enumerate(step.after):
        yield Need(step.id, name, f"/after/{number}", given=False, must=False)


@dataclass(frozen=True, slots=True)
class Graph:
    """Of a plan that has been checked: every name in it is there, and nothing goes in circles."""

    needs: Mapping[str, Sequence[Need]]
    """By step, in the order in which they are written."""
    before: Mapping[str, Sequence[str]]
    """By step: all that must be over before it begins, those that may stand in included."""
    order: Sequence[str]
    """One that all of this allows: whatever a step waits for comes before it."""
    stands_in_for: Mapping[str, str]
    """By the id of a step that stands in: whom it stands in for."""
    last: Sequence[str]
    """Those that nobody needs, and that stand in for nobody."""

    def downstream(self, steps: Iterable[str]) -> frozenset[str]:
        """Themselves, and whatever waits for any of them."""
        found = set(steps)
        for name in self.order:
            if not found.isdisjoint(self.before[name]):
                found.add(name)
        return frozenset(found)


def graph_of(plan: Plan, expressions: Expressions) -> Graph:
    needs = {step.id: tuple(needs_of(step, expressions)) for step in plan.steps}
    stands_in = {step.fallback: step.id for step in plan.steps if step.fallback is not None}
    before = before_of(plan.steps, needs)
    order = topological(before)
    wanted = {need.needs for each in needs.values() for need in each}
    last = tuple(
        step.id for step in plan.steps if step.id not in wanted and step.id not in stands_in
    )
    return Graph(needs, before, order, stands_in, last)


def before_of(
    steps: Iterable[Step], needs: Mapping[str, Sequence[Need]]
) -> Mapping[str, Sequence[str]]:
    known = {step.id: step for step in steps}
    fallback = {step.id: step.fallback for step in known.values()}
    stands_in = {other: name for name, other in fallback.items() if other is not None}
    before: dict[str, Sequence[str]] = {}
    for name in known:
        wanted = [other for need in needs[name] for other in with_fallbacks(need.needs, fallback)]
        wanted += [stands_in[name]] if name in stands_in else []
        before[name] = tuple(dict.fromkeys(wanted))
    return before


def with_fallbacks(name: str, fallback: Mapping[str, str | None]) -> Iterator[str]:
    seen: set[str] = set()
    found: str | None = name
    while found is not None and found not in seen:
        seen.add(found)
        yield found
        found = fallback.get(found)


def topological(before: Mapping[str, Sequence[str]]) -> Sequence[str]:
    """In the order of writing where nothing else decides; what goes in circles is not in it."""
    left = {name: len(each) for name, each in before.items()}
    after = waiting_on(before)
    ready = [name for name in before if not left[name]]
    order: list[str] = []
    for name in ready:  # it grows while it is gone through
        order.append(name)
        for other in after[name]:
            left[other] -= 1
            if not left[other]:
                ready.append(other)
    return tuple(order)


def waiting_on(before: Mapping[str, Sequence[str]]) -> Mapping[str, Sequence[str]]:
    """By step: those that wait for it."""
    after: dict[str, list[str]] = {name: [] for name in before}
    for name, each in before.items():
        for other in each:
            after[other].append(name)
    return after


@dataclass(frozen=True, slots=True)
class CriticalPath:
    steps: Sequence[str]
    seconds: float
    """What the plan takes at least, however much is done at once."""


def critical_path(graph: Graph, seconds: Callable[[str], float]) -> CriticalPath:
    """By what each step takes, for which there may be only estimates. What stands in for another
    is left out: it is not begun unless something fails."""
    until: dict[str, float] = {}
    longest: dict[str, str | None] = {}
    for name in graph.order:
        if name not in graph.stands_in_for:
            waits = [other for other in graph.before[name] if other not in graph.stands_in_for]
            last = max(waits, key=lambda other: until[other], default=None)
            until[name] = (0.0 if last is None else until[last]) + seconds(name)
            longest[name] = last
    end = max(until, key=lambda name: until[name], default=None)
    steps = tuple(reversed(tuple(_back_from(end, longest))))
    return CriticalPath(steps, 0.0 if end is None else until[end])


def _back_from(name: str | None, longest: Mapping[str, str | None]) -> Iterator[str]:
    while name is not None:
        yield name
        name = longest[name]
