"""Sessions of the handshake era, keys looked at a moment ago, and how errors are told."""

import asyncio
import logging
import secrets
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from time import monotonic
from typing import Any, Final

import anyio
from mcp.server.connection import Connection
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.models import InitializationOptions
from mcp.server.runner import serve_connection
from mcp.server.streamable_http import StreamableHTTPServerTransport
from mcp.shared.exceptions import MCPError
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp.shared.transport_context import TransportContext
from mcp_types import INVALID_REQUEST
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel
from starlette.responses import JSONResponse
from starlette.types import Message, Receive, Scope, Send

from portico.guard.authentication import Entry
from portico.interfaces.mcp.request_context import McpRequestContext, TooManySessions, knock_of
from portico.interfaces.mcp.tool_values import BROKE, error_data
from portico.kernel.errors import PorticoError

# The SDK's session manager refuses newcomers when it is full. Clients that were killed never close
# their session, so here the one unused longest makes room.

_IDLE: Final = 30 * 60.0
"""Seconds without a request or an open stream."""
_MOST: Final = 10_000
_MOST_OF_ONE: Final = 128
"""Of one key; with more, the one that was left longest goes, and if all are in use none comes."""
_HEADER: Final = b"mcp-session-id"
_SESSION: Final = "portico.mcp.session"


@dataclass(slots=True, eq=False)
class Session:
    id: str
    request_context: McpRequestContext
    transport: StreamableHTTPServerTransport
    connection: Connection | None = None
    log_level: str = "info"
    """Until the client sets another."""
    hears_changes: bool = False
    in_use: int = 0

    @contextmanager
    def used(self) -> Iterator[None]:
        self.in_use += 1
        try:
            yield
        finally:
            self.in_use -= 1


def session_of(scope: Scope) -> Session:
    found: Session = scope[_SESSION]
    return found


def session_named(scope: Scope) -> str | None:
    """The one that a request says it belongs to."""
    return next((v.decode("latin-1") for k, v in scope["headers"] if k == _HEADER), None)


