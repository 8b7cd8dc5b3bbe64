"""What is refused of saved workflows.

PorticoError
├── BadWorkflowName        a name that a tool cannot have
├── WorkflowNotFound       nothing is saved under this name, as far as this caller can know
├── WorkflowCycle          saved ones that would call one another in a circle
├── WorkflowNestedTooDeep  too many of them inside one another
├── WorkflowSecret         it names tools that fewer people may know of than may see it
├── WorkflowOutgrown       its steps can change more by now than when it was saved
├── WorkflowAsksFirst      somebody has to approve it, which is asked for where it is a tool
├── InnerStepFailed        a step of a workflow failed that another one called
└── OneOfPlanAndName       what to run was said more than once, or not at all
"""

from collections.abc import Sequence

from portico.kernel.effect import EFFECT_WORDS, Effect
from portico.kernel.errors import Kind, PorticoError
from portico.kernel.label import Label


class BadWorkflowName(PorticoError):
    kind = Kind.INVALID
    code = "bad_workflow_name"
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
        self.most = most


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
