"""A plan that somebody has saved under a name, and the tool that it is from then on."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from portico.gateway.core.call import Answer
from portico.gateway.core.plan.inputs import input_schema
from portico.gateway.core.plan.plan import Plan
from portico.gateway.core.reserved_metadata import ADMITTED_META, MOST_DEEP, USES_META
from portico.gateway.core.saved_workflow_errors import (
    BadWorkflowName,
    WorkflowCycle,
    WorkflowNestedTooDeep,
)
from portico.gateway.core.surface import hints
from portico.kernel.effect import Effect
from portico.kernel.ids import PrincipalId
from portico.kernel.json import JsonObject

LONGEST_DESCRIPTION: Final = 4_000
ADMITTED: Final = "admitted"
"""What the journal of a run says of a call that gave a plan to carry out: so it is the same each
time that the run goes on, whatever has become of the server by then."""
_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,47}")


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedWorkflow:
    name: str
    plan: JsonObject
    """As it was written."""
    description: str
    effect: Effect
    """The worst of its steps when it was saved: what it may come to is no more than this."""
    saved_by: PrincipalId
    saved_by_name: str
    saved_at: datetime
    changed_at: datetime


def workflow_name(text: str) -> str:
    """The same text, if it can be the name of a tool. Raises `BadWorkflowName`."""
    if not _NAME.fullmatch(text):
        raise BadWorkflowName(text)
    return text


def tool_definition(saved: SavedWorkflow, plan: Plan) -> JsonObject:
    """In the protocol's own form."""
    return {
        "name": saved.name,
        "description": saved.description,
        "inputSchema": input_schema(plan),
        "annotations": hints(saved.effect),
        "_meta": {USES_META: [*tools_of(saved.plan)]},
    }


@dataclass(frozen=True, slots=True)
class Admission:
    """What a run is answered that calls one: what to carry out, and with what."""

    plan: JsonObject
    inputs: JsonObject

    @property
    def answer(self) -> Answer:
        return Answer([], {"plan": self.plan, "inputs": self.inputs}, meta={ADMITTED_META: True})


def admitted(document: JsonObject) -> Admission | None:
    """The same, in what a step gave, if it is that and not a result."""
    match document.get("structuredContent"):
        case {"plan": Mapping() as plan, "inputs": Mapping() as inputs}:
            return Admission(plan, inputs)
        case _:
            return None


def tools_of(plan: JsonObject) -> Sequence[str]:
    """What the steps of a plan, as it was written, call, each once."""
    steps = plan.get("steps")
    written = steps if isinstance(steps, Sequence) else ()
    tools = (str(step.get("tool")) for step in written if isinstance(step, Mapping))
    return list(dict.fromkeys(tools))


def inner(plan: JsonObject, server: str) -> Sequence[str]:
    """The saved ones among them; `server` is what theirs is called."""
    before = f"{server}."
    return [tool.removeprefix(before) for tool in tools_of(plan) if tool.startswith(before)]


def check_nesting(name: str, calls: Mapping[str, Sequence[str]]) -> int:
    """How many stand inside one another where it is one of them. `calls`: what each saved one
    calls, `name` itself as it would be from now on. Whatever calls it is deeper for that, so it is
    looked at from all of them. Raises `WorkflowCycle`, `WorkflowNestedTooDeep`."""
    for way in _ways((name,), calls):
        if way[-1] in way[:-1]:
            raise WorkflowCycle(way)
    ways = [way for first in calls for way in _ways((first,), calls) if name in way]
    deepest = max(ways, key=len)
    if len(deepest) > MOST_DEEP:
        raise WorkflowNestedTooDeep(deepest, MOST_DEEP)
    return len(deepest)


def _ways(so_far: tuple[str, ...], calls: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, ...]]:
    """Every way down from here, no further than to one that was passed before, or than one step
    deeper than is allowed."""
    yield so_far
    if so_far[-1] in so_far[:-1] or len(so_far) > MOST_DEEP:
        return
    for called in calls.get(so_far[-1], ()):
        yield from _ways((*so_far, called), calls)
