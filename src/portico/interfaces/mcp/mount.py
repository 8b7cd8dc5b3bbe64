"""The endpoint /mcp put together: authentication, eras of the protocol, streams and their end."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, Final

from mcp.server.models import InitializationOptions
from mcp.server.transport_security import RequestBodyLimitMiddleware
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from portico.guard.authentication import Entry
from portico.interfaces.http.authentication import Authentication, again_of, entry_of
from portico.interfaces.http.problems import problem_response
from portico.interfaces.http.streaming import line_of
from portico.interfaces.mcp.pending_calls import Waiting
from portico.interfaces.mcp.request_context import (
    GatewayUses,
    McpRequestContext,
    endpoint_of,
    knock_of,
    put_knock,
)
from portico.interfaces.mcp.server import Audience, Methods, build_server, options
from portico.interfaces.mcp.sessions import RememberedKeys, Sessions
from portico.interfaces.mcp.stateless_protocol import Modern, Offering, the_rest
from portico.kernel.errors import Kind, PorticoError

_log: Final = logging.getLogger("portico.mcp")


class Background:
    def __init__(self) -> None:
        self._group: asyncio.TaskGroup | None = None
        self._begun: set[asyncio.Task[Any]] = set()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with asyncio.TaskGroup() as self._group:
            try:
                yield
            finally:
                for task in self._begun:
                    task.cancel()

    def start(self, work: Coroutine[Any, Any, Any]) -> "asyncio.Task[Any]":
        if self._group is None:
            raise RuntimeError("the MCP face is not running")
        task = self._group.create_task(_contained(work))
        self._begun.add(task)
        task.add_done_callback(self._begun.discard)
        return task


async def _contained(work: Coroutine[Any, Any, Any]) -> Any:  # noqa: ANN401 # whatever it gives
    try:
        return await work
    except Exception:  # noqa: BLE001 # the edge of a background loop
        _log.exception("something that goes on between requests broke")
        return None


# A stream ends when its client goes, when the server stops, and when its key is no longer valid.

_ASK_AGAIN: Final = 15.0
"""Seconds."""

Again = Callable[[], Awaitable[Entry]]


async def lasting(
    app: ASGIApp, scope: Scope, receive: Receive, send: Send, *, again: Again
) -> None:
    """Whatever ends it, the application is told that its client has gone."""
    ended, sending = asyncio.Event(), _Sending(send)
    line = line_of(scope)
    if line is not None:
        line.when_ending(ended.set)
        if line.ending:
            ended.set()
    asking = asyncio.create_task(_until_refused(again, ended))
    try:
        await app(scope, _or_ended(receive, ended), sending)
        if ended.is_set():
            await sending.finish()
    finally:
        if line is not None:
            line.when_ending(None)
        asking.cancel()
        await asyncio.wait([asking])


class _Sending:
    """Passes everything on; what the application left open, because it thought that nobody was
    there any more, can be finished."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._open = False

    async def __call__(self, message: Message) -> None:
        self._open = message["type"] == "http.response.start" or bool(message.get("more_body"))
        await self._send(message)

    async def finish(self) -> None:
        if self._open:
            await self({"type": "http.response.body", "body": b"", "more_body": False})


async def _until_refused(again: Again, ended: asyncio.Event) -> None:
    while not ended.is_set():
        await asyncio.sleep(_ASK_AGAIN)
        try:
            await again()
        except PorticoError as error:
            if error.kind is Kind.DENIED:
                ended.set()


def _or_ended(receive: Receive, ended: asyncio.Event) -> Receive:
    async def hear() -> Message:
        said, over = asyncio.ensure_future(receive()), asyncio.ensure_future(ended.wait())
        try:
            await asyncio.wait([said, over], return_when=asyncio.FIRST_COMPLETED)
            return said.result() if said.done() else {"type": "http.disconnect"}
        finally:
            said.cancel()
            over.cancel()

    return hear


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
            knock = McpRequestContext(entry_of(scope), endpoint_of(scope["path"]), again_of(scope))
            put_knock(scope, knock)
            await self._era(knock, scope, receive, send)
        except PorticoError as error:
            await problem_response(error)(scope, receive, send)

    async def _era(
        self, knock: McpRequestContext, scope: Scope, receive: Receive, send: Send
    ) -> None:
        app = self._modern if is_modern(scope) else self._legacy
        if lasts(scope):
            await lasting(app, scope, receive, send, again=knock.again)
        else:
            await app(scope, receive, send)

    async def _legacy(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._sessions(knock_of(scope), scope, receive, send)

    async def _options(self, knock: McpRequestContext) -> InitializationOptions:
        return options(self._server, await self._methods.instructions(knock))


def is_modern(scope: Scope) -> bool:
    version = dict(scope["headers"]).get(b"mcp-protocol-version")
    return version is not None and version.decode("latin-1") not in _HANDSHAKE


def lasts(scope: Scope) -> bool:
    """Whether its answer is a stream without an end."""
    method = dict(scope["headers"]).get(b"mcp-method")
    return scope["method"] == "GET" or method == b"subscriptions/listen"
