"""Plans as documents: read, write, schema, proposed references accepted."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final, cast

from portico.gateway.core.catalog_snapshot import ToolRef
from portico.gateway.core.errors import SchemaRefused
from portico.gateway.core.tool_schemas import check_schema
from portico.kernel.errors import FieldError, Kind, PorticoError
from portico.kernel.json import JsonObject, JsonValue, pointed
from portico.workflows.core.plan import (
    FALLBACK,
    FOR_EACH,
    FROM,
    ID_FIELD,
    JSON,
    LITERAL,
    MOST_REFERENCES,
    NEEDED,
    PLAN,
    STEP,
    TEXT,
    ArgumentTemplate,
    Expressions,
    ForEach,
    InvalidPlan,
    OnError,
    Plan,
    PlanDiagnostics,
    Reference,
    Step,
    Unreadable,
    did_you_mean,
    misfit,
    read_reference,
    references,
)
from portico.workflows.core.plan_checks import MOST_CALLS, check_links, known_calls
from portico.workflows.core.plan_values import known_fields, read_given, read_schema, write_given


def read_plan(document: JsonValue, expressions: Expressions) -> Plan:
    """Raises `InvalidPlan`."""
    faults = PlanDiagnostics()
    if not isinstance(document, Mapping):
        faults.add("", "A plan is an object with steps.")
        raise InvalidPlan(faults.found)
    sound = known_fields(document, PLAN, "", faults)
    placed = list(_steps(cast("Sequence[JsonValue]", sound.get("steps", ())), faults))
    plan = Plan(
        steps=tuple(step for _, step in placed),
        name=cast("str | None", sound.get("name")),
        description=cast("str | None", sound.get("description")),
        inputs=_inputs(cast("JsonObject", sound.get("inputs", {})), faults),
        required=_texts(sound.get("required", ()), "/required", faults),
        output=read_given(sound.get("output"), "/output", faults),
        has_output="output" in sound,
    )
    _check_required(plan, faults)
    _check_amount(plan, faults)
    if _few_references(plan, faults):
        check_links(plan, placed, expressions, faults)
    if faults.found:
        raise InvalidPlan(faults.found)
    return plan


def _steps(documents: Sequence[JsonValue], faults: PlanDiagnostics) -> Iterator[tuple[str, Step]]:
    for number, document in enumerate(documents):
        place = f"/steps/{number}"
        if isinstance(document, Mapping):
            yield place, _step(document, place, faults)
        else:
            faults.add(place, "A step is an object with an id and a tool.")


def _step(document: JsonObject, place: str, faults: PlanDiagnostics) -> Step:
    """Also of one with faults in it, so that what it refers to is looked at as well."""
    sound = known_fields(document, STEP, place, faults)
    on_error, fallback = _on_error(sound.get("on_error", "stop"), f"{place}/on_error", faults)
    given = cast("Mapping[str, JsonValue]", sound.get("arguments", {}))
    timeout = cast("float | None", sound.get("timeout"))
    return Step(
        id=cast("str", sound.get("id", "")),
        tool=ToolRef.parse(cast("str", sound.get("tool", "?.?"))),
        arguments={
            name: read_given(value, pointed(f"{place}/arguments", name), faults)
            for name, value in given.items()
        },
        after=_texts(sound.get("after", ()), f"{place}/after", faults),
        when=cast("str | None", sound.get("when")),
        for_each=_for_each(sound["for_each"], f"{place}/for_each", faults)
        if "for_each" in sound
        else None,
        on_error=on_error,
        fallback=fallback,
        timeout=None if timeout is None else timedelta(seconds=timeout),
        tries=cast("int", sound.get("tries", 1)),
    )


def _for_each(document: JsonValue, place: str, faults: PlanDiagnostics) -> ForEach:
    if not isinstance(document, Mapping):
        faults.add(place, "It must be an object.", 'Write {"in": {"$from": "list.json"}}.')
        return ForEach(over=())
    sound = known_fields(document, FOR_EACH, place, faults)
    over = read_given(sound.get("in"), f"{place}/in", faults)
    listed = isinstance(over, Sequence) and not isinstance(over, str)
    if "in" in sound and not listed and not isinstance(over, Reference):
        faults.add(f"{place}/in", "It must be a list, or refer to one.")
    usual = ForEach(over=over)
    return replace(
        usual,
        at_once=cast("int", sound.get("at_once", usual.at_once)),
        limit=cast("int", sound.get("most", usual.limit)),
    )


def _on_error(
    document: JsonValue, place: str, faults: PlanDiagnostics
) -> tuple[OnError, str | None]:
    match document:
        case "stop" | "skip":
            return OnError(document), None
        case Mapping():
            sound = known_fields(document, FALLBACK, place, faults)
            name = cast("str | None", sound.get("fallback"))
            return (OnError.STOP, None) if name is None else (OnError.FALLBACK, name)
        case _:
            fix = faults.guess(str(document), ("stop", "skip"))
            faults.add(place, 'It must be "stop", "skip" or {"fallback": "id"}.', fix)
            return OnError.STOP, None


def _inputs(schemas: JsonObject, faults: PlanDiagnostics) -> JsonObject:
    found: dict[str, JsonValue] = {}
    for name, document in schemas.items():
        place = pointed("/inputs", name)
        wrong = misfit(name, ID_FIELD)
        if wrong is not None:
            faults.add(place, f"The name of an input {wrong}")
        schema = read_schema(document, place, faults)
        try:
            check_schema(schema)
        except SchemaRefused as error:
            faults.add(place, f"It is not a schema that can be used: {error}")
        found[name] = schema
    return found


def _texts(values: JsonValue, place: str, faults: PlanDiagnostics) -> Sequence[str]:
    texts: list[str] = []
    for number, value in enumerate(cast("Sequence[JsonValue]", values)):
        if isinstance(value, str):
            texts.append(value)
        else:
            faults.add(f"{place}/{number}", "It must be a text.")
    return tuple(texts)


def _check_amount(plan: Plan, faults: PlanDiagnostics) -> None:
    if (count := known_calls(plan)) > MOST_CALLS:
        what = f"It would make {count:,} calls, and may make {MOST_CALLS:,}."
        faults.add("/steps", what, "Go through fewer items, or make it two plans.")


def _few_references(plan: Plan, faults: PlanDiagnostics) -> bool:
    """Each is looked at, and some of them take a while."""
    given: list[ArgumentTemplate] = [*(dict(step.arguments) for step in plan.steps), plan.output]
    given += [step.for_each.over for step in plan.steps if step.for_each is not None]
    count = sum(1 for each in given for _ in references(each))
    if count > MOST_REFERENCES:
        what = f"Its steps have {count:,} references, and may have {MOST_REFERENCES:,}."
        faults.add("/steps", what, "Refer to a larger part at once, or make it two plans.")
    return count <= MOST_REFERENCES


def _check_required(plan: Plan, faults: PlanDiagnostics) -> None:
    for number, name in enumerate(plan.required):
        if name not in plan.inputs:
            fix = faults.guess(name, plan.inputs)
            faults.add(f"/required/{number}", f"There is no input {name[:64]!r}.", fix)


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
        "for_each": None if step.for_each is None else _for_each_writing(step.for_each),
        "on_error": _on_error_writing(step),
        "timeout": None if step.timeout is None else _seconds(step.timeout.total_seconds()),
        "tries": None if step.tries == 1 else step.tries,
    }
    return {name: value for name, value in fields.items() if value not in (None, {}, [])}


def _for_each_writing(each: ForEach) -> JsonObject:
    usual = ForEach(over=each.over)
    document: dict[str, JsonValue] = {"in": write_given(each.over)}
    if each.at_once != usual.at_once:
        document["at_once"] = each.at_once
    if each.limit != usual.limit:
        document["most"] = each.limit
    return document


def _on_error_writing(step: Step) -> JsonValue:
    if step.on_error is OnError.FALLBACK:
        return {"fallback": step.fallback}
    return None if step.on_error is OnError.STOP else str(step.on_error)


def _seconds(seconds: float) -> float:
    return int(seconds) if seconds == int(seconds) else seconds


DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"


def plan_schema() -> JsonObject:
    return {
        "$schema": DIALECT,
        "title": "A plan of Portico: many calls of tools in one",
        **_object(PLAN),
        "$defs": {
            "step": _object(STEP),
            "forEach": _object(FOR_EACH),
            "onError": {"anyOf": [{"enum": ["stop", "skip"]}, _object(FALLBACK)]},
            "given": _given(),
        },
    }


def _object(fields: Mapping[str, JsonObject]) -> JsonObject:
    return {
        "type": "object",
        "properties": dict(fields),
        "required": [name for name in fields if name in NEEDED],
        "additionalProperties": False,
    }


def _given() -> JsonObject:
    plain: list[JsonValue] = ["string", "number", "boolean", "null"]
    given: JsonObject = {"$ref": "#/$defs/given"}
    return {
        "anyOf": [
            {"type": plain},
            {"type": "array", "items": given},
            *(_object(form) for form in (FROM, TEXT, LITERAL, JSON)),
            {
                "type": "object",
                "propertyNames": {"pattern": r"^([^$]|$)"},
                "additionalProperties": given,
            },
        ]
    }


class InvalidInputs(PorticoError):
    kind = Kind.INVALID
    code = "bad_inputs"
    type_name = "BadInputs"
    title = "The plan does not take these inputs"
    fix = (
        "Its own `inputs` say what it takes. At the command line a text that reads like another "
        "JSON value stands in quotes of its own: --input 'folder=\"5\"'."
    )

    def __init__(self, plan: Plan, flaws: Iterable[FieldError]) -> None:
        self.field_errors = tuple(_with_near(plan, flaw) for flaw in flaws)
        told = "; ".join(f"{flaw.field or 'inputs'}: {flaw.message}" for flaw in self.field_errors)
        super().__init__(f"{plan.name or 'The plan'} was not begun, its inputs do not fit: {told}")


def _with_near(plan: Plan, flaw: FieldError) -> FieldError:
    near = None if flaw.field in plan.inputs else did_you_mean(flaw.field, plan.inputs)
    return flaw if near is None else FieldError(flaw.field, f"{flaw.message}. {near}")


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
    `InvalidPlan`."""
    if not accept:
        return plan
    faults = PlanDiagnostics()
    edges = [_read(f"/accept/{number}", text, faults) for number, text in enumerate(accept)]
    steps = {step.id: step for step in plan.steps}
    for edge in edges:
        if edge is not None and _fits(edge, steps, faults):
            step = steps[edge.step]
            given = {**step.arguments, edge.parameter: edge.given}
            steps[edge.step] = replace(step, arguments=given)
    if faults.found:
        raise InvalidPlan(faults.found)
    return read_plan(plan_document(replace(plan, steps=tuple(steps.values()))), expressions)


def _read(place: str, text: str, faults: PlanDiagnostics) -> _Accepted | None:
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


def _fits(edge: _Accepted, steps: dict[str, Step], faults: PlanDiagnostics) -> bool:
    if edge.step not in steps:
        faults.add(edge.place, f"There is no step {edge.step!r}.", did_you_mean(edge.step, steps))
        return False
    if edge.parameter in steps[edge.step].arguments:
        what = f"{edge.step!r} has a value for {edge.parameter!r} already."
        faults.add(edge.place, what, "Accept one edge for it, or take the value out.")
        return False
    return True
