"""Runs of workflows: list and show."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from typing import Final

from portico.engine.core.errors import RunNotFound
from portico.engine.core.runs import Run, RunPosition, RunStatus, Step
from portico.gateway.core.calls import ResultId, claim_of
from portico.gateway.core.errors import ResultNotFound
from portico.gateway.ports import CallHistory
from portico.guard.approvals import Approvals
from portico.guard.core.approvals import Approval, Outcome, Status
from portico.guard.core.principals import Scope
from portico.guard.core.rules import on_lists
from portico.guard.ports import Contexts
from portico.guard.principals import require_scope
from portico.kernel.ids import RunId
from portico.kernel.json import JsonValue
from portico.kernel.label import Label, join
from portico.kernel.principal import Principal
from portico.workflows.core.errors import NotAWorkflow
from portico.workflows.core.plan_progress import unread_requests
from portico.workflows.core.plan_report import (
    StepReport,
    StepStatus,
    Trouble,
    WorkflowReport,
    WorkflowStatus,
    critical_steps,
    kept_words,
    outline_from,
    spoken,
    standings,
    trouble,
    unspoken,
)
from portico.workflows.core.programs import PROGRAM, calls_in, turns_in
from portico.workflows.execution import WORKFLOW, Engines, EngineSide
from portico.workflows.run_context import Outputs
from portico.workflows.step_calls import CalledWith


@dataclass(frozen=True, slots=True)
class WorkflowLine:
    run: Run
    name: str | None
    steps: int
    over: int
    """Steps that are over, however they ended."""
    done: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ListWorkflows:
    engines: Engines

    async def __call__(
        self,
        caller: Principal,
        *,
        statuses: Sequence[RunStatus] = (),
        before: RunPosition | None = None,
        limit: int,
    ) -> Sequence[WorkflowLine]:
        """Newest first, of the durable ones, programs among them. Raises `NotPermitted`."""
        everybodys = caller.may(Scope.RUNS_READ)
        if not everybodys:
            require_scope(caller, Scope.TOOLS_CALL)
        found = [
            run
            for kind in (WORKFLOW, PROGRAM)
            for run in await self.engines.durable.book.page(
                caller,
                statuses=statuses,
                kind=kind,
                before=before,
                limit=limit,
                of=None if everybodys else caller.id,
            )
        ]
        found.sort(key=lambda run: (run.created_at, run.id), reverse=True)
        return [await self._line(caller, run) for run in found[:limit]]

    async def _line(self, caller: Principal, run: Run) -> WorkflowLine:
        name = run.input.get("name")
        journal = await self.engines.durable.book.steps(caller, run.id)
        program = run.kind == PROGRAM
        outline = calls_in(turns_in(journal)) if program else outline_from(run.input)
        steps = standings(outline, run, journal)
        over = sum(step.state.over for step in steps)
        named = name if isinstance(name, str) else None
        done = sum(step.state is StepStatus.DONE for step in steps)
        return WorkflowLine(run, named, len(outline), over, done)


# What the caller of a run is told of it: what it gave, and in which words something failed. Their
# task has read it then.

_MOST_WORDS: Final = 50
"""Steps of a plan whose failures are told in their own words; of the others, where those are."""


@dataclass(frozen=True, slots=True)
class CallerValues:
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
        await self.contexts.raise_taint(self.caller, label, untrusted=read.untrusted)
        return read.content

    async def of_step(self, step: StepReport) -> StepReport:
        if step.handle is None or step.state is not StepStatus.DONE:
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


_STATUS = {
    RunStatus.QUEUED: WorkflowStatus.QUEUED,
    RunStatus.RUNNING: WorkflowStatus.RUNNING,
    RunStatus.WAITING: WorkflowStatus.WAITING,
    RunStatus.DONE: WorkflowStatus.DONE,
    RunStatus.FAILED: WorkflowStatus.FAILED,
    RunStatus.STUCK: WorkflowStatus.FAILED,
    RunStatus.CANCELLED: WorkflowStatus.CANCELLED,
}
_CUT_SHORT = frozenset({RunStatus.CANCELLED, RunStatus.STUCK})
_LOT = 1_000
"""Calls that are asked for at a time."""
_LOST = "it was under way when the run was ended, and nobody knows whether it was done"


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowWorkflow:
    engines: Engines
    approvals: Approvals
    contexts: Contexts
    history: CallHistory
    output_characters: int = 20_000
    """An output that is longer is told by where it is kept."""

    async def __call__(
        self, caller: Principal, run: RunId, *, outputs: bool = False
    ) -> WorkflowReport:
        """`outputs`: with what each step gave. Whoever is told a value takes it into their task.

        Raises `NotPermitted`, `RunNotFound`, `NotAWorkflow`, `ContextNotFound`.
        """
        found, side = await self.engines.find(caller, run)
        may_look(caller, found)
        journal = await side.book.steps(caller, run)
        return await self._told(caller, found, side, journal, outputs=outputs)

    async def of_read(self, caller: Principal, run: Run, journal: Sequence[Step]) -> WorkflowReport:
        """Of one on the durable engine, for whoever has read it and its journal anyway: those of a
        thousand steps are large. Raises as above."""
        return await self._told(caller, run, self.engines.durable, journal)

    async def _told(
        self,
        caller: Principal,
        found: Run,
        side: EngineSide,
        journal: Sequence[Step],
        *,
        outputs: bool = False,
    ) -> WorkflowReport:
        mine = may_look(caller, found)
        report = await self._reported(caller, found, side, journal)
        if not mine or not _may_use_all(caller, report):
            return without_values(report)
        values = CallerValues(caller, found.label, side.outputs(), self.contexts)
        report = await self._with_output(await values.with_words(report), values)
        if any(step.state is StepStatus.UNCERTAIN for step in report.steps):
            report = await self._with_unknown(caller, found, journal, report)
        if not outputs:
            return report
        return replace(report, steps=[await values.of_step(step) for step in report.steps])

    async def report(self, caller: Principal, run: Run, side: EngineSide) -> WorkflowReport:
        """Without a single value. Raises `NotAWorkflow`."""
        return await self._reported(caller, run, side, await side.book.steps(caller, run.id))

    async def _reported(
        self, caller: Principal, run: Run, side: EngineSide, journal: Sequence[Step]
    ) -> WorkflowReport:
        if run.kind != WORKFLOW:
            raise NotAWorkflow(str(run.id), run.kind)
        outline = outline_from(run.input)
        requests = await self._requests(caller, run.id, journal)
        unknown = [each for each in requests if requests[each].outcome is Outcome.UNCERTAIN]
        steps = [
            _being_made(step, requests)
            for step in standings(outline, run, journal, frozenset(unknown))
        ]
        if run.status in _CUT_SHORT:
            steps = await self._cut_short(caller, run, journal, steps)
        seconds = {step.id: step.seconds or 0.0 for step in steps if step.started_at}
        result = run.result if isinstance(run.result, dict) else {}
        output, name = result.get("output"), run.input.get("name")
        report = WorkflowReport(
            run=str(run.id),
            name=name if isinstance(name, str) else None,
            status=_told_status(run, result.get("status")),
            mode=side.mode,
            principal=str(run.principal),
            label=str(run.label),
            steps=steps,
            created_at=run.created_at,
            started_at=run.started_at,
            finished_at=run.finished_at,
            forked_from=None if run.forked_from is None else str(run.forked_from),
            critical_path=critical_steps(outline, seconds),
            output_handle=output.get("result") if isinstance(output, dict) else None,  # ty: ignore[invalid-argument-type] # as it was noted
            output_size=output.get("size") if isinstance(output, dict) else None,  # ty: ignore[invalid-argument-type] # likewise
            error=None if run.failure is None else trouble(run.failure),
            mine=run.principal == caller.id,
        )
        waits = report.status is WorkflowStatus.RUNNING and report.for_people
        return replace(report, status=WorkflowStatus.WAITING) if waits else report

    async def _cut_short(
        self, caller: Principal, run: Run, journal: Sequence[Step], steps: Sequence[StepReport]
    ) -> list[StepReport]:
        """A call that was under way when its run was ended is not said to have been left out."""
        noted = {step.name for step in journal}
        calls = (
            (name, step.id)
            for step in steps
            if step.state is StepStatus.SKIPPED
            for name in _calls(step)
            if name not in noted
        )
        lost: set[str] = set()
        while lot := [*islice(calls, _LOT)]:
            claims = {claim_of(run.id, name, run.leg): step for name, step in lot}
            begun = await self.history.find_started(caller, [*claims])
            lost |= {step for claim, step in claims.items() if claim.id in begun}
        return [
            replace(step, state=StepStatus.UNCERTAIN, why=_LOST) if step.id in lost else step
            for step in steps
        ]

    async def uncertain(
        self, caller: Principal, run: RunId, journal: Sequence[Step]
    ) -> frozenset[str]:
        """Of the requests that somebody waits for, those of which nobody knows."""
        found = await self._requests(caller, run, journal)
        return frozenset(
            [asked for asked, each in found.items() if each.outcome is Outcome.UNCERTAIN]
        )

    async def _requests(
        self, caller: Principal, run: RunId, journal: Sequence[Step]
    ) -> Mapping[str, Approval]:
        """Those that are waited for, by the number that was asked under: as they stand, or the
        one that was approved in their place."""
        asked = unread_requests(journal).values()
        if not asked:
            return {}
        found = {str(each.id): each for each in await self.approvals.of_run(caller, run)}
        return {each: _last(found[each], found) for each in asked if each in found}

    async def _with_unknown(
        self, caller: Principal, run: Run, journal: Sequence[Step], report: WorkflowReport
    ) -> WorkflowReport:
        """What such calls were given may say what the run has read."""
        called_with = CalledWith(history=self.history)
        steps = await called_with(caller, run, journal, report.steps)
        if any(step.called_with for step in steps):
            await self.contexts.raise_taint(caller, run.label, untrusted=True)
        return replace(report, steps=steps)

    async def _with_output(self, report: WorkflowReport, values: CallerValues) -> WorkflowReport:
        size, handle = report.output_size, report.output_handle
        if handle is None or size is None or size > self.output_characters:
            return report
        return replace(report, output=await values(handle))


def _may_use_all(caller: Principal, report: WorkflowReport) -> bool:
    """Another key of theirs may have been given what this one is not."""
    return all(on_lists(caller, step.tool) for step in report.steps)


def _last(asked: Approval, found: Mapping[str, Approval]) -> Approval:
    while (after := found.get(str(asked.replaced_by))) is not None:
        asked = after
    return asked


def _calls(step: StepReport) -> Sequence[str]:
    if step.items is None:
        return [step.id]
    return [f"{step.id}[{number}]" for number in range(step.items.all)]


def _being_made(step: StepReport, requests: Mapping[str, Approval]) -> StepReport:
    """Somebody has said yes to it already."""
    asked = None if step.approval is None else requests.get(step.approval)
    if step.state is not StepStatus.WAITING or asked is None or step.items is not None:
        return step
    if asked.status is not Status.APPROVED:
        return step
    return replace(step, state=StepStatus.RUNNING, why="it is approved, and being made")


def may_look(caller: Principal, run: Run) -> bool:
    """Whether it is the caller's own, of which they see all. Raises `NotPermitted`."""
    if run.principal == caller.id and caller.may(Scope.TOOLS_CALL):
        return True
    require_scope(caller, Scope.RUNS_READ)
    return False


