"""`run_workflow`, `workflow_status`, `run_program`, `feedback`: many calls in one turn of a model,
and what it thinks of those that were suggested."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from portico.gateway.core.errors import BadArguments
from portico.gateway.core.surface import FEEDBACK, RUN_PROGRAM, RUN_WORKFLOW
from portico.gateway.ports import Line
from portico.interfaces.mcp.answers import Result, refusal, text_result
from portico.interfaces.mcp.given import number, object_or_none, text, text_or_none, texts
from portico.interfaces.mcp.knock import Knock
from portico.interfaces.mcp.uses import WorkflowUses
from portico.kernel.errors import Flaw
from portico.kernel.ids import RunId
from portico.kernel.json import JsonObject
from portico.learning.core.suggest.suggestion import Suggestion
from portico.learning.core.suggest.threshold import SAYABLE, Outcome
from portico.learning.core.suggestion_words import words as suggestion_words
from portico.learning.suggest.give_feedback import about
from portico.workflows.core.errors import NotAWorkflow
from portico.workflows.core.plan import BadPlan
from portico.workflows.core.plan_learning import SuggestionId
from portico.workflows.core.plan_report import Mode, WorkflowReport, WorkflowStatus
from portico.workflows.core.programs import ProgramReport, ProgramStatus, ProgramWish
from portico.workflows.core.texts import WORKFLOW_META, facts, words
from portico.workflows.runs import RunWorkflowWish

SUGGESTION_META: Final = "portico/suggestion"
_LONGEST: Final = 50
"""Seconds that a status is waited for: clients give up after a minute."""
_FAULTS: Final = 30
_WENT_WRONG: Final = {WorkflowStatus.FAILED, WorkflowStatus.CANCELLED}


@dataclass(frozen=True, slots=True)
class WorkflowCalls:
    use: WorkflowUses

    async def __call__(self, knock: Knock, name: str, given: JsonObject, line: Line) -> Result:
        """Raises `PorticoError`."""
        if name == RUN_WORKFLOW:
            return await self._run(knock, given, line)
        if name == RUN_PROGRAM:
            return await self._program(knock, given, line)
        if name == FEEDBACK:
            return await self._feedback(knock, given)
        return await self._status(knock, name, given, line)

    async def _run(self, knock: Knock, given: JsonObject, line: Line) -> Result:
        wish = RunWorkflowWish(
            plan=object_or_none(RUN_WORKFLOW, given, "plan"),
            name=text_or_none(RUN_WORKFLOW, given, "name"),
            suggestion=_suggestion(given),
            intent=text_or_none(RUN_WORKFLOW, given, "intent"),
            inputs=object_or_none(RUN_WORKFLOW, given, "inputs") or {},
            mode=_mode(given),
            accept=texts(RUN_WORKFLOW, given, "accept"),
        )
        if wish.intent is not None and not wish.says_what_to_run:
            return _suggested(await self.use.suggest_workflow(knock.caller, wish.intent))
        try:
            started = await self.use.run_workflow(knock.caller, wish)
        except BadPlan as error:
            return _faulty(error)
        return await self._workflow(knock, started.run.id, self.use.patience, line)

    async def _program(self, knock: Knock, given: JsonObject, line: Line) -> Result:
        wish = ProgramWish(
            code=text(RUN_PROGRAM, given, "code"),
            inputs=object_or_none(RUN_PROGRAM, given, "inputs") or {},
        )
        started = await self.use.start_program(knock.caller, wish)
        return _of_program(
            await self.use.wait_for_program(
                knock.caller, started.run.id, patience=self.use.patience, line=line
            )
        )

    async def _feedback(self, knock: Knock, given: JsonObject) -> Result:
        of = about(text(FEEDBACK, given, "run"))
        said = await self.use.give_feedback(knock.caller, of, _outcome(given))
        return text_result(f"{said.id} is noted as {said.outcome}.")

    async def _status(self, knock: Knock, name: str, given: JsonObject, line: Line) -> Result:
        run = RunId.parse(text(name, given, "run"))
        seconds = min(max(number(name, given, "wait") or 0, 0), _LONGEST)
        patience = timedelta(seconds=seconds)
        try:
            return await self._workflow(knock, run, patience, line)
        except NotAWorkflow:
            return _of_program(
                await self.use.wait_for_program(knock.caller, run, patience=patience, line=line)
            )

    async def _workflow(self, knock: Knock, run: RunId, patience: timedelta, line: Line) -> Result:
        return _of(
            await self.use.wait_for_workflow(knock.caller, run, patience=patience, line=line)
        )


def _mode(given: JsonObject) -> Mode:
    told = text_or_none(RUN_WORKFLOW, given, "mode") or Mode.DURABLE
    if told not in set(Mode):
        raise BadArguments(RUN_WORKFLOW, [Flaw("mode", f"must be one of {', '.join(Mode)}")])
    return Mode(told)


def _suggestion(given: JsonObject) -> SuggestionId | None:
    told = text_or_none(RUN_WORKFLOW, given, "suggestion")
    return None if told is None else SuggestionId.parse(told)


def _outcome(given: JsonObject) -> Outcome:
    told = text(FEEDBACK, given, "outcome")
    if told not in SAYABLE:
        raise BadArguments(FEEDBACK, [Flaw("outcome", f"must be one of {', '.join(SAYABLE)}")])
    return Outcome(told)


def _suggested(suggestion: Suggestion) -> Result:
    """Nothing was run that anybody could see: a model reads it and goes on."""
    return {
        **text_result(suggestion_words(suggestion)),
        "_meta": {SUGGESTION_META: suggestion.as_json()},
    }


def _faulty(error: BadPlan) -> Result:
    """With all that is wrong with it, so that it is mended at once."""
    faults = [f"- {fault}" for fault in error.faults[:_FAULTS]]
    more = len(error.faults) - len(faults)
    rest = [f"- and {more} more"] if more else []
    told = "\n".join([f"{error.code}: {error.title}. Nothing was called.", *faults, *rest])
    return {**refusal(error), **text_result(told)}


def _of(report: WorkflowReport) -> Result:
    wrong = {"isError": True} if report.status in _WENT_WRONG else {}
    return {**text_result(words(report)), **wrong, "_meta": {WORKFLOW_META: facts(report)}}


def _of_program(report: ProgramReport) -> Result:
    wrong = {"isError": True} if report.status is ProgramStatus.FAILED else {}
    meta = {"run": report.run, "status": report.status}
    return {**text_result(report.text()), **wrong, "_meta": {WORKFLOW_META: meta}}
