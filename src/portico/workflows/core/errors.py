"""The errors of workflows."""

from portico.kernel.errors import Kind, PorticoError


class NotInline(PorticoError):
    kind = Kind.INVALID
    code = "not_inline"
    title = "This plan does not run inline"
    fix = 'Leave `mode` away, or say "durable".'

    def __init__(self, step: str, tool: str) -> None:
        super().__init__(
            f"The step {step!r} uses {tool}, which may change something; what runs inline is gone "
            "with its process, and nobody would know what was done."
        )
        self.step = step


class NotAWorkflow(PorticoError):
    kind = Kind.CONFLICT
    code = "not_a_workflow"
    title = "Not a workflow"
    fix = "See what it is: portico runs show RUN"

    def __init__(self, run: str, kind: str) -> None:
        super().__init__(f"{run} is a run of the kind {kind!r}.")


class NotUncertain(PorticoError):
    kind = Kind.CONFLICT
    code = "not_uncertain"
    title = "There is nothing to say about this step"
    fix = "See how its steps stand: portico workflows show RUN"

    def __init__(self, run: str, step: str) -> None:
        super().__init__(f"{run} does not wait for anybody's word about {step[:100]!r}.")
        self.step = step


class Unsettled(PorticoError):
    kind = Kind.CONFLICT
    code = "unsettled"
    title = "Nobody knows yet what became of a step"
    fix = (
        "Wait until it is over, or say what became of it: portico workflows resolve RUN STEP. "
        "To do it anew all the same, fork the run from this step."
    )

    def __init__(self, run: str, step: str) -> None:
        super().__init__(
            f"The step {step[:100]!r} of {run} was begun, and it is not noted what became of it."
        )
        self.step = step
