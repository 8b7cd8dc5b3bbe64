"""The MCP face put together: `/mcp`, and `/mcp/servers/NAME` for one server behind it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from mcp.server.models import InitializationOptions
from mcp.server.transport_security import RequestBodyLimitMiddleware
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.types import ASGIApp, Receive, Scope, Send

from portico.interfaces.http.authentication import Authentication, again_of, entry_of
from portico.interfaces.http.problems import problem_response
from portico.interfaces.mcp.audience import Audience
from portico.interfaces.mcp.background import Background
from portico.interfaces.mcp.knock import Knock, door_of, knock_of, put_knock
from portico.interfaces.mcp.lasting import lasting
from portico.interfaces.mcp.modern import Modern, the_rest
from portico.interfaces.mcp.offering import Offering
from portico.interfaces.mcp.remembered_keys import RememberedKeys
from portico.interfaces.mcp.server import Methods, build_server, options
from portico.interfaces.mcp.sessions import Sessions
from portico.interfaces.mcp.uses import GatewayUses
from portico.interfaces.mcp.waiting import Waiting
from portico.kernel.errors import PorticoError

_HANDSHAKE: Final = frozenset(HANDSHAKE_PROTOCOL_VERSIONS)
MOST: Final = 4 * 1024 * 1024
"""Bytes of a request: a file to be written somewhere passes, a flood does not."""


class McpFace:
    """An ASGI application, to be called while `running` is open; a bearer key stands before it."""

    def __init__(self, use: GatewayUses) -> None:
        self._background = Background()
        start = self._background.start
        audience = Audience(use=use, start=start)
        offering = Offering(use)
        self._methods = Methods(use, offering, audience)
        self._server = build_server(self._methods, use.version)
        self._waiting = Waiting()
        self._modern = Modern(
            offering=offering,
            waiting=self._waiting,
            start=start,
            rest=the_rest(self._server),
            stamp=self._server.server_info_stamp,
        )
        self._sessions = Sessions(server=self._server, options=self._options, start=start)
        inside = RequestBodyLimitMiddleware(self._within, MOST)
        remembered = RememberedKeys(use.authenticate)
        self._app: ASGIApp = Authentication(inside, remembered, use.enter_context)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with self._modern.rest.run(), self._background.running():
            with self._waiting.open():
                yield

    async def _within(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            knock = Knock(entry_of(scope), door_of(scope["path"]), again_of(scope))
            put_knock(scope, knock)
            await self._era(knock, scope, receive, send)
        except PorticoError as error:
            await problem_response(error)(scope, receive, send)

    async def _era(self, knock: Knock, scope: Scope, receive: Receive, send: Send) -> None:
        app = self._modern if is_modern(scope) else self._legacy
        if lasts(scope):
            await lasting(app, scope, receive, send, again=knock.again)
        else:
            await app(scope, receive, send)

    async def _legacy(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._sessions(knock_of(scope), scope, receive, send)

    async def _options(self, knock: Knock) -> InitializationOptions:
        return options(self._server, await self._methods.instructions(knock))


def is_modern(scope: Scope) -> bool:
    version = dict(scope["headers"]).get(b"mcp-protocol-version")
    return version is not None and version.decode("latin-1") not in _HANDSHAKE


def lasts(scope: Scope) -> bool:
    """Whether its answer is a stream without an end."""
    method = dict(scope["headers"]).get(b"mcp-method")
    return scope["method"] == "GET" or method == b"subscriptions/listen"