def status_of(run: Run) -> WorkflowStatus:
    if run.status is RunStatus.QUEUED and run.started_at is not None:
        return WorkflowStatus.RUNNING
    return _STATUS[run.status]


def _told_status(run: Run, told: JsonValue) -> WorkflowStatus:
    if run.status is RunStatus.DONE and told == WorkflowStatus.PARTIAL:
        return WorkflowStatus.PARTIAL
    return status_of(run)


_LATEST: Final = 200
"""Runs among which those of one task are looked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnStep:
    name: str
    state: str
    tool: str | None = None
    seconds: float | None = None
    approval: str | None = None
    """The request for approval that it waits for, or waited for."""
    error: str | None = None
    """A code."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnRun:
    id: RunId
    kind: str
    status: str
    created_at: datetime
    finished_at: datetime | None
    name: str | None = None
    error: str | None = None
    """A code."""
    output: str | None = None
    """Where what it gave is kept, if it is and it was a plan."""
    steps: Sequence[OwnStep] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryOwnRuns:
    engines: Engines
    show: ShowWorkflow

    async def latest(self, caller: Principal, *, limit: int) -> Sequence[OwnRun]:
        """Those that are kept in the database, newest first, without their steps.
        Raises `NotPermitted`."""
        require_scope(caller, Scope.TOOLS_CALL)
        found = await self.engines.durable.book.page(
            caller,
            statuses=(),
            kind=None,
            before=None,
            limit=_LATEST if caller.shared else limit,
            of=caller.id,
        )
        return [_told(run) for run in found if _own(caller, run)][:limit]

    async def one(self, caller: Principal, run: RunId) -> OwnRun:
        """That of another does not exist. Raises `NotPermitted`, `RunNotFound`."""
        require_scope(caller, Scope.TOOLS_CALL)
        found, side = await self.engines.find(caller, run)
        if not _own(caller, found):
            raise RunNotFound(str(run))
        if found.kind == WORKFLOW:
            return await self._plan(caller, found, side)
        steps = await side.book.steps(caller, run)
        return _told(found, steps=[_step(step) for step in steps])

    async def _plan(self, caller: Principal, run: Run, side: EngineSide) -> OwnRun:
        report = await self.show.report(caller, run, side)
        return _told(
            run,
            status=str(report.status),
            name=report.name,
            output=report.output_handle,
            steps=[_step_of_plan(step) for step in report.steps],
        )


