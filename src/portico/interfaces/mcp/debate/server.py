"""The MCP server of debates at /mcp/debate: its methods and tools."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any, Final

from mcp.server.caching import CacheableMethod, CacheHint
from mcp.server.lowlevel import Server
from mcp.server.models import InitializationOptions
from mcp.server.transport_security import RequestBodyLimitMiddleware
from mcp_types import CallToolRequestParams, PaginatedRequestParams, RequestParams
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel
from starlette.types import ASGIApp, Receive, Send
from starlette.types import Scope as AsgiScope

from portico.debate.core.debates import DebateId, DebateSpec
from portico.guard.core.principals import Scope
from portico.guard.principals import require_scope
from portico.interfaces.http.authentication import Authentication, again_of, entry_of
from portico.interfaces.http.problems import problem_response
from portico.interfaces.mcp.debate.definitions import (
    BY_NAME,
    INSTRUCTIONS,
    DebateToolNotFound,
    DebateUses,
    ParsedArguments,
    for_a_model,
    schema_of,
    shown_to,
)
from portico.interfaces.mcp.debate.results import (
    debate_facts,
    debate_line,
    debate_words,
    estimate_facts,
    estimate_words,
    outcome_facts,
    outcome_words,
    replayed_facts,
    replayed_words,
    seat_facts,
    seat_words,
    voice_facts,
    voice_line,
    whole_facts,
)
from portico.interfaces.mcp.mount import MOST, Background, is_modern, lasting, lasts
from portico.interfaces.mcp.request_context import (
    EndpointNotFound,
    McpRequestContext,
    at_window,
    knock_of,
    put_knock,
)
from portico.interfaces.mcp.sessions import Handler, SdkRequestContext, Sessions, handle, knock_in
from portico.interfaces.mcp.stateless_protocol import the_rest
from portico.interfaces.mcp.tool_values import Result, ToolOutput, lines, refusal
from portico.kernel.errors import PorticoError
from portico.kernel.json import JsonObject
from portico.kernel.principal import Principal

Call = Callable[[Principal, ParsedArguments], Awaitable[ToolOutput]]
_USUAL_WAIT: Final = timedelta(seconds=45)
_NO_WAIT: Final = timedelta(0)
_TO_STOP: Final = timedelta(seconds=10)
"""One that is stopped ends by itself, a moment later."""
_LISTED: Final = 20


@dataclass(frozen=True, slots=True)
class DebateCalls:
    use: DebateUses

    async def __call__(self, caller: Principal, name: str, given: JsonObject) -> Result:
        """Raises `PorticoError`."""
        by_name: Mapping[str, Call] = {
            "debate": self.debate,
            "analyze": self.analyze,
            "join_debate": self.join_debate,
            "outcome": self.outcome,
            "replay": self.replay,
            "debate_status": self.debate_status,
        }
        if name not in by_name:
            raise DebateToolNotFound(name)
        told = await by_name[name](caller, ParsedArguments.read(BY_NAME[name], given))
        return told.as_result()

    async def debate(self, caller: Principal, given: ParsedArguments) -> ToolOutput:
        return await self._held(caller, given, given.spec("question", self.use.debates.usual_cap))

    async def analyze(self, caller: Principal, given: ParsedArguments) -> ToolOutput:
        wish = given.spec("task", self.use.debates.usual_cap, analyze=True)
        return await self._held(caller, given, wish)

    async def join_debate(self, caller: Principal, given: ParsedArguments) -> ToolOutput:
        debates, its = self.use.debates, given.debate()
        patience = given.wait_timeout(_NO_WAIT)
        if "answer" in given:
            seat = await debates.answer_as_guest(caller, its, given.answered)
        if "answer" not in given or patience:
            seat = await debates.wait_at_seat(caller, its, patience=patience)
        facts = seat_facts(seat)
        return ToolOutput(seat_words(facts), facts)

    async def outcome(self, caller: Principal, given: ParsedArguments) -> ToolOutput:
        facts = outcome_facts(
            await self.use.debates.mark_outcome(caller, given.debate(), given.outcome)
        )
        return ToolOutput(outcome_words(facts), facts)

    async def replay(self, caller: Principal, given: ParsedArguments) -> ToolOutput:
        facts = replayed_facts(
            await self.use.debates.replay_debate(caller, given.debate(), given.replay)
        )
        return ToolOutput(replayed_words(facts), facts)

    async def debate_status(self, caller: Principal, given: ParsedArguments) -> ToolOutput:
        stop = given.switch("stop")
        if "debate" not in given and not stop:
            return await self._all(caller, given)
        its = given.debate()
        if stop:
            require_scope(caller, Scope.DEBATES_READ)  # before, since it is told how it ended
            await self.use.debates.stop_debate(caller, its)
        return await self._waited(caller, its, given.wait_timeout(_TO_STOP if stop else _NO_WAIT))

    async def _held(
        self, caller: Principal, given: ParsedArguments, wish: DebateSpec
    ) -> ToolOutput:
        """What comes of it is told, so that whoever may not read is told no before it begins. One
        with guests is told at once: they need its id."""
        require_scope(caller, Scope.DEBATES_READ)
        debates = self.use.debates
        if given.switch("estimate_only"):
            facts = estimate_facts(await debates.estimate_debate(caller, wish))
            return ToolOutput(estimate_words(facts), facts)
        started = (await debates.start_debate(caller, wish)).debate
        patience = given.wait_timeout(_NO_WAIT if wish.guests else _USUAL_WAIT)
        return await self._waited(caller, started.id, patience)

    async def _waited(self, caller: Principal, its: DebateId, patience: timedelta) -> ToolOutput:
        debates = self.use.debates
        await debates.wait_for_debate(caller, its, patience=patience)
        whole = await debates.look.one(caller, its)
        parts = await debates.look.parts(caller, its) if whole.debate.analysis else ()
        facts = whole_facts(whole, parts)
        return ToolOutput(debate_words(facts), facts)

    async def _all(self, caller: Principal, given: ParsedArguments) -> ToolOutput:
        debates, after = self.use.debates, given.text("after")
        found = await debates.look.page(
            caller,
            project=given.text("project"),
            status=None,
            words=given.text("words"),
            after=None if after is None else DebateId.parse(after),
            limit=_LISTED,
        )
        every = [debate_facts(each) for each in found]
        voices = [voice_facts(each) for each in await debates.list_voices(caller)]
        personas = [each.name for each in await debates.personas.all(caller)]
        text = lines(
            [debate_line(each) for each in every] or "No debates that you may read.",
            "Voices:" if voices else "Nobody can be asked here.",
            [voice_line(each) for each in voices],
            f"Personas: {', '.join(personas)}.",
        )
        return ToolOutput(text, {"debates": every, "voices": voices, "personas": personas})


_CACHED: Final[Sequence[CacheableMethod]] = ("tools/list", "server/discover")
_HINTS: Final = {method: CacheHint(ttl_ms=0, scope="private") for method in _CACHED}
"""What one caller is shown is no other's."""


