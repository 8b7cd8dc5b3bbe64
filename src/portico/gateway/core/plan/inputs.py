"""What a plan is given when it is run: its parameters, as a schema, and the values for them."""

from collections.abc import Iterable, Mapping

from portico.gateway.core.plan.faults import did_you_mean
from portico.gateway.core.plan.plan import Plan
from portico.kernel.errors import Flaw, Kind, PorticoError
from portico.kernel.json import JsonObject, JsonValue


class BadInputs(PorticoError):
    kind = Kind.INVALID
    code = "bad_inputs"
    title = "The plan does not take these inputs"
    fix = (
        "Its own `inputs` say what it takes. At the command line a text that reads like another "
        "JSON value stands in quotes of its own: --input 'folder=\"5\"'."
    )

    def __init__(self, plan: Plan, flaws: Iterable[Flaw]) -> None:
        self.flaws = tuple(_with_near(plan, flaw) for flaw in flaws)
        told = "; ".join(f"{flaw.field or 'inputs'}: {flaw.message}" for flaw in self.flaws)
        super().__init__(f"{plan.name or 'The plan'} was not begun, its inputs do not fit: {told}")


def _with_near(plan: Plan, flaw: Flaw) -> Flaw:
    near = None if flaw.field in plan.inputs else did_you_mean(flaw.field, plan.inputs)
    return flaw if near is None else Flaw(flaw.field, f"{flaw.message}. {near}")


def input_schema(plan: Plan) -> JsonObject:
    """As that of a tool, which is what a saved plan becomes."""
    schema: dict[str, JsonValue] = {"type": "object", "properties": dict(plan.inputs)}
    if plan.required:
        schema["required"] = list(plan.required)
    return {**schema, "additionalProperties": False}


def inputs_for(plan: Plan, given: JsonObject) -> JsonObject:
    """What steps find under `inputs`: what was given, and else the default of its schema."""
    defaults = {
        name: schema["default"]
        for name, schema in plan.inputs.items()
        if isinstance(schema, Mapping) and "default" in schema
    }
    return {**defaults, **given}
