"""The door of debates: `/mcp/debate`, with the same keys as every other."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Final

from mcp.server.models import InitializationOptions
from mcp.server.transport_security import RequestBodyLimitMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

from portico.interfaces.http.authentication import Authentication, again_of, entry_of
from portico.interfaces.http.problems import problem_response
from portico.interfaces.mcp.background import Background
from portico.interfaces.mcp.debate.calls import DebateCalls
from portico.interfaces.mcp.debate.server import DebateMethods, build_debate_server
from portico.interfaces.mcp.debate.uses import DebateUses
from portico.interfaces.mcp.errors import NoSuchDoor
from portico.interfaces.mcp.knock import Knock, knock_of, put_knock
from portico.interfaces.mcp.lasting import lasting
from portico.interfaces.mcp.modern import the_rest
from portico.interfaces.mcp.mount import MOST, is_modern, lasts
from portico.interfaces.mcp.sessions import Sessions
from portico.interfaces.mcp.window import at_window
from portico.kernel.errors import PorticoError

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

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with self._modern.run(), self._background.running():
            yield

    async def _within(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            if scope["path"] != DEBATE:
                raise NoSuchDoor
            knock = Knock(entry_of(scope), None, again_of(scope))
            put_knock(scope, knock)
            app = self._modern.handle_request if is_modern(scope) else self._legacy
            if lasts(scope):
                await lasting(app, scope, receive, send, again=knock.again)
            else:
                await app(scope, receive, send)
        except PorticoError as error:
            await problem_response(error)(scope, receive, send)

    async def _legacy(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._sessions(knock_of(scope), scope, receive, send)

    async def _options(self, _knock: Knock) -> InitializationOptions:
        return self._server.create_initialization_options()
