"""How a program is going: its caller sees what it said, others who may see runs how its calls
stand."""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from portico.engine.core.errors import RunNotFound
from portico.engine.core.runs import Run, Step
from portico.gateway.core.call import Answer
from portico.gateway.core.errors import ResultNotFound
from portico.gateway.core.plan.report import (
    Mode,
    StepReport,
    StepStanding,
    Trouble,
    WorkflowReport,
    WorkflowStatus,
)
from portico.gateway.core.plan.standings import standings, trouble
from portico.gateway.core.program.left import Left, left_from
from portico.gateway.core.program.program import PROGRAM
from portico.gateway.core.program.report import ProgramReport, begun_in, calls_in, turns_in
from portico.gateway.core.program.turn import Turn
from portico.gateway.core.result_pages import text_of
from portico.gateway.keep_result import KeepResult
from portico.gateway.workflows.acting import asker_of
from portico.gateway.workflows.called_with import CalledWith
from portico.gateway.workflows.engines import Engines, EngineSide
from portico.gateway.workflows.show_workflow import may_look, status_of
from portico.gateway.workflows.told_values import ToldValues, without_values
from portico.guard.ports import Contexts
from portico.kernel.ids import RunId
from portico.kernel.label import PUBLIC, Label, join
from portico.kernel.principal import Principal


@dataclass(slots=True)
class _Said:
    """What was read of it, and what that makes of whoever reads it."""

    printed: str = ""
    last: Left = field(default_factory=Left)
    label: Label = PUBLIC
    untrusted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowProgram:
    engines: Engines
    uncertain: Callable[[Principal, RunId, Sequence[Step]], Awaitable[frozenset[str]]]
    """Of the requests in a journal, those of which nobody knows whether they were carried out."""
    called_with: CalledWith
    contexts: Contexts
    keep_result: KeepResult

    async def __call__(self, caller: Principal, run: RunId) -> ProgramReport:
        """Whoever is told what it said takes it into their task.

        Raises `NotPermitted`, `RunNotFound`, `ContextNotFound`.
        """
        found, side = await self._found(caller, run)
        mine = may_look(caller, found)
        journal = await side.book.steps(caller, run)
        report = await self._standing(caller, found, side, journal)
        if not mine:
            return replace(report, whole=without_values(report.whole))
        values = ToldValues(caller, found.label, side.outputs(), self.contexts)
        whole = await values.with_words(report.whole)
        steps = await self.called_with(caller, found, journal, whole.steps)
        if any(step.called_with for step in steps):  # which may say what the run has read
            await self.contexts.rise(caller, found.label, untrusted=True)
        report = replace(report, whole=replace(whole, steps=steps))
        said = await self._said(caller, side, turns_in(journal))
        if side.mode is Mode.INLINE:  # what is kept in memory does not know how secret it is
            said.label, said.untrusted = found.label, found.input.get("asker") != asker_of(caller)
        return await self._with_words(caller, report, said)

    async def standing(self, caller: Principal, run: RunId) -> ProgramReport:
        """Without a word of what it said. Raises `NotPermitted`, `RunNotFound`."""
        found, side = await self._found(caller, run)
        may_look(caller, found)
        return await self._standing(caller, found, side, await side.book.steps(caller, run))

    async def _found(self, caller: Principal, run: RunId) -> tuple[Run, EngineSide]:
        found, side = await self.engines.find(caller, run)
        if found.kind != PROGRAM:
            raise RunNotFound(str(run))
        return found, side

    async def _standing(
        self, caller: Principal, run: Run, side: EngineSide, journal: Sequence[Step]
    ) -> ProgramReport:
        turns = turns_in(journal)
        last = turns[-1] if turns else None
        unknown = await self.uncertain(caller, run.id, journal)
        whole = WorkflowReport(
            run=str(run.id),
            status=status_of(run),
            mode=side.mode,
            principal=str(run.principal),
            label=str(run.label),
            steps=_since(standings(calls_in(turns), run, journal, unknown), begun_in(journal)),
            created_at=run.created_at,
            started_at=run.started_at,
            finished_at=run.finished_at,
            error=None if run.failure is None else trouble(run.failure),
            mine=run.principal == caller.id,
        )
        if whole.status is WorkflowStatus.RUNNING and whole.for_people:
            whole = replace(whole, status=WorkflowStatus.WAITING)
        return ProgramReport(
            whole=whole,
            end=last.end if last is not None and last.over else None,
            turns=len(turns),
            counted=0.0 if last is None else last.whole,
        )

    async def _with_words(
        self, caller: Principal, report: ProgramReport, said: _Said
    ) -> ProgramReport:
        """A task that has made the calls itself has taken in what they gave."""
        await self.contexts.rise(caller, said.label, untrusted=said.untrusted)
        text = _text(said)
        answer = Answer([{"type": "text", "text": text}])
        shown, kept = await self.keep_result(
            caller, answer, label=said.label, untrusted=said.untrusted
        )
        long = kept is not None
        whole = replace(
            report.whole,
            output=None if long else said.last.result,
            output_handle=str(kept) if long else None,
            output_size=len(text),
            error=_error(report.whole, said.last),
        )
        printed = said.printed[: self.keep_result.page_size]
        return replace(report, whole=whole, printed=printed, shown=text_of(shown))

    async def _said(self, caller: Principal, side: EngineSide, turns: Sequence[Turn]) -> _Said:
        """By its last turn alone if it is over: that one has all that was printed."""
        said, outputs = _Said(), side.outputs()
        over = turns[-1:] if turns and turns[-1].over else [turn for turn in turns if turn.printed]
        for turn in over:
            try:
                read = await outputs.read(caller, turn.handle)
            except ResultNotFound:
                continue
            said.last = left_from(read.content)
            said.printed += said.last.printed
            said.label = join([said.label, read.label])
            said.untrusted = said.untrusted or read.untrusted
        return said


def _since(steps: Sequence[StepReport], begun: Mapping[str, datetime]) -> Sequence[StepReport]:
    """Of a call that is under way the journal does not say yet when it was begun."""
    return [
        replace(step, started_at=begun.get(step.id))
        if step.state is StepStanding.RUNNING and step.started_at is None
        else step
        for step in steps
    ]


def _text(said: _Said) -> str:
    """What it printed, and below it what its last line was worth."""
    result = said.last.result
    told = [] if result is None else [json.dumps(result, ensure_ascii=False)]
    return "\n".join([*([said.printed.rstrip("\n")] if said.printed else []), *told])


def _error(report: WorkflowReport, last: Left) -> Trouble | None:
    if report.error is None or last.error is None:
        return report.error
    return replace(report.error, message=last.error)
