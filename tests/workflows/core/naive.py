"""What a plan means, done the plain way: one step after another, each asking for what it needs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from portico.adapters.jmespath.expressions import JmespathExpressions
from portico.gateway.core.calls import ToolResult
from portico.gateway.core.catalog_snapshot import ToolRef
from portico.kernel.json import JsonObject, JsonValue
from portico.workflows.core.plan import RESERVED, OnError, Plan, Step, references
from portico.workflows.core.plan_values import (
    MissingValue,
    NotAList,
    TooManyItems,
    items_document,
    step_document,
    wanted,
    with_item,
)
from tests.workflows.core.at_once import arguments_of, items_of, resolve

EXPRESSIONS = JmespathExpressions()
Tool = Callable[[ToolRef, JsonObject], ToolResult]


class Failed(Exception):
    """A step did."""


class Stopped(Exception):
    """And nothing else is begun."""


@dataclass(slots=True)
class Result:
    states: dict[str, str] = field(default_factory=dict)
    """done, failed, skipped, not_needed."""
    documents: dict[str, JsonValue] = field(default_factory=dict)
    """Of the steps that are done, by their own ids."""
    stopped_by: str | None = None


def interpret(plan: Plan, inputs: JsonObject, tool: Tool) -> Result:
    naive = _Naive(plan, inputs, tool)
    try:
        for step in plan.steps:
            if step.id not in naive.stand_ins:
                naive.settle(step.id)
    except Stopped as stop:
        naive.result.stopped_by = str(stop)
    for step in plan.steps:
        naive.result.states.setdefault(step.id, "skipped")
    return naive.result


def given_by(plan: Plan, result: Result, name: str) -> JsonValue:
    """What those find who refer to a step; None for nothing."""
    if result.states.get(name) == "done":
        return result.documents[name]
    fallback = plan.step(name).fallback
    return None if fallback is None else given_by(plan, result, fallback)


class _Naive:
    def __init__(self, plan: Plan, inputs: JsonObject, tool: Tool) -> None:
        self.plan = plan
        self.steps = {step.id: step for step in plan.steps}
        self.stand_ins = {step.fallback for step in plan.steps if step.fallback is not None}
        self.inputs = inputs
        self.tool = tool
        self.result = Result()

    def settle(self, name: str) -> None:
        """However it ends, and whoever stands in for it."""
        if name in self.result.states:
            return
        step = self.steps[name]
        for other in self._needs(step):
            self.settle(other)
        state = self.result.states[name] = self._do(step)
        fell = state == "failed" or (state == "skipped" and name in self.stand_ins)
        if step.fallback is not None and fell:
            self.settle(step.fallback)
        elif step.fallback is not None:
            self._not_needed(step.fallback)
        elif fell and step.on_error is OnError.STOP:
            raise Stopped(name)

    def _not_needed(self, name: str) -> None:
        self.result.states[name] = "not_needed"
        fallback = self.steps[name].fallback
        if fallback is not None:
            self._not_needed(fallback)

    def _needs(self, step: Step) -> list[str]:
        found = [reference.step for _, reference in references(dict(step.arguments))]
        if step.for_each is not None:
            found += [reference.step for _, reference in references(step.for_each.over)]
        found += EXPRESSIONS.roots(step.when) if step.when else []
        return [name for name in [*found, *step.after] if name not in RESERVED]

    def _known(self) -> Mapping[str, JsonValue]:
        found = {step.id: given_by(self.plan, self.result, step.id) for step in self.plan.steps}
        there = {name: document for name, document in found.items() if document is not None}
        return {**there, "inputs": self.inputs}

    def _do(self, step: Step) -> str:
        known = self._known()
        if self._lacks(step, known) or not wanted(step, known, EXPRESSIONS):
            return "skipped"
        try:
            self.result.documents[step.id] = self._document(step, known)
        except (Failed, MissingValue, NotAList, TooManyItems):
            return "failed"
        return "done"

    def _lacks(self, step: Step, known: Mapping[str, JsonValue]) -> bool:
        over = step.for_each.over if step.for_each is not None else None
        asked = [*references(dict(step.arguments)), *references(over)]
        return any(
            reference.step not in known
            for _, reference in asked
            if reference.step not in RESERVED and not reference.has_default
        )

    def _document(self, step: Step, known: Mapping[str, JsonValue]) -> JsonValue:
        if step.for_each is None:
            return self._call(step, known)
        documents: list[JsonValue] = []
        for index, item in enumerate(items_of(step, known, EXPRESSIONS)):
            try:
                documents.append(self._call(step, with_item(known, item, index)))
            except (Failed, MissingValue):
                if step.on_error is not OnError.SKIP:
                    raise
                documents.append(None)
        return items_document(documents)

    def _call(self, step: Step, known: Mapping[str, JsonValue]) -> JsonValue:
        answer = self.tool(step.tool, arguments_of(step, known, EXPRESSIONS))
        if answer.failed:
            raise Failed(step.id)
        return step_document(answer)


def output(plan: Plan, result: Result, inputs: JsonObject) -> JsonValue:
    """Of a plan that says what it gives. Raises `MissingValue`."""
    found = {step.id: given_by(plan, result, step.id) for step in plan.steps}
    there = {name: document for name, document in found.items() if document is not None}
    return resolve(plan.output, "/output", {**there, "inputs": inputs}, EXPRESSIONS)
