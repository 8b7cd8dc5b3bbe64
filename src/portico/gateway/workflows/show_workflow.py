"""How a plan is going: its caller sees what it gave, and others how its steps stand."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from portico.engine.core.runs import Run, RunStatus, Step
from portico.gateway.core.call import claim_of
from portico.gateway.core.plan.outline import critical_steps, outline_from
from portico.gateway.core.plan.report import (
    StepReport,
    StepStanding,
    WorkflowReport,
    WorkflowStatus,
)
from portico.gateway.core.plan.standings import standings, trouble
from portico.gateway.core.plan.trying_again import unread_requests
from portico.gateway.ports import CallHistory
from portico.gateway.workflows.called_with import CalledWith
from portico.gateway.workflows.engines import Engines, EngineSide
from portico.gateway.workflows.errors import NotAWorkflow
from portico.gateway.workflows.run_plan import WORKFLOW
from portico.gateway.workflows.told_values import ToldValues, without_values
from portico.guard.approvals import Approvals
from portico.guard.core.approvals import Approval, Outcome, Status
from portico.guard.core.principals import Scope
from portico.guard.core.rules import on_lists
from portico.guard.ports import Contexts
from portico.guard.principals import permit
from portico.kernel.ids import RunId
from portico.kernel.json import JsonValue
from portico.kernel.principal import Principal

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
        values = ToldValues(caller, found.label, side.outputs(), self.contexts)
        report = await self._with_output(await values.with_words(report), values)
        if any(step.state is StepStanding.UNCERTAIN for step in report.steps):
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
            if step.state is StepStanding.SKIPPED
            for name in _calls(step)
            if name not in noted
        )
        lost: set[str] = set()
        while lot := [*islice(calls, _LOT)]:
            claims = {claim_of(run.id, name, run.leg): step for name, step in lot}
            begun = await self.history.begun(caller, [*claims])
            lost |= {step for claim, step in claims.items() if claim.id in begun}
        return [
            replace(step, state=StepStanding.UNCERTAIN, why=_LOST) if step.id in lost else step
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
            await self.contexts.rise(caller, run.label, untrusted=True)
        return replace(report, steps=steps)

    async def _with_output(self, report: WorkflowReport, values: ToldValues) -> WorkflowReport:
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
    if step.state is not StepStanding.WAITING or asked is None or step.items is not None:
        return step
    if asked.status is not Status.APPROVED:
        return step
    return replace(step, state=StepStanding.RUNNING, why="it is approved, and being made")


def may_look(caller: Principal, run: Run) -> bool:
    """Whether it is the caller's own, of which they see all. Raises `NotPermitted`."""
    if run.principal == caller.id and caller.may(Scope.TOOLS_CALL):
        return True
    permit(caller, Scope.RUNS_READ)
    return False


def status_of(run: Run) -> WorkflowStatus:
    if run.status is RunStatus.QUEUED and run.started_at is not None:
        return WorkflowStatus.RUNNING
    return _STATUS[run.status]


def _told_status(run: Run, told: JsonValue) -> WorkflowStatus:
    if run.status is RunStatus.DONE and told == WorkflowStatus.PARTIAL:
        return WorkflowStatus.PARTIAL
    return status_of(run)
