"""Runs of workflows: start, wait, latest answer."""

import asyncio
import hashlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final, Protocol

from portico.engine.core.errors import KeyReused, RunNotFound
from portico.engine.core.runs import Run, RunStatus, Started
from portico.engine.ports import Wakeups
from portico.engine.runs import RunSpec
from portico.gateway.catalog import Catalogs
from portico.gateway.core.calls import ResultId, ToolResult, aim_at
from portico.gateway.ports import ClientChannel
from portico.guard.core.access_request import AccessRequest, Action, NeedsApproval
from portico.guard.core.audit import AuditEntry
from portico.guard.core.principals import Scope
from portico.guard.policy_gate import Gate
from portico.guard.ports import Audit, UnitOfWork
from portico.guard.principals import require_scope
from portico.kernel.effect import Effect
from portico.kernel.ids import RunId
from portico.kernel.json import JsonObject, canonical
from portico.kernel.label import Label
from portico.kernel.principal import Principal
from portico.workflows.core.plan import Expressions, InvalidPlan, Plan, PlanDiagnostic
from portico.workflows.core.plan_documents import inputs_for, plan_document, read_plan, with_edges
from portico.workflows.core.plan_learning import LONGEST_INTENT, AcceptedSuggestion, SuggestionId
from portico.workflows.core.plan_report import Mode, StepStatus, WorkflowReport
from portico.workflows.core.saved import OneOfPlanAndName, WorkflowAsksFirst, WorkflowOutgrown
from portico.workflows.core.texts import as_answer, unfinished
from portico.workflows.execution import WORKFLOW, Engines
from portico.workflows.plan_checks import AdmitPlan, Checked, CheckPlan
from portico.workflows.run_queries import ShowWorkflow, may_look
from portico.workflows.saved import SavedWorkflowDetails, ShowSaved


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowSpec:
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
    unit_of_work: UnitOfWork

    async def __call__(self, caller: Principal, wish: WorkflowSpec) -> Started:
        """Raises `NotPermitted`, `InvalidPlan`, `InvalidArguments` for its inputs, `NotInline`,
        `VaultClosed`, `KeyReused`, and `TopicRefused` where the caller is not cleared for what it
        would give."""
        require_scope(caller, Scope.TOOLS_CALL)
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
        given: JsonObject = {"plan": str(kept.result), **admitted.arguments}
        its = RunSpec(kind=WORKFLOW, input=given, key=wish.key, label=admitted.label)
        async with self.unit_of_work(caller):
            started = await side.start_run.started(caller, its)
            if not started.replayed:
                await self.audit.note(caller, _entry(started.run, wish, admitted.effect))
        return started

    async def _there(
        self, caller: Principal, wish: WorkflowSpec, handle: ResultId | None
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


def _handle(caller: Principal, wish: WorkflowSpec, content: JsonObject) -> ResultId | None:
    """The same for the same wish under the same key, so that asking twice keeps it once."""
    if wish.key is None:
        return None
    how = [str(wish.mode), None if wish.label is None else str(wish.label)]
    text = canonical([str(caller.space), str(caller.id), wish.key, content, *how])
    return ResultId.of_digest(b"plan " + text)


def _entry(run: Run, wish: WorkflowSpec, effect: Effect) -> AuditEntry:
    plan = canonical(plan_document(wish.plan))
    return AuditEntry(
        action="workflow.started",
        subject=str(run.id),
        details={
            "name": wish.plan.name,
            "mode": str(wish.mode),
            "steps": len(wish.plan.steps),
            "effect": str(effect),
            "hash": hashlib.sha256(plan).hexdigest(),
        },
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedRunSpec:
    name: str
    inputs: JsonObject = field(default_factory=dict)
    mode: Mode = Mode.DURABLE
    key: str | None = None
    label: Label | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StartSaved:
    """For the server whose tools they are: whoever comes this way has passed the gate with a call
    of the tool. `by_name` is for those who have not."""

    show_saved: ShowSaved
    check_plan: CheckPlan
    start_workflow: StartWorkflow
    catalogues: Catalogs
    gate: Gate

    async def __call__(self, caller: Principal, wish: SavedRunSpec) -> Started:
        """Raises `WorkflowNotFound`, `WorkflowOutgrown`, and what starting a plan raises."""
        return await self._start(caller, wish, await self.show_saved.called(caller, wish.name))

    async def by_name(self, caller: Principal, wish: SavedRunSpec) -> Started:
        """Raises `NotPermitted`, `Refused`, `WorkflowAsksFirst`, and what is raised above."""
        require_scope(caller, Scope.TOOLS_CALL)
        look = await self.show_saved.called(caller, wish.name)
        with self.gate.in_front(caller, Action.CALL, str(look.ref)):
            shelf = await self.catalogues.current(caller)
            tool, server = shelf.find(look.ref), shelf.server(look.ref.server)
        aim = aim_at(server, look.ref, tool.effect, tool.pin)
        decision = await self.gate(AccessRequest(caller=caller, target=aim, arguments=wish.inputs))
        if isinstance(decision, NeedsApproval):
            raise WorkflowAsksFirst(str(look.ref), decision.reason)
        return await self._start(caller, wish, look)

    async def admit(self, caller: Principal, wish: SavedRunSpec) -> JsonObject:
        """The plan, for a run that has called it and carries it out itself. Raises what is raised
        above."""
        look = await self.show_saved.called(caller, wish.name)
        await self._checked(caller, look)
        return look.saved.plan

    async def _checked(self, caller: Principal, look: SavedWorkflowDetails) -> Checked:
        """Raises `InvalidPlan`, `WorkflowOutgrown`."""
        checked = await self.check_plan(caller, look.saved.plan)
        if checked.effect.rank > look.saved.effect.rank:
            raise WorkflowOutgrown(look.saved.name, look.saved.effect, checked.effect)
        return checked

    async def _start(
        self, caller: Principal, wish: SavedRunSpec, look: SavedWorkflowDetails
    ) -> Started:
        checked = await self._checked(caller, look)
        return await self.start_workflow(
            caller,
            WorkflowSpec(
                plan=checked.plan,
                inputs=wish.inputs,
                mode=wish.mode,
                key=wish.key,
                label=wish.label,
            ),
        )


_OTHERS: Final = 2
"""Of a plan, a name and a suggestion, that are not said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunWorkflowSpec:
    plan: JsonObject | None = None
    name: str | None = None
    suggestion: SuggestionId | None = None
    intent: str | None = None
    """What a plan of the caller's own is for: learnt from if it goes well."""
    inputs: JsonObject = field(default_factory=dict)
    mode: Mode = Mode.DURABLE
    key: str | None = None
    label: Label | None = None
    accept: Sequence[str] = ()
    """Proposed references that are meant."""

    @property
    def says_what_to_run(self) -> bool:
        return self.plan is not None or self.name is not None or self.suggestion is not None


class ProposedReferences(Protocol):
    """Guesses where the arguments that a plan leaves out could come from."""

    async def as_faults(self, caller: Principal, plan: Plan) -> Sequence[PlanDiagnostic]:
        """Each says how it is accepted. None for whoever may not look for tools, or of a plan with
        tools that are not there."""
        ...


class SuggestedPlans(Protocol):
    """Plans that were suggested to a caller; whether they are run tells what they were worth."""

    async def __call__(self, caller: Principal, suggestion: SuggestionId) -> AcceptedSuggestion:
        """Raises `SuggestionNotFound`, also when its hour is over."""
        ...

    async def ran(self, caller: Principal, suggestion: SuggestionId, run: RunId) -> None:
        """As it was suggested."""
        ...

    async def ran_instead(self, caller: Principal, plan: Plan, run: RunId) -> None:
        """A plan of the caller's own; it may be a suggested one, changed. Raises nothing."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RunWorkflow:
    check_plan: CheckPlan
    propose_edges: ProposedReferences
    start_workflow: StartWorkflow
    start_saved: StartSaved
    take_suggestion: SuggestedPlans
    expressions: Expressions

    async def __call__(self, caller: Principal, wish: RunWorkflowSpec) -> Started:
        """Nothing is called before all of it is right. What a plan leaves out is not guessed: it
        is said where it could come from, and whoever wants that accepts it.

        Raises `NotPermitted`, `OneOfPlanAndName`, `SuggestionNotFound`, `InvalidPlan`, and what
        starting it raises."""
        require_scope(caller, Scope.TOOLS_CALL)
        if [wish.plan, wish.name, wish.suggestion].count(None) != _OTHERS:
            raise OneOfPlanAndName
        if wish.suggestion is not None:
            return await self._suggested(caller, wish, wish.suggestion)
        if wish.plan is None:
            return await self.start_saved.by_name(caller, _saved(wish))
        plan = await self._checked(caller, wish.plan, wish.accept)
        started = await self._started(caller, wish, plan, wish.intent)
        await self.take_suggestion.ran_instead(caller, plan, started.run.id)
        return started

    async def _suggested(
        self, caller: Principal, wish: RunWorkflowSpec, suggestion: SuggestionId
    ) -> Started:
        taken = await self.take_suggestion(caller, suggestion)
        plan = await self._checked(caller, taken.plan, wish.accept)
        started = await self._started(caller, wish, plan, taken.intent)
        await self.take_suggestion.ran(caller, suggestion, started.run.id)
        return started

    async def _started(
        self, caller: Principal, wish: RunWorkflowSpec, plan: Plan, intent: str | None
    ) -> Started:
        wanted = WorkflowSpec(
            plan=plan,
            inputs=wish.inputs,
            mode=wish.mode,
            key=wish.key,
            label=wish.label,
            intent=None if intent is None else intent.strip()[:LONGEST_INTENT] or None,
        )
        return await self.start_workflow(caller, wanted)

    async def _checked(
        self, caller: Principal, document: JsonObject, accept: Sequence[str]
    ) -> Plan:
        """Raises `InvalidPlan`."""
        plan = read_plan(document, self.expressions)
        if accept:
            plan = with_edges(plan, accept, self.expressions)
        written = plan_document(plan) if accept else document
        try:
            return (await self.check_plan(caller, written)).plan
        except InvalidPlan as error:
            if not any(fault.left_out for fault in error.diagnostics):
                raise
            proposals = await self.propose_edges.as_faults(caller, plan)
            raise InvalidPlan([*error.diagnostics, *proposals]) from error


def _saved(wish: RunWorkflowSpec) -> SavedRunSpec:
    return SavedRunSpec(
        name=wish.name or "",
        inputs=wish.inputs,
        mode=wish.mode,
        key=wish.key,
        label=wish.label,
    )


_LOOK: Final = 1.0
"""Seconds; the bus may say nothing, so it is looked so often anyway."""
_BREATH: Final = 0.5
"""Seconds; no report is made more often than this of a run that tells much."""
_MOMENT: Final = 0.01
"""Seconds; nor is it looked more often whether it is over."""
_NAMED: Final = 3
_SLOWLY: Final = 60.0
"""Seconds; while no step ends, half of the next one seems to be done after so many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitForWorkflow:
    engines: Engines
    show: ShowWorkflow
    beat: timedelta = timedelta(seconds=5)
    """A client that hears nothing gives up: so often it is told that it goes on."""

    async def __call__(
        self,
        caller: Principal,
        run: RunId,
        *,
        patience: timedelta,
        line: ClientChannel | None = None,
        for_people: bool = False,
    ) -> WorkflowReport:
        """As it is when it has ended, when it goes on only by somebody's word, or when patience
        has ended; `for_people`: also while it waits for somebody. Raises `NotPermitted`,
        `RunNotFound`, `NotAWorkflow`."""
        found, side = await self.engines.find(caller, run)
        may_look(caller, found)
        loop = asyncio.get_running_loop()
        deadline = loop.time() + patience.total_seconds()
        telling, next_look = _Telling(line, self.beat.total_seconds()), 0.0
        with side.bus.listen(caller.space, str(run)) as wakeups:
            while True:
                found = await side.book.get(caller, run)
                left = deadline - loop.time()
                if found.status.over or left <= 0:
                    break
                waits = found.status is RunStatus.WAITING
                if waits or (line is not None and loop.time() >= next_look):
                    next_look = loop.time() + _BREATH
                    report = await self.show.report(caller, found, side)
                    if report.for_people and not for_people:
                        break
                    await telling(report, loop.time())
                await _within(min(left, _LOOK), wakeups)
        return await self.show(caller, run)


@dataclass(slots=True)
class _Telling:
    """How many steps are over, when there are more; else from time to time, and a little more than
    before, as clients want it."""

    line: ClientChannel | None
    beat: float
    over: int = -1
    since: float = 0.0
    last: float = 0.0

    async def __call__(self, report: WorkflowReport, now: float) -> None:
        over = sum(step.state.over for step in report.steps)
        if over > self.over:
            self.over, self.since = over, now
        elif now - self.last < self.beat:
            return
        self.last = now
        if self.line is not None:
            waited = now - self.since
            share = waited / (waited + _SLOWLY)
            await self.line.progress(self.over + share, float(len(report.steps)), _words(report))


def _words(report: WorkflowReport) -> str | None:
    running = [step.id for step in report.steps if step.state is StepStatus.RUNNING]
    more = "" if len(running) <= _NAMED else f" and {len(running) - _NAMED} more"
    return f"running {', '.join(running[:_NAMED])}{more}" if running else None


async def _within(seconds: float, wakeups: Wakeups) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await wakeups.wait()
            await asyncio.sleep(_MOMENT)


@dataclass(frozen=True, slots=True, kw_only=True)
class LatestAnswer:
    show: ShowWorkflow

    async def __call__(self, caller: Principal, answer: ToolResult) -> ToolResult:
        """As it is, if it was the last word, or if nothing is known of its run any more. Raises
        `NotPermitted`."""
        run = unfinished(answer)
        if run is None:
            return answer
        try:
            return as_answer(await self.show(caller, run))
        except RunNotFound:
            return answer
