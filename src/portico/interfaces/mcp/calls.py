"""`tools/call`: each name is one use case; what a model sends is read leniently."""

from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from portico.gateway.core.calls import Question, ResultId, Verb, Wanted
from portico.gateway.core.catalog_snapshot import ToolRef
from portico.gateway.core.errors import (
    InputRefused,
    InputUnsupported,
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
from portico.gateway.ports import Line
from portico.guard.core.errors import ApprovalPending
from portico.interfaces.mcp.answers import Result, login, pending, result_of, text_result
from portico.interfaces.mcp.given import number, object_or_none, see_that_it_takes, text, texts
from portico.interfaces.mcp.knock import Knock
from portico.interfaces.mcp.uses import GatewayUses
from portico.interfaces.mcp.workflows import WorkflowCalls
from portico.kernel.ids import ApprovalId
from portico.kernel.json import JsonObject

_HANDLE: Final = f"{ApprovalId.prefix}_"
_VERBS: Final = frozenset(Verb)
_LOOKS: Final = frozenset({SEARCH, DESCRIBE, READ_RESULT})
_RUNS: Final = frozenset({RUN_WORKFLOW, WORKFLOW_STATUS, RUN_PROGRAM, FEEDBACK})


@dataclass(frozen=True, slots=True)
class Calls:
    use: GatewayUses

    async def __call__(
        self, knock: Knock, name: str, given: JsonObject, line: Line, *, modern: bool
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
        self, knock: Knock, name: str, given: JsonObject, line: Line, *, modern: bool
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

    async def _looked(self, knock: Knock, name: str, given: JsonObject) -> str:
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

    async def _promised(self, knock: Knock, name: str) -> bool:
        """Whether what the tool gives was said to have a form."""
        if knock.server is None:
            return False
        listed = (await self.use.list_server_tools(knock.caller, knock.server)).tools
        return any(tool["name"] == name and tool.get("outputSchema") for tool in listed)

    async def _hot(
        self, knock: Knock, name: str, given: JsonObject, line: Line, *, modern: bool
    ) -> Result:
        surface = await self.use.show_surface(knock.caller)
        ref = surface.hot_ref(name)
        if ref is None:
            raise ToolNotFound(name)
        called = await self.use.call_tool(knock.caller, ref, given, line=line)
        return result_of(called.answer, modern=modern)


async def _show_link(line: Line, error: LoginNeeded) -> None:
    """By the client itself, where it can: then no model has a part in it. Whether they open it is
    seen when they call again."""
    if Wanted.ELICITATION not in line.able:
        return
    params: JsonObject = {
        "mode": "url",
        "url": error.login_url,
        "message": f"Log in to {error.server}, so that Portico can use it for you.",
        "elicitationId": sha256(error.login_url.encode()).hexdigest()[:32],
    }
    with suppress(InputUnsupported, InputRefused):
        await line.ask(Question(Wanted.ELICITATION, params))
