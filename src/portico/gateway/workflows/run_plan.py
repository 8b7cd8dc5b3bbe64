"""The work of a run that carries out a plan."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Final

from portico.engine.core.errors import StepFailed
from portico.engine.core.runs import Step as Noted
from portico.engine.execution import patiently
from portico.engine.ports import RunBook
from portico.gateway.core.call import ResultId, claim_of
from portico.gateway.core.plan.expressions import Expressions
from portico.gateway.core.plan.plan import Plan
from portico.gateway.core.plan.progress import StepState
from portico.gateway.core.plan.reading import read_plan
from portico.gateway.core.plan.report import WorkflowStatus
from portico.gateway.core.suggest.plan_end import PlanEnd, PlanObserver
from portico.gateway.ports import CallHistory
from portico.gateway.workflows.acting import ActFor, Acting
from portico.gateway.workflows.came import Broken
from portico.gateway.workflows.carry_out import CarryOut
from portico.gateway.workflows.keep_answer import noted_of
from portico.gateway.workflows.one_call import OneCall
from portico.kernel.durable import Durable
from portico.kernel.errors import PorticoError
from portico.kernel.json import JsonObject, JsonValue

WORKFLOW: Final = "workflow"
_LOT: Final = 1_000
"""Calls that are asked for at a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPlan:
    act_for: ActFor
    step_call: OneCall
    expressions: Expressions
    history: CallHistory
    book: RunBook
    observer: PlanObserver

    async def __call__(self, durable: Durable, given: JsonObject) -> JsonValue:
        """Raises `StepFailed` if a step has stopped it, so that taking the run up again tries that
        one again; `KeyEnded`, `ResultNotFound`."""
        acting = self.act_for(durable, given)
        plan, inputs, intent = await self._plan(acting, given)
        facts: JsonObject = {"steps": len(plan.steps), "name": plan.name}
        await durable.tell("~plan", "workflow.planned", facts)
        carry_out = CarryOut(
            acting=acting,
            plan=plan,
            inputs=inputs,
            expressions=self.expressions,
            step_call=self.step_call,
        )
        try:
            await carry_out()
        except Broken as broken:
            raise broken.error from broken
        if (by := carry_out.progress.stopped_by) is not None:
            await self._tell_begun(acting, carry_out)
            raise StepFailed(carry_out.failures[by])
        result = await self._result(acting, carry_out)
        if result.get("status") == WorkflowStatus.DONE:
            await self._observed(acting, carry_out, intent)
        return result

    async def _observed(self, acting: Acting, carried: CarryOut, intent: str | None) -> None:
        """Not in the name of somebody who may do nothing any more."""
        states = carried.progress.states
        with suppress(PorticoError):
            end = PlanEnd(
                caller=await acting.asker(),
                label=acting.label,
                plan=carried.plan,
                inputs=carried.inputs,
                done={name for name, state in states.items() if state is StepState.DONE},
                intent=intent,
            )
            self.observer(end)

    async def _plan(self, acting: Acting, given: JsonObject) -> tuple[Plan, JsonObject, str | None]:
        asker, result = await patiently(acting.asker), ResultId.parse(str(given["plan"]))
        kept = await patiently(lambda: acting.outputs.get(asker, result))
        content = kept if isinstance(kept, Mapping) else {}
        inputs, intent = content.get("inputs"), content.get("intent")
        plan = read_plan(content.get("plan"), self.expressions)
        told = intent if isinstance(intent, str) else None
        return plan, inputs if isinstance(inputs, Mapping) else {}, told

    async def _result(self, acting: Acting, carried: CarryOut) -> JsonObject:
        async def keep(_key: str) -> JsonValue:
            output = await carried.output()
            asker = await patiently(acting.asker)
            return noted_of(await patiently(lambda: acting.outputs.keep(asker, output)))

        status = WorkflowStatus.PARTIAL if carried.failed else WorkflowStatus.DONE
        try:
            output = await acting.durable.step("~output", keep)
        except Broken as broken:
            raise broken.error from broken
        except StepFailed as failed:
            error = failed.failure.as_json()
            return {"status": WorkflowStatus.PARTIAL, "output": None, "error": error}
        return {"status": status, "output": output}

    async def _tell_begun(self, acting: Acting, carried: CarryOut) -> None:
        """A step may have been under way when somebody died, and be left out now because another
        one has stopped everything: then nobody knows whether it was made, and that is said."""
        if not acting.waits:
            return
        durable = acting.durable
        noted = {step.name: step for step in await self.book.steps(durable.caller, durable.run)}
        left_out = _left_out(carried, noted)
        while names := [*islice(left_out, _LOT)]:
            claims = {claim_of(durable.run, name, durable.leg): name for name in names}
            begun = await self.history.begun(await acting.asker(), [*claims])
            for name in (name for claim, name in claims.items() if claim.id in begun):
                facts: JsonObject = {"step": name, "why": "begun_before"}
                told = f"{name}:unknown:{durable.leg}"
                await durable.tell(told, "workflow.step_uncertain", facts)


def _left_out(carried: CarryOut, noted: Mapping[str, Noted]) -> Iterator[str]:
    """The calls that may have been begun of those steps which are left out: of one that is done
    once an item, nothing was begun before it was noted how many there are."""
    for step in carried.plan.steps:
        if carried.progress.states[step.id] is not StepState.SKIPPED:
            continue
        if step.for_each is None:
            names: Iterable[str] = [step.id]
        else:
            counted = noted.get(f"{step.id}~items")
            many = None if counted is None else counted.output
            names = (f"{step.id}[{n}]" for n in range(many if isinstance(many, int) else 0))
        yield from (name for name in names if name not in noted)
