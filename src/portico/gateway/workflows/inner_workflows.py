"""A saved workflow that is called by a run: carried out inside it, and not as a run of its own.

A run that waited for another would hold a place that the other needs. So the call, which passes
the gate as any other, gives the plan; its steps are steps of the run that called, with the name of
the step that called before theirs.
"""

from dataclasses import dataclass

from portico.engine.core.errors import StepFailed
from portico.gateway.core.call import Answer
from portico.gateway.core.plan.expressions import Expressions
from portico.gateway.core.plan.inputs import inputs_for
from portico.gateway.core.plan.reading import read_plan
from portico.gateway.core.reserved_metadata import MOST_DEEP
from portico.gateway.core.saved_workflow import Admission, admitted
from portico.gateway.core.saved_workflow_errors import InnerStepFailed, WorkflowNestedTooDeep
from portico.gateway.workflows.acting import Acting
from portico.gateway.workflows.came import Came, Gave, LeftOut, WentWrong
from portico.gateway.workflows.carry_out import CarryOut
from portico.gateway.workflows.keep_answer import kept_answer, noted_of
from portico.gateway.workflows.make_call import CallWish
from portico.gateway.workflows.needed import needed
from portico.gateway.workflows.one_call import OneCall
from portico.gateway.workflows.step_call import gave
from portico.kernel.durable import Action
from portico.kernel.errors import PorticoError
from portico.kernel.json import JsonValue


def end_of(step: str) -> str:
    """The durable step that says how the workflow called by this one ended."""
    return f"{step}/~output"


@dataclass(frozen=True, slots=True, kw_only=True)
class InnerWorkflows:
    """Wraps what makes one call."""

    one_call: OneCall
    expressions: Expressions

    async def __call__(self, acting: Acting, wish: CallWish) -> Came:
        came = await self.one_call(acting, wish)
        if not isinstance(came, Gave) or not came.admitted:
            return came
        with acting.durable.busy():
            found = admitted(await needed(lambda: acting.document(came)))
        if found is None:
            return came
        try:
            inside = self._inside(acting, wish, found)
        except PorticoError as error:
            return await self._noted(acting, wish, _raising(error))
        return await self._carried_out(acting, wish, inside)

    def _inside(self, acting: Acting, wish: CallWish, found: Admission) -> CarryOut:
        """Raises `BadPlan`, and what its inputs are refused by."""
        read = read_plan(found.plan, self.expressions)
        return CarryOut(
            acting=acting,
            plan=read,
            inputs=inputs_for(read, found.inputs),
            expressions=self.expressions,
            step_call=self,
            prefix=f"{wish.step}/",
        )

    async def _carried_out(self, acting: Acting, wish: CallWish, inside: CarryOut) -> Came:
        if wish.step.count("/") < MOST_DEEP:
            await inside()
        if inside.progress.stopped_by is None and (by := acting.stopped()) is not None:
            return LeftOut(f"the plan was stopped by {by!r}, which failed", stopped=True)
        return await self._ended(acting, wish, inside)

    async def _ended(self, acting: Acting, wish: CallWish, inside: CarryOut) -> Came:
        async def action(_key: str) -> JsonValue:
            if wish.step.count("/") >= MOST_DEEP:
                raise WorkflowNestedTooDeep(wish.step.split("/"), MOST_DEEP)
            if (by := inside.progress.stopped_by) is not None:
                words = await needed(lambda: acting.message(inside.failures[by]))
                raise InnerStepFailed(inside.call(by), words)
            answer, tool = _answer(await inside.output()), str(wish.tool)
            return noted_of(await needed(lambda: kept_answer(acting, tool, answer, None)))

        return await self._noted(acting, wish, action)

    async def _noted(self, acting: Acting, wish: CallWish, action: Action) -> Came:
        try:
            return gave(await acting.durable.step(end_of(wish.step), action))
        except StepFailed as failed:
            return WentWrong(failed.failure)


def _raising(error: PorticoError) -> Action:
    async def action(_key: str) -> JsonValue:
        raise error

    return action


def _answer(output: JsonValue) -> Answer:
    """As the tool would have given it to somebody else."""
    if isinstance(output, str):
        return Answer([{"type": "text", "text": output}])
    return Answer([], output)