def _own(caller: Principal, run: Run) -> bool:
    """Of an agent that acts for several people, what was begun in the task that it is at."""
    if run.principal != caller.id:
        return False
    asker = run.input.get("asker")
    at = asker.get("context") if isinstance(asker, Mapping) else None
    return not caller.shared or at == str(caller.context)


def _told(
    run: Run,
    *,
    status: str | None = None,
    name: str | None = None,
    output: str | None = None,
    steps: Sequence[OwnStep] = (),
) -> OwnRun:
    return OwnRun(
        id=run.id,
        kind=run.kind,
        status=status or str(run.status),
        created_at=run.created_at,
        finished_at=run.finished_at,
        name=name,
        error=None if run.failure is None else run.failure.code or run.failure.type,
        output=output,
        steps=steps,
    )


def _step(step: Step) -> OwnStep:
    took = None if step.finished_at is None else step.finished_at - step.started_at
    return OwnStep(
        name=step.name,
        state=str(step.state),
        seconds=None if took is None else took.total_seconds(),
        error=None if step.failure is None else step.failure.code or step.failure.type,
    )


def _step_of_plan(step: StepReport) -> OwnStep:
    return OwnStep(
        name=step.id,
        state=str(step.state),
        tool=step.tool,
        seconds=step.seconds,
        approval=step.approval,
        error=None if step.error is None else step.error.code,
    )
