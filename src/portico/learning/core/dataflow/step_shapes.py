"""The steps of a plan as edges are proposed between them: what each gives, what it still wants."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from portico.gateway.core.catalog_snapshot import Definition, ToolRef
from portico.gateway.core.inferred_schema import SeenShape, schema_of, vague
from portico.kernel.json import JsonObject
from portico.learning.core.dataflow.read_schema import fields_of, parameters_of, type_of
from portico.learning.core.dataflow.shape import OutputField, Parameter, StepShape
from portico.workflows.core.plan import Graph, Plan, Step

_FIELDS: Final = 4_000
"""Of all steps of a plan together; each has some all the same."""
_LEAST_FIELDS: Final = 8


@dataclass(frozen=True, slots=True)
class KnownTool:
    definition: Definition
    returns: SeenShape | None = None
    """What has been learnt from its results."""

    @property
    def output_schema(self) -> JsonObject | None:
        """What was seen, where its server does not say what is in it; or what that says; None if
        nobody knows."""
        says = self.definition.output_schema
        if self.returns is None or not (says is None or vague(says)):
            return says
        return schema_of(self.returns.shape)


def step_shapes(
    plan: Plan, graph: Graph, tools: Mapping[ToolRef, KnownTool]
) -> Sequence[StepShape]:
    """In an order that the plan allows: then no edge from an earlier to a later one can close a
    circle. What only stands in for another step is referred to by nobody."""
    most = max(_LEAST_FIELDS, _FIELDS // max(1, len(plan.steps)))
    steps = {step.id: step for step in plan.steps}
    return [
        _shape(steps[name], tools[steps[name].tool], 0 if name in graph.stands_in_for else most)
        for name in graph.order
    ]


def _shape(step: Step, tool: KnownTool, most: int) -> StepShape:
    return StepShape(
        step=step.id,
        tool=str(step.tool),
        description=tool.definition.description,
        outputs=_outputs(step, tool)[:most],
        wanted=[
            parameter
            for parameter in parameters_of(tool.definition.input_schema)
            if parameter.name not in step.arguments and _could_be_meant(parameter)
        ],
        given=frozenset(step.arguments),
    )


def _could_be_meant(parameter: Parameter) -> bool:
    """What has to be said, and what is plainly left out: not what has a value unless it is told
    another, and not a choice."""
    return parameter.required or not (parameter.default or parameter.choice)


def outputs_of(tool: KnownTool, root: str = "") -> Sequence[OutputField]:
    """Its fields, or as a whole what has none; of what nobody knows, its text."""
    schema = tool.output_schema
    kind = "string" if schema is None else type_of(schema)
    fields = fields_of(schema, f"{root}json")
    if fields or kind == "object":
        return fields
    whole = "text" if kind == "string" else "json"
    return [OutputField(path=f"{root}{whole}", type=kind)]


def _outputs(step: Step, tool: KnownTool) -> Sequence[OutputField]:
    if step.for_each is None:
        return outputs_of(tool)
    return [replace(field, type="array") for field in outputs_of(tool, "items[].")]