@dataclass(slots=True, kw_only=True)
class Sessions:
    server: Server[Any]
    options: Callable[[McpRequestContext], Awaitable[InitializationOptions]]
    """What a newcomer is told of the door it came to. Raises `PorticoError`."""
    start: Callable[[Coroutine[Any, Any, None]], object]
    limit: int = _MOST
    most_of_one: int = _MOST_OF_ONE
    idle: float = _IDLE
    _open: dict[str, Session] = field(default_factory=dict)
    """Those used last come last."""

    def __len__(self) -> int:
        return len(self._open)

    async def __call__(
        self, knock: McpRequestContext, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Raises `TooManySessions`, and what a door raises that is not there."""
        shown = session_named(scope)
        if shown is None:
            await self._begin(knock, scope, receive, send)
            return
        session = self._open.get(shown)
        if session is None or session.request_context.owner != knock.owner:
            await _lost()(scope, receive, send)
            return
        self._open[shown] = self._open.pop(shown)
        await _serve(session, scope, receive, send)
        if session.transport.is_terminated:
            await self._forget(session)

    async def _begin(
        self, knock: McpRequestContext, scope: Scope, receive: Receive, send: Send
    ) -> None:
        options = await self.options(knock)
        await self._make_room(knock)
        name = secrets.token_hex(16)
        transport = StreamableHTTPServerTransport(name, idle_timeout=self.idle)
        session = Session(name, knock, transport)
        self._open[session.id] = session
        status = _Status(send)
        try:
            ready = asyncio.Event()
            self.start(self._live(session, options, ready))
            await ready.wait()
            await _serve(session, scope, receive, status)
        finally:
            if not status.good:  # nothing but a handshake opens a session
                await self._forget(session)

    async def _live(
        self, session: Session, options: InitializationOptions, ready: asyncio.Event
    ) -> None:
        """Until it is ended, or nobody has come for long."""
        try:
            async with session.transport.connect() as (read, write):
                dispatcher: JSONRPCDispatcher[TransportContext] = JSONRPCDispatcher(
                    read, write, inline_methods=frozenset({"initialize"})
                )
                session.connection = Connection.for_loop(dispatcher, session_id=session.id)
                ready.set()
                with session.transport.idle_scope or anyio.CancelScope():
                    await serve_connection(
                        self.server,
                        dispatcher,
                        connection=session.connection,
                        lifespan_state={},
                        init_options=options,
                    )
        finally:
            ready.set()
            await self._forget(session)

    async def _make_room(self, knock: McpRequestContext) -> None:
        theirs = [
            it
            for it in self._open.values()
            if it.request_context.entry.key_id == knock.entry.key_id
        ]
        crowd = theirs if len(theirs) >= self.most_of_one else list(self._open.values())
        if len(theirs) < self.most_of_one and len(self._open) < self.limit:
            return
        left = next((session for session in crowd if not session.in_use), None)
        if left is not None:
            await self._forget(left)
        else:
            raise TooManySessions

    async def _forget(self, session: Session) -> None:
        self._open.pop(session.id, None)
        if not session.transport.is_terminated:
            with anyio.CancelScope(shield=True):
                await session.transport.terminate()


async def _serve(session: Session, scope: Scope, receive: Receive, send: Send) -> None:
    scope[_SESSION] = session
    with session.used():
        await session.transport.handle_request(scope, receive, send)


class _Status:
    """Passes everything on, and sees whether it went well."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.good = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.good = message["status"] < 400
        await self._send(message)


def _lost() -> JSONResponse:
    """The same for one that never was, one that is over, and somebody else's."""
    error = {"code": INVALID_REQUEST, "message": "Session not found"}
    return JSONResponse({"jsonrpc": "2.0", "id": None, "error": error}, 404)


SdkRequestContext = ServerRequestContext[Any, Any]
Handler = Callable[..., Awaitable[Any]]
_log: Final = logging.getLogger("portico.mcp")


def handle(server: Server[Any], handlers: Mapping[str, tuple[type[BaseModel], Handler]]) -> None:
    for method, (params, handler) in handlers.items():
        server.add_request_handler(method, params, _told(method, handler))


def knock_in(context: SdkRequestContext) -> McpRequestContext:
    if context.request is None:
        raise RuntimeError("a request that did not come over HTTP")
    return knock_of(context.request.scope)


def session_in(context: SdkRequestContext) -> Session:
    if context.request is None:
        raise RuntimeError("a request that did not come over HTTP")
    return session_of(context.request.scope)


def _told(method: str, handler: Handler) -> Handler:
    async def telling(context: SdkRequestContext, params: BaseModel) -> Any:  # noqa: ANN401 # as the SDK has it
        modern = context.protocol_version in MODERN_PROTOCOL_VERSIONS
        try:
            result = await handler(context, params)
        except PorticoError as error:
            told = error_data(error, uri=getattr(params, "uri", None), modern=modern)
            raise MCPError.from_error_data(told) from error
        except MCPError:
            raise
        except Exception as error:  # the SDK would tell its text
            _log.exception("%s failed", method)
            raise MCPError.from_error_data(BROKE) from error
        return {"resultType": "complete", **result} if modern and type(result) is dict else result

    return telling


_KNOWN: Final = 1.0
"""Seconds: for so long, and no longer, a key still opens after it was revoked, whichever process
revoked it. A message over the bus could be late or lost; a clock cannot."""
_LOOK_AGAIN: Final = 0.5
"""From here on whoever comes first looks again, so that the others do not all wait for it."""
_MOST_KEYS: Final = 10_000


@dataclass(slots=True)
class _Known:
    entry: Entry
    at: float
    looking: bool = False


@dataclass(slots=True)
class RememberedKeys:
    authenticate: Callable[[str], Awaitable[Entry]]
    now: Callable[[], float] = monotonic
    _known: OrderedDict[bytes, _Known] = field(default_factory=OrderedDict)
    """By the hash of the key: no key lies about in memory."""

    async def __call__(self, shown: str) -> Entry:
        """Raises `NotAuthenticated`; whoever was refused is looked at anew each time."""
        name = sha256(shown.encode(errors="replace")).digest()
        known = self._known.get(name)
        if known is None or not self._good(known):
            return await self._look(name, shown)
        if self.now() - known.at >= _LOOK_AGAIN and not known.looking:
            known.looking = True
            return await self._look(name, shown)
        return known.entry

    def _good(self, known: _Known) -> bool:
        return self.now() - known.at < _KNOWN

    async def _look(self, name: bytes, shown: str) -> Entry:
        at = self.now()
        try:
            entry = await self.authenticate(shown)
        except BaseException:
            self._known.pop(name, None)
            raise
        self._known[name] = _Known(entry, at)
        self._known.move_to_end(name)
        if len(self._known) > _MOST_KEYS:
            self._known.popitem(last=False)
        return entry
