"""A plan read from its document: every fault found at once, each with its place."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from typing import cast

from portico.gateway.core.errors import SchemaRefused
from portico.gateway.core.plan.amount import MOST_CALLS, known_calls
from portico.gateway.core.plan.expressions import Expressions
from portico.gateway.core.plan.faults import BadPlan, Faults
from portico.gateway.core.plan.fields import (
    FALLBACK,
    FOR_EACH,
    ID_FIELD,
    MOST_REFERENCES,
    PLAN,
    STEP,
)
from portico.gateway.core.plan.givens import known_fields, read_given, read_schema
from portico.gateway.core.plan.linking import check_links
from portico.gateway.core.plan.misfit import misfit
from portico.gateway.core.plan.plan import ForEach, Given, OnError, Plan, Reference, Step
from portico.gateway.core.plan.references import references
from portico.gateway.core.schema_limits import check_schema
from portico.gateway.core.tool import ToolRef
from portico.kernel.json import JsonObject, JsonValue, pointed


def read_plan(document: JsonValue, expressions: Expressions) -> Plan:
    """Raises `BadPlan`."""
    faults = Faults()
    if not isinstance(document, Mapping):
        faults.add("", "A plan is an object with steps.")
        raise BadPlan(faults.found)
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
        raise BadPlan(faults.found)
    return plan


def _steps(documents: Sequence[JsonValue], faults: Faults) -> Iterator[tuple[str, Step]]:
    for number, document in enumerate(documents):
        place = f"/steps/{number}"
        if isinstance(document, Mapping):
            yield place, _step(document, place, faults)
        else:
            faults.add(place, "A step is an object with an id and a tool.")


def _step(document: JsonObject, place: str, faults: Faults) -> Step:
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


def _for_each(document: JsonValue, place: str, faults: Faults) -> ForEach:
    if not isinstance(document, Mapping):
        faults.add(place, "It must be an object.", 'Write {"in": {"$from": "list.json"}}.')
        return ForEach(over=())
    sound = known_fields(document, FOR_EACH, place, faults)
    over = read_given(sound.get("in"), f"{place}/in", faults)
    listed = isinstance(over, Sequence) and not isinstance(over, str)
    if "in" in sound and not listed and not isinstance(over, Reference):
        faults.add(f"{place}/in", "It must be a list, or refer to one.")
    counts = {name: cast("int", sound[name]) for name in ("at_once", "most") if name in sound}
    return ForEach(over=over, **counts)


def _on_error(document: JsonValue, place: str, faults: Faults) -> tuple[OnError, str | None]:
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


def _inputs(schemas: JsonObject, faults: Faults) -> JsonObject:
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


def _texts(values: JsonValue, place: str, faults: Faults) -> Sequence[str]:
    texts: list[str] = []
    for number, value in enumerate(cast("Sequence[JsonValue]", values)):
        if isinstance(value, str):
            texts.append(value)
        else:
            faults.add(f"{place}/{number}", "It must be a text.")
    return tuple(texts)


def _check_amount(plan: Plan, faults: Faults) -> None:
    if (count := known_calls(plan)) > MOST_CALLS:
        what = f"It would make {count:,} calls, and may make {MOST_CALLS:,}."
        faults.add("/steps", what, "Go through fewer items, or make it two plans.")


def _few_references(plan: Plan, faults: Faults) -> bool:
    """Each is looked at, and some of them take a while."""
    given: list[Given] = [*(dict(step.arguments) for step in plan.steps), plan.output]
    given += [step.for_each.over for step in plan.steps if step.for_each is not None]
    count = sum(1 for each in given for _ in references(each))
    if count > MOST_REFERENCES:
        what = f"Its steps have {count:,} references, and may have {MOST_REFERENCES:,}."
        faults.add("/steps", what, "Refer to a larger part at once, or make it two plans.")
    return count <= MOST_REFERENCES


def _check_required(plan: Plan, faults: Faults) -> None:
    for number, name in enumerate(plan.required):
        if name not in plan.inputs:
            fix = faults.guess(name, plan.inputs)
            faults.add(f"/required/{number}", f"There is no input {name[:64]!r}.", fix)
