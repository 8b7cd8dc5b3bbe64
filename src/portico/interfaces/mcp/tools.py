"""The tools of the gateway's endpoint: search, call, workflows and programs."""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from hashlib import sha256
from typing import Final

from portico.gateway.core.calls import ClientCapability, Question, ResultId, Verb
from portico.gateway.core.catalog_snapshot import ToolRef
from portico.gateway.core.errors import (
    InputRefused,
    InputUnsupported,
    InvalidArguments,
    LoginNeeded,
    ToolNotFound,
)
from portico.gateway.core.surface import (
    DESCRIBE,
    FEEDBACK,
    READ_RESULT,
    RUN_PROGRAM,
    RUN_WORKFLOW,
    SEARCH,
    TAKES,
    WORKFLOW_STATUS,
)
from portico.gateway.ports import ClientChannel
from portico.guard.core.errors import ApprovalPending
from portico.interfaces.mcp.request_context import GatewayUses, McpRequestContext, WorkflowUses
from portico.interfaces.mcp.tool_values import (
    Result,
    login,
    pending,
    refusal,
    result_of,
    text_result,
)
from portico.kernel.errors import FieldError
from portico.kernel.ids import ApprovalId, RunId
from portico.kernel.json import JsonObject, JsonValue
from portico.learning.core.intents import SAYABLE, Outcome
from portico.learning.core.suggestions import Suggestion
from portico.learning.core.suggestions import words as suggestion_words
from portico.learning.suggestions import about
from portico.workflows.core.errors import NotAWorkflow
from portico.workflows.core.plan import InvalidPlan
from portico.workflows.core.plan_learning import SuggestionId
from portico.workflows.core.plan_report import Mode, WorkflowReport, WorkflowStatus
from portico.workflows.core.programs import ProgramReport, ProgramSpec, ProgramStatus
from portico.workflows.core.texts import WORKFLOW_META, facts, words
from portico.workflows.runs import RunWorkflowSpec


def see_that_it_takes(tool: str, given: JsonObject, takes: Sequence[str]) -> None:
    """What nobody reads would be lost without a word: whoever says `query` would be told that
    nothing is there. Raises `InvalidArguments`."""
    strange = [name for name in given if name not in takes and not name.startswith("_")]
    if strange:
        why = f"is not something that it takes, which is {', '.join(takes)}"
        raise InvalidArguments(tool, [FieldError(name, why) for name in strange])


def text(tool: str, given: JsonObject, field: str) -> str:
    value = given.get(field)
    if not isinstance(value, str):
        raise InvalidArguments(tool, [FieldError(field, "must be a text")])
    return value


def text_or_none(tool: str, given: JsonObject, field: str) -> str | None:
    return None if given.get(field) is None else text(tool, given, field)


def texts(tool: str, given: JsonObject, field: str) -> Sequence[str]:
    """Also one text alone, as some models send it."""
    value = given.get(field, ())
    if isinstance(value, str):
        return [value]
    found = [each for each in value if isinstance(each, str)] if isinstance(value, Sequence) else []
    if not isinstance(value, Sequence) or len(found) != len(value):
        raise InvalidArguments(tool, [FieldError(field, "must be a list of texts")])
    return found


def number(tool: str, given: JsonObject, field: str) -> int | None:
    value = given.get(field)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    raise InvalidArguments(tool, [FieldError(field, "must be a whole number")])


def object_or_none(tool: str, given: JsonObject, field: str) -> JsonObject | None:
    """Also written out as a text, as some models send it."""
    value: JsonValue = given.get(field)
    if isinstance(value, str):
        with suppress(ValueError):
            value = json.loads(value or "{}")
    if value is not None and not isinstance(value, Mapping):
        raise InvalidArguments(tool, [FieldError(field, "must be an object")])
    return value


SUGGESTION_META: Final = "portico/suggestion"
_LONGEST: Final = 50
"""Seconds that a status is waited for: clients give up after a minute."""
_FAULTS: Final = 30
_WENT_WRONG: Final = {WorkflowStatus.FAILED, WorkflowStatus.CANCELLED}


