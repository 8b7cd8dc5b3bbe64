"""Start a plan: as whoever asks for it, once however often it is asked for."""

import hashlib
from dataclasses import dataclass, field

from portico.engine.core.errors import KeyReused, RunNotFound
from portico.engine.core.runs import Run, Started
from portico.engine.runs import RunWish
from portico.gateway.core.call import ResultId
from portico.gateway.core.plan.inputs import inputs_for
from portico.gateway.core.plan.plan import Plan
from portico.gateway.core.plan.report import Mode
from portico.gateway.core.plan.writing import plan_document
from portico.gateway.workflows.admit_plan import AdmitPlan
from portico.gateway.workflows.engines import Engines
from portico.gateway.workflows.run_plan import WORKFLOW
from portico.guard.core.audit import AuditEntry
from portico.guard.core.principals import Scope
from portico.guard.ports import Audit, Together
from portico.guard.principals import permit
from portico.kernel.effect import Effect
from portico.kernel.ids import RunId
from portico.kernel.json import JsonObject, canonical
from portico.kernel.label import Label
from portico.kernel.principal import Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowWish:
    plan: Plan
    inputs: JsonObject = field(default_factory=dict)
    mode: Mode = Mode.DURABLE
    key: str | None = None
    """The same key, the same run; without one each wish is another."""
    label: Label | None = None
    """How secret it is and what it gives; at least as what its task has read and its servers
    know."""
    intent: str | None = None
    """What its caller wants by it, in their own words; they stand with the plan, sealed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StartWorkflow:
    engines: Engines
    admit: AdmitPlan
    audit: Audit
    together: Together

    async def __call__(self, caller: Principal, wish: WorkflowWish) -> Started:
        """Raises `NotPermitted`, `BadPlan`, `BadArguments` for its inputs, `NotInline`,
        `VaultClosed`, `KeyReused`, and `TopicRefused` where the caller is not cleared for what it
        would give."""
        permit(caller, Scope.TOOLS_CALL)
        labels = () if wish.label is None else (wish.label,)
        admitted = await self.admit(caller, wish.plan, wish.inputs, mode=wish.mode, labels=labels)
        side = self.engines.of(wish.mode)
        content: JsonObject = {
            "plan": plan_document(wish.plan),
            "inputs": inputs_for(wish.plan, wish.inputs),
            **({} if wish.intent is None else {"intent": wish.intent}),
        }
        handle = _handle(caller, wish, content)
        if (there := await self._there(caller, wish, handle)) is not None:
            return Started(there, replayed=True)
        kept = await side.outputs().keep(caller, content, handle)
        given: JsonObject = {"plan": str(kept.result), **admitted.given}
        its = RunWish(kind=WORKFLOW, input=given, key=wish.key, label=admitted.label)
        async with self.together(caller):
            started = await side.start_run.started(caller, its)
            if not started.replayed:
                await self.audit.note(caller, _entry(started.run, wish, admitted.effect))
        return started

    async def _there(
        self, caller: Principal, wish: WorkflowWish, handle: ResultId | None
    ) -> Run | None:
        """What was asked for before under the same key, on either engine, however much its task
        has read since. Raises `KeyReused`."""
        if wish.key is None:
            return None
        run = RunId.of_claim(caller.space, caller.id, WORKFLOW, wish.key)
        try:
            found, _ = await self.engines.find(caller, run)
        except RunNotFound:
            return None
        if found.input.get("plan") != str(handle):
            raise KeyReused(wish.key)
        return found


def _handle(caller: Principal, wish: WorkflowWish, content: JsonObject) -> ResultId | None:
    """The same for the same wish under the same key, so that asking twice keeps it once."""
    if wish.key is None:
        return None
    how = [str(wish.mode), None if wish.label is None else str(wish.label)]
    text = canonical([str(caller.space), str(caller.id), wish.key, content, *how])
    return ResultId.of_digest(b"plan " + text)


def _entry(run: Run, wish: WorkflowWish, effect: Effect) -> AuditEntry:
    plan = canonical(plan_document(wish.plan))
    return AuditEntry(
        action="workflow.started",
        subject=str(run.id),
        facts={
            "name": wish.plan.name,
            "mode": str(wish.mode),
            "steps": len(wish.plan.steps),
            "effect": str(effect),
            "hash": hashlib.sha256(plan).hexdigest(),
        },
    )
