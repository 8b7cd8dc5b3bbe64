"""Plans whose edges are known, from two published collections of nested calls."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, Final

from portico.kernel.json import JsonObject
from portico.learning.core.dataflow_fields import (
    Flow,
    OutputField,
    Parameter,
    StepSignature,
    fields_of,
    parameters_of,
)

EXECUTABLE, GLAIVE, SGD, SEAL = "nestful_executable", "nestful_glaive", "nestful_sgd", "seal_nested"
FOUR: Final = (EXECUTABLE, GLAIVE, SGD, SEAL)
FILES: Final = ("nestful_v1.json", "sealtools_raw.json", "toollinkos.json")
_TAKEN: Final = ("query_parameters", "path_parameters", "parameters", "arguments")
_RESULT: Final = "var_result"
"""What NESTFUL writes behind the calls to say what is wanted of them."""
_VARIABLE: Final = re.compile(r"\$(\w+?)\.(?:\w|\.)*?\$|\$(\w+)\$|\$(var\w*)\.")
_RESPONSE: Final = re.compile(r"API_call_\d+")
_TYPES: Final = {
    "str": "string",
    "int": "number",
    "integer": "number",
    "float": "number",
    "double": "number",
    "list": "array",
    "dict": "object",
    "bool": "boolean",
}

Place = tuple[int, int, str]
"""Which call gives, which takes, and as which parameter."""


@dataclass(frozen=True, slots=True)
class GoldPlan:
    steps: tuple[StepSignature, ...]
    """Every argument that a call was written with is wanted: which were told is not known."""
    gold: Mapping[Place, str]
    """With the field that it is of; empty where that was not written."""
    left_out: tuple[Sequence[Parameter], ...]
    """Of each step the parameters that it was called without."""

    @property
    def flows(self) -> Sequence[Flow]:
        return [
            Flow(
                self.steps[giver].tool,
                _path(self.steps[giver].outputs, field),
                self.steps[taker].tool,
                parameter,
            )
            for (giver, taker, parameter), field in self.gold.items()
        ]

    def with_values(self) -> "GoldPlan":
        """As a plan looks that somebody wrote without references: what has a value is told, and
        whatever was left out could be wanted too."""
        sought = {(taker, name) for _, taker, name in self.gold}
        steps = [_told(step, place, sought) for place, step in enumerate(self.steps)]
        more = [
            replace(step, wanted=[*step.wanted, *(each for each in some if _could_be_meant(each))])
            for step, some in zip(steps, self.left_out, strict=True)
        ]
        return replace(self, steps=tuple(more))

    def as_learnt(self) -> "GoldPlan":
        """With what can be known of outputs that were seen, not declared: no description."""
        return replace(self, steps=tuple(_without_descriptions(step) for step in self.steps))


@dataclass(frozen=True, slots=True)
class PlanSet:
    name: str
    plans: tuple[GoldPlan, ...]
    tools: int

    @property
    def edges(self) -> int:
        return sum(len(plan.gold) for plan in self.plans)


@dataclass(frozen=True, slots=True)
class _Tool:
    description: str
    parameters: Mapping[str, Parameter]
    outputs: Sequence[OutputField]


_NOTHING_KNOWN: Final = _Tool("", {}, ())


def missing_files(folder: Path) -> list[str]:
    return [name for name in FILES if not (folder / name).is_file()]


def read_plans(folder: Path) -> Mapping[str, PlanSet]:
    nestful, seal = (json.loads((folder / name).read_text("utf-8")) for name in FILES[:2])
    read = [_nestful(name, nestful[name.removeprefix("nestful_")]) for name in FOUR[:3]]
    return {each.name: each for each in (*read, _seal(seal))}


def field_name(path: str) -> str:
    return OutputField(path=path).name


def _nestful(name: str, told: Any) -> PlanSet:  # noqa: ANN401 # as it lies in the file
    tools = {each["name"]: _nestful_tool(each) for each in told["spec"]}
    plans = [_nestful_plan(tools, each["output"]) for each in told["data"] if each["output"]]
    return PlanSet(name, tuple(plans), len(tools))


def _nestful_tool(told: Mapping[str, Any]) -> _Tool:
    taken = dict(chain.from_iterable(_properties(told.get(part)).items() for part in _TAKEN))
    return _tool(told, taken, _properties(told.get("output_parameters")))


def _nestful_plan(tools: Mapping[str, _Tool], output: str | list[Any]) -> GoldPlan:
    written = json.loads(output) if isinstance(output, str) else output
    calls = [each for each in written if each["name"] != _RESULT]
    labels = {str(each.get("label")).strip("$"): place for place, each in enumerate(calls)}
    gold: dict[Place, str] = {}
    for place, name, value in _arguments(calls):
        for label in (next(filter(None, each)) for each in _VARIABLE.findall(value)):
            if label in labels and labels[label] != place:
                gold[labels[label], place, name] = _written_field(label, value)
    steps = [
        _step(tools, each["name"], place, each["arguments"]) for place, each in enumerate(calls)
    ]
    return GoldPlan(tuple(steps), gold, _left_out(tools, steps))


def _arguments(calls: Sequence[Mapping[str, Any]]) -> Iterator[tuple[int, str, str]]:
    for place, call in enumerate(calls):
        for name, value in (call["arguments"] or {}).items():
            yield place, name, str(value)


def _written_field(label: str, value: str) -> str:
    found = re.search(rf"\${label}\.([\w.\[\]]+)", value)
    return field_name(found[1]) if found else ""


def _seal(told: Any) -> PlanSet:  # noqa: ANN401 # as it lies in the file
    tools = {each["id"]: _tool(each, each["params"], each["responses"]) for each in told["tools"]}
    plans = [_seal_plan(tools, each["calling"]) for each in told["queries"]]
    return PlanSet(SEAL, tuple(plan for plan in plans if plan.gold), len(tools))


def _seal_plan(tools: Mapping[str, _Tool], calls: Sequence[Mapping[str, Any]]) -> GoldPlan:
    """What a call gives is numbered through the whole plan."""
    owner = {
        response: (place, number)
        for place, call in enumerate(calls)
        for number, response in enumerate(call["responses"])
    }
    steps = [
        _step(tools, each["api"], place, each["parameters"]) for place, each in enumerate(calls)
    ]
    gold: dict[Place, str] = {}
    for place, call in enumerate(calls):
        for name, value in call["parameters"].items():
            for response in _RESPONSE.findall(str(value)):
                giver, number = owner.get(response, (place, 0))
                if giver != place:
                    outputs = steps[giver].outputs
                    gold[giver, place, name] = outputs[number].name if number < len(outputs) else ""
    return GoldPlan(tuple(steps), gold, _left_out(tools, steps))


def _tool(told: Mapping[str, Any], taken: JsonObject, given: JsonObject) -> _Tool:
    parameters = parameters_of({"properties": _plain(taken), "required": _required(told, taken)})
    return _Tool(
        str(told.get("description") or ""),
        {each.name: each for each in parameters},
        fields_of({"properties": _plain(given)}),
    )


def _required(told: Mapping[str, Any], taken: JsonObject) -> list[str]:
    listed = told.get("required") or []
    own = (
        name for name, each in taken.items() if isinstance(each, Mapping) and each.get("required")
    )
    return [*listed, *own]


def _step(tools: Mapping[str, _Tool], name: str, place: int, arguments: Any) -> StepSignature:  # noqa: ANN401 # as it lies in the file
    tool = tools.get(name, _NOTHING_KNOWN)
    asked = arguments or {}
    return StepSignature(
        step=str(place),
        tool=name,
        description=tool.description,
        outputs=tool.outputs,
        wanted=[tool.parameters.get(each, Parameter(name=each)) for each in asked],
    )


def _left_out(
    tools: Mapping[str, _Tool], steps: Sequence[StepSignature]
) -> tuple[Sequence[Parameter], ...]:
    return tuple(
        [
            parameter
            for name, parameter in tools.get(step.tool, _NOTHING_KNOWN).parameters.items()
            if name not in {each.name for each in step.wanted}
        ]
        for step in steps
    )


def _could_be_meant(parameter: Parameter) -> bool:
    """As where edges are proposed for somebody."""
    return parameter.required or not (parameter.default or parameter.choice)


def _properties(told: Any) -> dict[str, Any]:  # noqa: ANN401 # as it lies in the file
    found = told.get("properties", told) if isinstance(told, Mapping) else {}
    return dict(found) if isinstance(found, Mapping) else {}


def _plain(members: Mapping[str, Any]) -> JsonObject:
    return {name: _schema(each) for name, each in members.items() if isinstance(each, Mapping)}


def _schema(told: Mapping[str, Any]) -> JsonObject:
    """Python's names of types as JSON Schema's, and lists of values as it writes them."""
    found: dict[str, Any] = {"description": str(told.get("description") or "")}
    if told.get("type"):
        kind = str(told["type"]).lower()
        found["type"] = _TYPES.get(kind, kind)
    if told.get("enum") or told.get("allowed_values"):
        found["enum"] = told.get("enum") or told.get("allowed_values")
    if "default" in told or "default_value" in told:
        found["default"] = told.get("default", told.get("default_value"))
    if isinstance(told.get("properties"), Mapping):
        found["properties"] = _plain(told["properties"])
    if isinstance(told.get("items"), Mapping):
        found["items"] = _schema(told["items"])
    return found


def _told(step: StepSignature, place: int, sought: set[tuple[int, str]]) -> StepSignature:
    wanted = [each for each in step.wanted if (place, each.name) in sought]
    given = frozenset(each.name for each in step.wanted) - {each.name for each in wanted}
    return replace(step, wanted=wanted, given=given)


def _without_descriptions(step: StepSignature) -> StepSignature:
    return replace(step, outputs=[replace(each, description="") for each in step.outputs])


def _path(outputs: Sequence[OutputField], name: str) -> str:
    return next((each.path for each in outputs if each.name == name), "")
