"""Run a plan again from the middle, with other arguments: what does not depend on the steps that
are done anew is kept."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, cast

from portico.engine.core.errors import RunNotFound, StepNotFound
from portico.engine.core.runs import Run, RunStatus, Started, StepState
from portico.gateway.core.call import ResultId
from portico.gateway.core.plan.expressions import Expressions
from portico.gateway.core.plan.graph import graph_of
from portico.gateway.core.plan.outline import outline_from
from portico.gateway.core.plan.plan import Plan
from portico.gateway.core.plan.reading import read_plan
from portico.gateway.core.plan.report import StepStanding
from portico.gateway.core.plan.standings import owner, standings
from portico.gateway.core.plan.trying_again import (
    failed_calls,
    inside_of,
    open_calls,
    rows_of,
    unread_requests,
)
from portico.gateway.core.plan.writing import plan_document
from portico.gateway.workflows.admit_plan import AdmitPlan, Admitted
from portico.gateway.workflows.engines import Engines, EngineSide
from portico.gateway.workflows.errors import NotAWorkflow, Unsettled
from portico.gateway.workflows.find_begun import FindBegun
from portico.gateway.workflows.run_plan import WORKFLOW
from portico.gateway.workflows.take_over import take_over
from portico.guard.core.approvals import Outcome
from portico.guard.core.audit import AuditEntry
from portico.guard.core.errors import Refused
from portico.guard.core.principals import Scope
from portico.guard.core.rules import OFF_LIST, on_lists
from portico.guard.ports import Audit, Contexts, Together
from portico.guard.principals import permit
from portico.kernel.clock import Clock
from portico.kernel.entropy import Entropy
from portico.kernel.ids import RunId
from portico.kernel.json import JsonObject, JsonValue, canonical
from portico.kernel.principal import Principal

_UNKNOWN: Final = Outcome.UNCERTAIN


@dataclass(frozen=True, slots=True, kw_only=True)
class ForkWorkflow:
    engines: Engines
    admit: AdmitPlan
    find_begun: FindBegun
    contexts: Contexts
    expressions: Expressions
    audit: Audit
    together: Together
    clock: Clock
    entropy: Entropy

    async def __call__(
        self,
        caller: Principal,
        source: RunId,
        *,
        step: str | None = None,
        arguments: Mapping[str, JsonObject] | None = None,
        key: str | None = None,
    ) -> Started:
        """`arguments` by step take the place of those of the same name. These steps, `step`, and
        whatever waits for any of them are done anew, under the caller as they are now; so is what
        ended the plan, and what waits for somebody's yes is asked for anew. Only one's own, since
        what it gave is nobody else's.

        Raises `NotPermitted`, `RunNotFound`, `NotAWorkflow`, `StepNotFound`, `BadPlan`,
        `ResultNotFound` for a plan that is kept no longer, `Unsettled`, `Refused` for a tool that
        is not on the caller's lists, and what starting a plan
        raises.
        """
        permit(caller, Scope.TOOLS_CALL)
        found, side = await self.engines.find(caller, source)
        if found.principal != caller.id:
            raise RunNotFound(str(source))
        if found.kind != WORKFLOW:
            raise NotAWorkflow(str(source), found.kind)
        content = await side.outputs().get(caller, ResultId.parse(str(found.input["plan"])))
        before = content if isinstance(content, Mapping) else {}
        edits = dict(arguments or {})
        plan = self._edited(before.get("plan"), edits)
        again = [*edits, *([step] if step is not None else [])]
        if missing := [name for name in again if name not in {each.id for each in plan.steps}]:
            raise StepNotFound(missing[0])
        _check_lists(caller, plan)
        await self.admit.check_arguments(caller, plan, edits)
        steps = await self._kept_steps(caller, found, side, self._anew(plan, again))
        await take_over(self.contexts, caller, found.input)
        inputs = before.get("inputs")
        admitted = await self.admit(
            caller,
            plan,
            inputs if isinstance(inputs, Mapping) else {},
            mode=side.mode,
            labels=[found.label],
        )
        kept = await side.outputs().keep(caller, {**before, "plan": plan_document(plan)})
        run = self._run(caller, found, key, admitted, kept.result)
        asked = _fingerprint(source, again, edits)
        async with self.together(caller):
            added, turn = await side.runs.fork_with(caller, source, run, steps=steps, asked=asked)
            if turn is not None:
                await self.audit.note(caller, _entry(added, source, again))
        if turn is not None:
            await side.line.join(turn)
        return Started(added, replayed=turn is None)

    def _edited(self, document: object, edits: Mapping[str, JsonObject]) -> Plan:
        """Raises `BadPlan`."""
        plan = read_plan(cast("JsonValue", document), self.expressions)  # it looks itself
        steps = [
            {**each, "arguments": {**_arguments(each), **edits.get(str(each["id"]), {})}}
            for each in _steps(plan_document(plan))
        ]
        return read_plan({**plan_document(plan), "steps": steps}, self.expressions)

    def _anew(self, plan: Plan, again: Sequence[str]) -> frozenset[str]:
        return graph_of(plan, self.expressions).downstream(again)

    async def _kept_steps(
        self, caller: Principal, source: Run, side: EngineSide, anew: frozenset[str]
    ) -> Sequence[str]:
        """What was told of it and what it was asked stays with what is kept; what ended the plan,
        what waits to be approved, and what was left out, is looked at anew. Raises `Unsettled`."""
        journal = await side.book.steps(caller, source.id)
        outline = outline_from(source.input)
        begun = await self.find_begun(caller, source, journal)
        uncertain = frozenset(str(each.id) for each in begun.asked if each.outcome is _UNKNOWN)
        reports = standings(outline, source, journal, uncertain)
        unknown = {each.id for each in reports if each.state is StepStanding.UNCERTAIN}
        waiting = frozenset(unread_requests(journal))
        unknown |= begun.lost | begun.unheard | inside_of(journal)
        unknown |= {owner(call) for call in begun.approved & waiting}
        for name in sorted(unknown - anew):
            raise Unsettled(str(source.id), name)
        tried = failed_calls(outline, source, journal) | open_calls(journal) | waiting
        forgotten = rows_of(tried, journal)
        return [
            each.name
            for each in journal
            if each.state is not StepState.OPEN
            and each.name not in forgotten
            and owner(each.name) not in anew | {""}
        ]

    def _run(
        self, caller: Principal, found: Run, key: str | None, admitted: Admitted, plan: ResultId
    ) -> Run:
        return replace(
            found,
            id=self._id(caller, found.id, key),
            principal=caller.id,
            clearance=caller.clearance,
            scopes=frozenset(caller.scopes),
            status=RunStatus.QUEUED,
            label=admitted.label,
            input={"plan": str(plan), **admitted.given},
            created_at=self.clock.now(),
            leg=1,
            attempts=0,
            waits_for=(),
            wakes_at=None,
            forked_from=found.id,
            result=None,
            failure=None,
            started_at=None,
            finished_at=None,
        )

    def _id(self, caller: Principal, source: RunId, key: str | None) -> RunId:
        if key is None:
            return RunId.mint(self.clock.now(), self.entropy)
        return RunId.of_claim(caller.space, caller.id, f"fork of {source}", key)


def _check_lists(caller: Principal, plan: Plan) -> None:
    """What another key was given by a tool goes on with whoever forks. Raises `Refused`."""
    for step in plan.steps:
        tool = str(step.tool)
        if not on_lists(caller, tool):
            raise Refused(tool, "default:list", OFF_LIST, who=caller.name, key=caller.key)


def _steps(document: JsonObject) -> Sequence[JsonObject]:
    steps = document.get("steps")
    if not isinstance(steps, Sequence) or isinstance(steps, str):
        return ()
    return [each for each in steps if isinstance(each, Mapping)]


def _arguments(step: JsonObject) -> JsonObject:
    found = step.get("arguments")
    return found if isinstance(found, Mapping) else {}


def _fingerprint(source: RunId, again: Sequence[str], edits: Mapping[str, JsonObject]) -> str:
    asked = canonical([str(source), sorted(again), dict(edits)])
    return hashlib.sha256(b"fork " + asked).hexdigest()


def _entry(run: Run, source: RunId, again: Sequence[str]) -> AuditEntry:
    return AuditEntry(
        action="workflow.forked",
        subject=str(run.id),
        facts={"source": str(source), "steps": [*again]},
    )