@dataclass(frozen=True, slots=True)
class WorkflowCalls:
    use: WorkflowUses

    async def __call__(
        self, knock: McpRequestContext, name: str, given: JsonObject, line: ClientChannel
    ) -> Result:
        """Raises `PorticoError`."""
        if name == RUN_WORKFLOW:
            return await self._run(knock, given, line)
        if name == RUN_PROGRAM:
            return await self._program(knock, given, line)
        if name == FEEDBACK:
            return await self._feedback(knock, given)
        return await self._status(knock, name, given, line)

    async def _run(
        self, knock: McpRequestContext, given: JsonObject, line: ClientChannel
    ) -> Result:
        wish = RunWorkflowSpec(
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
        except InvalidPlan as error:
            return _faulty(error)
        return await self._workflow(knock, started.run.id, self.use.wait_timeout, line)

    async def _program(
        self, knock: McpRequestContext, given: JsonObject, line: ClientChannel
    ) -> Result:
        wish = ProgramSpec(
            code=text(RUN_PROGRAM, given, "code"),
            inputs=object_or_none(RUN_PROGRAM, given, "inputs") or {},
        )
        started = await self.use.start_program(knock.caller, wish)
        return _of_program(
            await self.use.wait_for_program(
                knock.caller, started.run.id, patience=self.use.wait_timeout, line=line
            )
        )

    async def _feedback(self, knock: McpRequestContext, given: JsonObject) -> Result:
        of = about(text(FEEDBACK, given, "run"))
        said = await self.use.give_feedback(knock.caller, of, _outcome(given))
        return text_result(f"{said.id} is noted as {said.outcome}.")

    async def _status(
        self, knock: McpRequestContext, name: str, given: JsonObject, line: ClientChannel
    ) -> Result:
        run = RunId.parse(text(name, given, "run"))
        seconds = min(max(number(name, given, "wait") or 0, 0), _LONGEST)
        patience = timedelta(seconds=seconds)
        try:
            return await self._workflow(knock, run, patience, line)
        except NotAWorkflow:
            return _of_program(
                await self.use.wait_for_program(knock.caller, run, patience=patience, line=line)
            )

    async def _workflow(
        self, knock: McpRequestContext, run: RunId, patience: timedelta, line: ClientChannel
    ) -> Result:
        return _of(
            await self.use.wait_for_workflow(knock.caller, run, patience=patience, line=line)
        )


def _mode(given: JsonObject) -> Mode:
    told = text_or_none(RUN_WORKFLOW, given, "mode") or Mode.DURABLE
    if told not in set(Mode):
        raise InvalidArguments(
            RUN_WORKFLOW, [FieldError("mode", f"must be one of {', '.join(Mode)}")]
        )
    return Mode(told)


def _suggestion(given: JsonObject) -> SuggestionId | None:
    told = text_or_none(RUN_WORKFLOW, given, "suggestion")
    return None if told is None else SuggestionId.parse(told)


def _outcome(given: JsonObject) -> Outcome:
    told = text(FEEDBACK, given, "outcome")
    if told not in SAYABLE:
        raise InvalidArguments(
            FEEDBACK, [FieldError("outcome", f"must be one of {', '.join(SAYABLE)}")]
        )
    return Outcome(told)


def _suggested(suggestion: Suggestion) -> Result:
    """Nothing was run that anybody could see: a model reads it and goes on."""
    return {
        **text_result(suggestion_words(suggestion)),
        "_meta": {SUGGESTION_META: suggestion.as_json()},
    }


def _faulty(error: InvalidPlan) -> Result:
    """With all that is wrong with it, so that it is mended at once."""
    faults = [f"- {fault}" for fault in error.diagnostics[:_FAULTS]]
    more = len(error.diagnostics) - len(faults)
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


_HANDLE: Final = f"{ApprovalId.prefix}_"
_VERBS: Final = frozenset(Verb)
_LOOKS: Final = frozenset({SEARCH, DESCRIBE, READ_RESULT})
_RUNS: Final = frozenset({RUN_WORKFLOW, WORKFLOW_STATUS, RUN_PROGRAM, FEEDBACK})


@dataclass(frozen=True, slots=True)
class Calls:
    use: GatewayUses

    async def __call__(
        self,
        knock: McpRequestContext,
        name: str,
        given: JsonObject,
        line: ClientChannel,
        *,
        modern: bool,
    ) -> Result:
        """Raises `PorticoError`."""
        try:
            return await self._answered(knock, name, given, line, modern=modern)
        except ApprovalPending as error:
            promised = await self._promised(knock, name)
            return pending(error, by_handle=knock.server is None, promised=promised)
        except LoginNeeded as error:
            await _show_link(line, error)
            return login(error, promised=await self._promised(knock, name))

    async def _answered(
        self,
        knock: McpRequestContext,
        name: str,
        given: JsonObject,
        line: ClientChannel,
        *,
        modern: bool,
    ) -> Result:
        if knock.server is not None:
            ref = ToolRef(knock.server, name)
            called = await self.use.call_tool(knock.caller, ref, given, line=line, whole=True)
            return result_of(called.answer, modern=modern)
        if self.is_own(name):
            see_that_it_takes(name, given, TAKES[name])
        if name in _VERBS:
            ref = ToolRef.parse(text(name, given, "tool"))
            arguments = object_or_none(name, given, "arguments") or {}
            called = await self.use.call_tool(
                knock.caller, ref, arguments, verb=Verb(name), line=line
            )
            return result_of(called.answer, modern=modern)
        if name == READ_RESULT and text(name, given, "result").startswith(_HANDLE):
            approval = ApprovalId.parse(text(name, given, "result"))
            called = await self.use.read_approved(knock.caller, approval, line=line)
            return result_of(called.answer, modern=modern)
        if name in _RUNS:
            return await WorkflowCalls(self.use.workflows)(knock, name, given, line)
        if name in _LOOKS:
            return text_result(await self._looked(knock, name, given))
        return await self._hot(knock, name, given, line, modern=modern)

    @staticmethod
    def is_own(name: str) -> bool:
        return name in _VERBS | _LOOKS | _RUNS

    async def _looked(self, knock: McpRequestContext, name: str, given: JsonObject) -> str:
        if name == READ_RESULT:
            result = ResultId.parse(text(name, given, "result"))
            page = number(name, given, "page") or 1
            return (await self.use.read_result(knock.caller, result, page=page)).text
        budget = number(name, given, "budget")
        if name == SEARCH:
            queries = texts(name, given, "queries")
            return (await self.use.find_tools(knock.caller, queries, budget=budget)).text
        names = texts(name, given, "tools")
        return (await self.use.describe_tools(knock.caller, names, budget=budget)).text

    async def _promised(self, knock: McpRequestContext, name: str) -> bool:
        """Whether what the tool gives was said to have a form."""
        if knock.server is None:
            return False
        listed = (await self.use.list_server_tools(knock.caller, knock.server)).tools
        return any(tool["name"] == name and tool.get("outputSchema") for tool in listed)

    async def _hot(
        self,
        knock: McpRequestContext,
        name: str,
        given: JsonObject,
        line: ClientChannel,
        *,
        modern: bool,
    ) -> Result:
        surface = await self.use.show_surface(knock.caller)
        ref = surface.hot_ref(name)
        if ref is None:
            raise ToolNotFound(name)
        called = await self.use.call_tool(knock.caller, ref, given, line=line)
        return result_of(called.answer, modern=modern)


async def _show_link(line: ClientChannel, error: LoginNeeded) -> None:
    """By the client itself, where it can: then no model has a part in it. Whether they open it is
    seen when they call again."""
    if ClientCapability.ELICITATION not in line.able:
        return
    params: JsonObject = {
        "mode": "url",
        "url": error.login_url,
        "message": f"Log in to {error.server}, so that Portico can use it for you.",
        "elicitationId": sha256(error.login_url.encode()).hexdigest()[:32],
    }
    with suppress(InputUnsupported, InputRefused):
        await line.ask(Question(ClientCapability.ELICITATION, params))
