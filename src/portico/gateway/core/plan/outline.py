"""What a run of a plan says of it to everybody who may see the run: which steps there are, and what
waits for what. What they are given and what they give is their caller's alone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from portico.gateway.core.plan.graph import Graph
from portico.gateway.core.plan.plan import Plan
from portico.kernel.json import JsonObject, JsonValue

_PARTS: Final = 5
"""Of a step as it is written down."""


@dataclass(frozen=True, slots=True)
class OutlinedStep:
    id: str
    tool: str
    needs: Sequence[str] = ()
    stands_in_for: str | None = None
    each: bool = False
    """Whether it is done once an item of a list."""

    def as_json(self) -> JsonValue:
        return [self.id, self.tool, [*self.needs], self.stands_in_for, self.each]


def outline_of(plan: Plan, graph: Graph) -> Sequence[OutlinedStep]:
    return [
        OutlinedStep(
            step.id,
            str(step.tool),
            tuple(dict.fromkeys(need.needs for need in graph.needs[step.id])),
            graph.stands_in_for.get(step.id),
            step.for_each is not None,
        )
        for step in plan.steps
    ]


def outline_from(given: JsonObject) -> Sequence[OutlinedStep]:
    """From what a run was started with; nothing of one that is no plan's."""
    outline = given.get("outline")
    if not isinstance(outline, Sequence) or isinstance(outline, str):
        return ()
    return [step for each in outline if (step := _step(each)) is not None]


def _step(value: JsonValue) -> OutlinedStep | None:
    if not isinstance(value, list | tuple) or len(value) != _PARTS:
        return None
    name, tool, needs, first, each = value
    # Not by `match`, which takes twice as long: there may be a thousand of them.
    if (
        isinstance(name, str)
        and isinstance(tool, str)
        and isinstance(needs, list | tuple)
        and (first is None or isinstance(first, str))
        and isinstance(each, bool)
    ):
        return OutlinedStep(name, tool, tuple(map(str, needs)), first, each)
    return None


def critical_steps(outline: Sequence[OutlinedStep], seconds: Mapping[str, float]) -> Sequence[str]:
    """The chain of steps that took, or takes, longest; what stands in for another is left out
    unless it was done."""
    done = {step.id: step for step in outline if step.stands_in_for is None or step.id in seconds}
    until: dict[str, tuple[float, str | None]] = {}
    for name in _in_order(done):
        before = [each for each in _waits_for(done[name]) if each in until]
        last = max(before, key=lambda each: until[each][0], default=None)
        ended = until[last][0] if last is not None else 0.0
        until[name] = (ended + seconds.get(name, 0.0), last)
    path: list[str] = []
    at = max(until, key=lambda name: until[name][0], default=None)
    while at is not None:
        path.append(at)
        at = until[at][1]
    return path[::-1]


def _waits_for(step: OutlinedStep) -> Sequence[str]:
    return [*step.needs, *([step.stands_in_for] if step.stands_in_for else [])]


def _in_order(steps: Mapping[str, OutlinedStep]) -> Sequence[str]:
    """Each after whatever it waits for."""
    left = {name: sum(each in steps for each in _waits_for(step)) for name, step in steps.items()}
    after: dict[str, list[str]] = {name: [] for name in steps}
    for name, step in steps.items():
        for each in _waits_for(step):
            if each in after:
                after[each].append(name)
    order = [name for name, waits in left.items() if not waits]
    for name in order:  # it grows while it is gone through
        for other in after[name]:
            left[other] -= 1
            if not left[other]:
                order.append(other)
    return order
