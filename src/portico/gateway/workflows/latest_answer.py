"""What a workflow that was a tool's call gives by now, in place of what it could say then."""

from dataclasses import dataclass

from portico.engine.core.errors import RunNotFound
from portico.gateway.core.call import Answer
from portico.gateway.core.workflow_words import as_answer, unfinished
from portico.gateway.workflows.show_workflow import ShowWorkflow
from portico.kernel.principal import Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class LatestAnswer:
    show: ShowWorkflow

    async def __call__(self, caller: Principal, answer: Answer) -> Answer:
        """As it is, if it was the last word, or if nothing is known of its run any more. Raises
        `NotPermitted`."""
        run = unfinished(answer)
        if run is None:
            return answer
        try:
            return as_answer(await self.show(caller, run))
        except RunNotFound:
            return answer
