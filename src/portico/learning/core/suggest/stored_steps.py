"""The steps of a past plan on their way to where they are kept and back: a tool by its server's id,
which is no other's when a name is given again, and a step by its number, for what somebody called
it may be a word of theirs."""

from collections.abc import Callable, Mapping, Sequence
from uuid import UUID

from portico.gateway.core.inferred_schema import ToolPlace
from portico.gateway.core.servers import ServerId
from portico.kernel.json import JsonObject, JsonValue
from portico.learning.core.suggest.skeleton import Kept, PastStep
from portico.learning.core.suggest.skeleton_document import read_skeleton, skeleton_document
from portico.workflows.core.plan import INPUTS, Plan, Reference, Step


def stored(steps: Sequence[PastStep], place: Callable[[str], ToolPlace | None]) -> JsonValue:
    """None if a tool has no place any more. That a step waits for what it takes something from goes
    without saying."""
    numbers = {step.id: f"s{number}" for number, step in enumerate(steps, 1)}
    placed = {step.tool: place(step.tool) for step in steps}
    found = {tool: f"{at.server.value}.{at.tool}" for tool, at in placed.items() if at is not None}
    if len(found) < len(placed):
        return None
    return skeleton_document(
        [
            PastStep(
                numbers[step.id],
                found[step.tool],
                {name: _numbered(kept, numbers) for name, kept in step.arguments.items()},
                [numbers[name] for name in step.after if name not in step.fed_by],
            )
            for step in steps
        ]
    )


def restored(
    document: JsonValue, named: Callable[[ToolPlace], str | None]
) -> Sequence[PastStep] | None:
    """None if somebody may not know of one of its tools, or if it cannot be read."""
    try:
        steps = [(step, named(_place(step.tool))) for step in read_skeleton(document)]
    except ValueError:
        return None
    found = [
        PastStep(step.id, tool, step.arguments, step.after)
        for step, tool in steps
        if tool is not None
    ]
    return found if len(found) == len(steps) else None


def with_inputs(plan: Plan, inputs: JsonObject) -> Plan:
    """With what it was given in the place of what refers to that, so that it is seen whether the
    intent says it."""
    return Plan(steps=[_told(step, inputs) for step in plan.steps], name=plan.name)


def _told(step: Step, inputs: JsonObject) -> Step:
    arguments = {
        name: inputs[given.path]
        if isinstance(given, Reference) and given.step == INPUTS and given.path in inputs
        else given
        for name, given in step.arguments.items()
    }
    return Step(
        id=step.id,
        tool=step.tool,
        arguments=arguments,
        after=step.after,
        for_each=step.for_each,
        fallback=step.fallback,
    )


def _numbered(kept: Kept, numbers: Mapping[str, str]) -> Kept:
    return Reference(numbers[kept.step], kept.path) if isinstance(kept, Reference) else kept


def _place(text: str) -> ToolPlace:
    """Raises `ValueError`."""
    server, _, tool = text.partition(".")
    return ToolPlace(ServerId(UUID(server)), tool)
