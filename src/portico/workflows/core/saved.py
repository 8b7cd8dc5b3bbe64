"""Saved workflows: versions and errors."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from portico.gateway.core.calls import ToolResult
from portico.gateway.core.reserved_metadata import ADMITTED_META, MOST_DEEP, USES_META
from portico.gateway.core.surface import hints
from portico.kernel.effect import EFFECT_WORDS, Effect
from portico.kernel.errors import Kind, PorticoError
from portico.kernel.ids import PrincipalId
from portico.kernel.json import JsonObject
from portico.kernel.label import Label
from portico.workflows.core.plan import Plan
from portico.workflows.core.plan_documents import input_schema


class InvalidWorkflowName(PorticoError):
    kind = Kind.INVALID
    code = "bad_workflow_name"
    type_name = "BadWorkflowName"
    title = "Not a name for a workflow"
    fix = "Use letters, digits, - and _, at most 48, beginning with a letter."

    def __init__(self, text: str) -> None:
        super().__init__(f"{text[:80]!r} cannot be the name of a saved workflow.")
        self.text = text


class WorkflowNotFound(PorticoError):
    kind = Kind.NOT_FOUND
    code = "workflow_not_found"
    title = "No such workflow"
    fix = "`portico workflows saved` shows those that there are."

    def __init__(self, name: str) -> None:
        super().__init__(f"No workflow is saved as {name[:80]!r}.")
        self.name = name


class WorkflowCycle(PorticoError):
    kind = Kind.INVALID
    code = "workflow_cycle"
    title = "A workflow that calls itself"
    fix = "Take out the step that closes the circle."

    def __init__(self, way: Sequence[str]) -> None:
        super().__init__(f"Saved so, it would call itself: {' -> '.join(way)}.")
        self.way = tuple(way)


class WorkflowNestedTooDeep(PorticoError):
    kind = Kind.INVALID
    code = "workflow_nested_too_deep"
    title = "Too many workflows inside one another"
    fix = "Put the steps of the innermost one into the one that calls it."

    def __init__(self, way: Sequence[str], most: int) -> None:
        super().__init__(f"At most {most} may stand inside one another: {' -> '.join(way)}.")
        self.way = tuple(way)
        self.limit = most


class WorkflowSecret(PorticoError):
    kind = Kind.DENIED
    code = "workflow_secret"
    title = "A workflow that tells of what is labelled higher"

    def __init__(self, server: str, label: Label, ours: str, its: Label) -> None:
        super().__init__(
            f"It uses {server}, which is labelled {label}, and whoever is cleared for {its} would "
            f"see it among the tools of {ours}.",
            fix=f"Label {ours} {label} first, or leave that step out.",
        )
        self.server = server


class WorkflowOutgrown(PorticoError):
    kind = Kind.CONFLICT
    code = "workflow_outgrown"
    title = "A workflow that can change more than when it was saved"
    fix = "Whoever may save workflows looks at it, and saves it again."

    def __init__(self, name: str, saved: Effect, now: Effect) -> None:
        super().__init__(
            f"When {name} was saved, the worst of its steps was: {EFFECT_WORDS[saved]}. By now it "
            f"is: {EFFECT_WORDS[now]}."
        )
        self.name = name
        self.saved = saved
        self.now = now


class WorkflowAsksFirst(PorticoError):
    kind = Kind.DENIED
    code = "workflow_asks_first"
    title = "A workflow that somebody has to approve"

    def __init__(self, tool: str, reason: str) -> None:
        super().__init__(
            f"Before {tool} is run somebody has to be asked: {reason}.",
            fix=f"Call it as a tool, {tool}: that asks, and runs it once somebody has said yes.",
        )
        self.tool = tool


class InnerStepFailed(PorticoError):
    kind = Kind.CONFLICT
    code = "inner_step_failed"
    title = "A step of a workflow failed inside another one"
    fix = "See why that step failed; the run can be resumed, or forked with other arguments."

    def __init__(self, step: str, why: str) -> None:
        super().__init__(f"{step} failed: {why}")
        self.step = step


class OneOfPlanAndName(PorticoError):
    kind = Kind.INVALID
    code = "one_of_plan_and_name"
    title = "Not said what to run"
    fix = "Give one of `plan`, the `name` of a saved workflow, and a `suggestion`."

    def __init__(self) -> None:
        super().__init__("A plan is run, a saved workflow or a suggestion, and it has to be one.")


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
    """The same text, if it can be the name of a tool. Raises `InvalidWorkflowName`."""
    if not _NAME.fullmatch(text):
        raise InvalidWorkflowName(text)
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
    def answer(self) -> ToolResult:
        return ToolResult(
            [], {"plan": self.plan, "inputs": self.inputs}, meta={ADMITTED_META: True}
        )


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
