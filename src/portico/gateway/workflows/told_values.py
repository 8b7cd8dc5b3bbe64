"""What the caller of a run is told of it: what it gave, and in which words something failed. Their
task has read it then."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from portico.gateway.core.call import ResultId
from portico.gateway.core.errors import ResultNotFound
from portico.gateway.core.plan.private_words import kept_words, spoken, unspoken
from portico.gateway.core.plan.report import StepReport, StepStanding, Trouble, WorkflowReport
from portico.gateway.workflows.outputs import Outputs
from portico.guard.ports import Contexts
from portico.kernel.json import JsonValue
from portico.kernel.label import Label, join
from portico.kernel.principal import Principal

_MOST_WORDS: Final = 50
"""Steps of a plan whose failures are told in their own words; of the others, where those are."""


@dataclass(frozen=True, slots=True)
class ToldValues:
    caller: Principal
    label: Label
    """Of the run."""
    outputs: Outputs
    contexts: Contexts

    async def __call__(self, handle: str) -> JsonValue:
        """None if it is kept no longer."""
        try:
            read = await self.outputs.read(self.caller, ResultId.parse(handle))
        except ResultNotFound:
            return None
        label = join([read.label, self.label])
        await self.contexts.rise(self.caller, label, untrusted=read.untrusted)
        return read.content

    async def of_step(self, step: StepReport) -> StepReport:
        if step.handle is None or step.state is not StepStanding.DONE:
            return step
        return replace(step, output=await self(step.handle))

    async def with_words(self, report: WorkflowReport) -> WorkflowReport:
        """Each failure in its own words."""
        steps, error = await self._with_words(report.steps), report.error
        told = None if error is None else await self._spoken(error)
        return replace(report, steps=steps, error=told)

    async def _with_words(self, steps: Sequence[StepReport]) -> Sequence[StepReport]:
        failed = [step.id for step in steps if step.error is not None]
        told = frozenset(failed[:_MOST_WORDS])
        return [await self._words(step) if step.id in told else step for step in steps]

    async def _words(self, step: StepReport) -> StepReport:
        return step if step.error is None else _with(step, await self._spoken(step.error))

    async def _spoken(self, trouble: Trouble) -> Trouble:
        kept = kept_words(trouble.message)
        if kept is None:
            return trouble
        return replace(trouble, message=spoken(trouble.message, await self(kept)))


def without_values(report: WorkflowReport) -> WorkflowReport:
    """As others see it."""
    steps = [
        replace(step if step.error is None else _with(step, unspoken(step.error)), handle=None)
        for step in report.steps
    ]
    error = None if report.error is None else unspoken(report.error)
    return replace(report, steps=steps, output_handle=None, error=error)


def _with(step: StepReport, trouble: Trouble) -> StepReport:
    """Why it failed is said by its failure, unless there is more to say."""
    own = step.error is not None and step.why == step.error.message
    return replace(step, error=trouble, why=trouble.message if own else step.why)
