"""A plan as the document that it is read from."""

from portico.gateway.core.plan.givens import write_given
from portico.gateway.core.plan.plan import ForEach, OnError, Plan, Step
from portico.kernel.json import JsonObject, JsonValue


def plan_document(plan: Plan) -> JsonObject:
    """What `read_plan` makes the same plan of; what says nothing is left out."""
    document: dict[str, JsonValue] = {
        "name": plan.name,
        "description": plan.description,
        "inputs": dict(plan.inputs),
        "required": list(plan.required),
        "steps": [step_fields(step) for step in plan.steps],
    }
    told = {name: value for name, value in document.items() if value not in (None, {}, [])}
    return told | ({"output": write_given(plan.output)} if plan.has_output else {})


def step_fields(step: Step) -> JsonObject:
    fields: dict[str, JsonValue] = {
        "id": step.id,
        "tool": str(step.tool),
        "arguments": {name: write_given(value) for name, value in step.arguments.items()},
        "after": list(step.after),
        "when": step.when,
        "for_each": None if step.for_each is None else _for_each(step.for_each),
        "on_error": _on_error(step),
        "timeout": None if step.timeout is None else _seconds(step.timeout.total_seconds()),
        "tries": None if step.tries == 1 else step.tries,
    }
    return {name: value for name, value in fields.items() if value not in (None, {}, [])}


def _for_each(each: ForEach) -> JsonObject:
    usual = ForEach(over=each.over)
    document: dict[str, JsonValue] = {"in": write_given(each.over)}
    if each.at_once != usual.at_once:
        document["at_once"] = each.at_once
    if each.most != usual.most:
        document["most"] = each.most
    return document


def _on_error(step: Step) -> JsonValue:
    if step.on_error is OnError.FALLBACK:
        return {"fallback": step.fallback}
    return None if step.on_error is OnError.STOP else str(step.on_error)


def _seconds(seconds: float) -> float:
    return int(seconds) if seconds == int(seconds) else seconds
