"""What a suggested plan lacks becomes an input of it: whoever runs it says the rest, and only
that."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from portico.kernel.json import JsonObject, JsonValue
from portico.workflows.core.plan import INPUTS, Plan, Reference, Step

_KEPT: Final = ("type", "description", "enum")
"""Of a parameter's schema; whatever refers elsewhere has no meaning here."""

Missing = tuple[str, str]
"""A step, and its parameter."""


def askable(plan: Plan, missing: Sequence[Missing], schema_of: Callable[[str], JsonObject]) -> Plan:
    """`schema_of`: the schemas of the parameters of a step's tool, by name."""
    names = {each: input_name(*each) for each in missing}
    if not names:
        return plan
    inputs: dict[str, JsonValue] = {
        name: _schema(schema_of(step).get(parameter)) for (step, parameter), name in names.items()
    }
    return replace(
        plan,
        steps=tuple(_asking(step, names) for step in plan.steps),
        inputs={**plan.inputs, **inputs},
        required=(*plan.required, *inputs),
    )


def input_name(step: str, parameter: str) -> str:
    """One that a path may name as it is."""
    return re.sub(r"[^A-Za-z0-9_]", "_", f"{step}_{parameter}")


def _asking(step: Step, names: Mapping[Missing, str]) -> Step:
    given = {
        parameter: Reference(INPUTS, name)
        for (its, parameter), name in names.items()
        if its == step.id
    }
    return replace(step, arguments={**step.arguments, **given})


def _schema(of: JsonValue) -> JsonObject:
    found = of if isinstance(of, dict) else {}
    return {key: found[key] for key in _KEPT if key in found}
