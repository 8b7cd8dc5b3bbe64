"""The MCP face put together: `/mcp`, and `/mcp/servers/NAME` for one server behind it."""

import asyncio
import logging
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any, Final

from mcp.server.models import InitializationOptions
from mcp.server.transport_security import RequestBodyLimitMiddleware
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.types import ASGIApp, Receive, Scope, Send

from portico.faces.http.authentication import Authentication, again_of, entry_of
from portico.faces.http.problems import problem_response
from portico.faces.mcp.audience import Audience
from portico.faces.mcp.knock import Knock, door_of, knock_of, put_knock
from portico.faces.mcp.lasting import lasting
from portico.faces.mcp.modern import Modern, the_rest
from portico.faces.mcp.offering import Offering
from portico.faces.mcp.remembered_keys import RememberedKeys
from portico.faces.mcp.server import Methods, build_server, options
from portico.faces.mcp.sessions import Sessions
from portico.faces.mcp.uses import GatewayUses
from portico.faces.mcp.waiting import Waiting
from portico.kernel.errors import PorticoError

_HANDSHAKE: Final = frozenset(HANDSHAKE_PROTOCOL_VERSIONS)
_log: Final = logging.getLogger("portico.mcp")
MOST: Final = 4 * 1024 * 1024
"""Bytes of a request: a file to be written somewhere passes, a flood does not."""


class McpFace:
    """An ASGI application, to be called while `running` is open; a bearer key stands before it."""

    def __init__(self, use: GatewayUses) -> None:
        self._group: asyncio.TaskGroup | None = None
        self._begun: set[asyncio.Task[Any]] = set()
        audience = Audience(use=use, start=self._start)
        offering = Offering(use)
        self._methods = Methods(use, offering, audience)
        self._server = build_server(self._methods, use.version)
        self._waiting = Waiting()
        self._modern = Modern(
            offering=offering,
            waiting=self._waiting,
            start=self._start,
            rest=the_rest(self._server),
            stamp=self._server.server_info_stamp,
        )
        self._sessions = Sessions(server=self._server, options=self._options, start=self._start)
        inside = RequestBodyLimitMiddleware(self._within, MOST)
        remembered = RememberedKeys(use.authenticate)
        self._app: ASGIApp = Authentication(inside, remembered, use.enter_context)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with self._modern.rest.run(), asyncio.TaskGroup() as self._group:
            try:
                with self._waiting.open():
                    yield
            finally:
                for task in self._begun:
                    task.cancel()

    async def _within(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            knock = Knock(entry_of(scope), door_of(scope["path"]), again_of(scope))
            put_knock(scope, knock)
            await self._era(knock, scope, receive, send)
        except PorticoError as error:
            await problem_response(error)(scope, receive, send)

    async def _era(self, knock: Knock, scope: Scope, receive: Receive, send: Send) -> None:
        headers = dict(scope["headers"])
        version = headers.get(b"mcp-protocol-version")
        modern = version is not None and version.decode("latin-1") not in _HANDSHAKE
        app = self._modern if modern else self._legacy
        if scope["method"] == "GET" or headers.get(b"mcp-method") == b"subscriptions/listen":
            await lasting(app, scope, receive, send, again=knock.again)
        else:
            await app(scope, receive, send)

    async def _legacy(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._sessions(knock_of(scope), scope, receive, send)

    async def _options(self, knock: Knock) -> InitializationOptions:
        return options(self._server, await self._methods.instructions(knock))

    def _start(self, work: Coroutine[Any, Any, Any]) -> "asyncio.Task[Any]":
        """What outlasts a request."""
        if self._group is None:
            raise RuntimeError("the MCP face is not running")
        task = self._group.create_task(_contained(work))
        self._begun.add(task)
        task.add_done_callback(self._begun.discard)
        return task


async def _contained(work: Coroutine[Any, Any, Any]) -> Any:  # noqa: ANN401 # whatever it gives
    """What breaks here breaks alone."""
    try:
        return await work
    except Exception:  # noqa: BLE001 # the edge of a background loop
        _log.exception("something that goes on between requests broke")
        return None