@dataclass(frozen=True, slots=True)
class DebateMethods:
    calls: DebateCalls

    async def discover(self, _context: SdkRequestContext, _params: RequestParams) -> Result:
        return {
            "supportedVersions": list(MODERN_PROTOCOL_VERSIONS),
            "capabilities": {"tools": {"listChanged": False}},
            "instructions": INSTRUCTIONS,
        }

    async def list_tools(
        self, context: SdkRequestContext, _params: PaginatedRequestParams
    ) -> Result:
        return {"tools": [tool.listed() for tool in shown_to(knock_in(context).caller)]}

    async def call_tool(self, context: SdkRequestContext, params: CallToolRequestParams) -> Result:
        try:
            return await self.calls(knock_in(context).caller, params.name, params.arguments or {})
        except PorticoError as error:
            return refusal(for_a_model(error))


def build_debate_server(methods: DebateMethods, version: str) -> Server[Any]:
    server: Server[Any] = Server(  # ty: ignore[no-matching-overload] # checked by mypy
        "portico-debate",
        title="Portico's debates",
        version=version,
        instructions=INSTRUCTIONS,
        cache_hints=_HINTS,
        get_tool_input_schema=schema_of,
    )
    handlers: Mapping[str, tuple[type[BaseModel], Handler]] = {
        "server/discover": (RequestParams, methods.discover),
        "tools/list": (PaginatedRequestParams, methods.list_tools),
        "tools/call": (CallToolRequestParams, methods.call_tool),
    }
    handle(server, handlers)
    return server


DEBATE: Final = "/mcp/debate"


class DebateFace:
    """An ASGI application, to be called while `running` is open. It asks its callers nothing, so
    that all of the later era is the SDK's."""

    def __init__(self, use: DebateUses) -> None:
        self._background = Background()
        self._server = build_debate_server(DebateMethods(DebateCalls(use)), use.version)
        self._modern = the_rest(self._server)
        self._sessions = Sessions(
            server=self._server, options=self._options, start=self._background.start
        )
        inside = RequestBodyLimitMiddleware(self._within, MOST)
        self._app: ASGIApp = Authentication(
            inside, partial(at_window, use.authenticate), use.enter_context
        )

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with self._modern.run(), self._background.running():
            yield

    async def _within(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        try:
            if scope["path"] != DEBATE:
                raise EndpointNotFound
            knock = McpRequestContext(entry_of(scope), None, again_of(scope))
            put_knock(scope, knock)
            app = self._modern.handle_request if is_modern(scope) else self._legacy
            if lasts(scope):
                await lasting(app, scope, receive, send, again=knock.again)
            else:
                await app(scope, receive, send)
        except PorticoError as error:
            await problem_response(error)(scope, receive, send)

    async def _legacy(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        await self._sessions(knock_of(scope), scope, receive, send)

    async def _options(self, _knock: McpRequestContext) -> InitializationOptions:
        return self._server.create_initialization_options()
