"""The MCP server of the bridge at /mcp/bridge: its methods and subscriptions."""

import asyncio
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Callable,
    Coroutine,
    Mapping,
    Sequence,
)
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from mcp.server.caching import CacheableMethod, CacheHint
from mcp.server.connection import Connection
from mcp.server.lowlevel import Server
from mcp.server.models import InitializationOptions
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler
from mcp.server.transport_security import RequestBodyLimitMiddleware
from mcp.shared.subscriptions import ResourceUpdated
from mcp_types import (
    CallToolRequestParams,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    RequestParams,
    SubscribeRequestParams,
    SubscriptionFilter,
    SubscriptionsListenRequestParams,
    SubscriptionsListenResult,
    UnsubscribeRequestParams,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from portico.bridge.core.activity import Activity
from portico.bridge.core.conversations import ConversationId
from portico.interfaces.http.authentication import Authentication, again_of, entry_of
from portico.interfaces.http.problems import problem_response
from portico.interfaces.mcp.bridge.definitions import (
    INSTRUCTIONS,
    BridgeUses,
    NotFollowed,
    for_a_model,
    schema_of,
    shown_to,
)
from portico.interfaces.mcp.bridge.resources import TEMPLATES, BridgeResources, address_of, uri_of
from portico.interfaces.mcp.bridge.tools import BridgeCalls
from portico.interfaces.mcp.mount import MOST, Background, is_modern, lasting, lasts
from portico.interfaces.mcp.request_context import (
    EndpointNotFound,
    McpRequestContext,
    TooManyListening,
    at_window,
    knock_of,
    put_knock,
)
from portico.interfaces.mcp.sessions import (
    Handler,
    SdkRequestContext,
    Sessions,
    handle,
    knock_in,
    session_in,
    session_named,
)
from portico.interfaces.mcp.stateless_protocol import the_rest
from portico.interfaces.mcp.tool_values import Result, refusal
from portico.kernel.errors import Kind, PorticoError
from portico.kernel.principal import Principal

# Subscribers hear where something is new, and nothing else; they read it by themselves. What a
# subscriber may not see does not wake them.

_MOST: Final = 10_000
MOST_OF_ONE: Final = 64
"""Conversations that one stream or session follows."""
_LATER: Final = 2.0
"""Seconds until somebody is followed anew whose clearance has changed: for a second the key is
still known as it was."""

Tell = Callable[[str], Awaitable[None]]
Start = Callable[[Coroutine[Any, Any, None]], "asyncio.Task[None]"]


def followed(uri: str) -> ConversationId:
    """Raises `NotFollowed`, and what an address raises that is none."""
    address = address_of(uri)
    if not isinstance(address, ConversationId):
        raise NotFollowed(uri)
    return address


@dataclass(slots=True, eq=False)
class Followed:
    """One conversation, by one who listens; nothing is told until it has begun."""

    request_context: McpRequestContext
    conversation: ConversationId
    news: AsyncGenerator[Activity, None]
    task: "asyncio.Task[None] | None" = None


@dataclass(slots=True, kw_only=True)
class Following:
    use: BridgeUses
    start: Start
    later: float = _LATER
    _open: set[Followed] = field(default_factory=set)

    def __len__(self) -> int:
        return len(self._open)

    async def open(self, knock: McpRequestContext, uri: str) -> Followed:
        """From now on nothing is missed by who then reads. Raises `TooManyListening`,
        `NotFollowed`, `ConversationNotFound`, `NotPermitted`."""
        conversation = followed(uri)
        if len(self._open) >= _MOST:
            raise TooManyListening
        news = await self._news(knock.caller, conversation)
        made = Followed(knock, conversation, news)
        self._open.add(made)
        return made

    def begin(self, followed: Followed, tell: Tell) -> None:
        followed.task = self.start(self._telling(followed, tell))

    async def end(self, several: Sequence[Followed]) -> None:
        for each in several:
            self._open.discard(each)
            if each.task is None:
                await each.news.aclose()
            else:
                each.task.cancel()

    async def _news(
        self, caller: Principal, conversation: ConversationId
    ) -> AsyncGenerator[Activity, None]:
        """The first says nothing but that it has begun, as does the answer to who subscribes."""
        news = self.use.bridge.talk.follow_conversations(caller, [conversation])
        try:
            await anext(news)
        except BaseException:
            await news.aclose()
            raise
        return news

    async def _telling(self, followed: Followed, tell: Tell) -> None:
        uri = uri_of(followed.conversation)
        try:
            while True:
                async with aclosing(followed.news):
                    async for _ in followed.news:
                        await tell(uri)
                if not await self._followed_anew(followed):
                    return
                await tell(uri)
        finally:
            self._open.discard(followed)

    async def _followed_anew(self, followed: Followed) -> bool:
        """As who they are by now; not, if they may not any more."""
        while True:
            await asyncio.sleep(self.later)
            try:
                caller = (await followed.request_context.again()).principal
                followed.news = await self._news(caller, followed.conversation)
            except PorticoError as error:
                if error.kind is not Kind.UNAVAILABLE:
                    return False
            else:
                return True


# Sessions hear of news on a stream that is not always open: what happens meanwhile is sent when it
# is.

_PATIENCE: Final = 1.0
"""Seconds to take in a notice."""


@dataclass(slots=True, eq=False)
class _Line:
    """To the client of one session."""

    connection: Connection
    followed: dict[str, Followed] = field(default_factory=dict)
    streams: int = 0
    missed: dict[str, None] = field(default_factory=dict)

    async def tell(self, uri: str) -> None:
        if not self.streams:
            self.missed[uri] = None
            return
        with suppress(TimeoutError):  # who is so slow sees what is new when it reads again
            async with asyncio.timeout(_PATIENCE):
                await self.connection.outbound.notify(
                    "notifications/resources/updated", {"uri": uri}
                )

    async def catch_up(self) -> None:
        missed, self.missed = self.missed, {}
        for uri in missed:
            await self.tell(uri)


@dataclass(slots=True)
class Subscribed:
    following: Following
    _lines: dict[str, _Line] = field(default_factory=dict)
    """By the id of a session."""
    _streams: dict[str, int] = field(default_factory=dict)
    """How many are open to one; also before it subscribes to anything."""

    async def add(
        self, session: str, connection: Connection, knock: McpRequestContext, uri: str
    ) -> None:
        """Twice is once. Raises `TooManyListening`, and what following raises."""
        line = self._lines.get(session)
        if line is None:
            line = self._lines[session] = _Line(connection, streams=self._streams.get(session, 0))
            connection.exit_stack.push_async_callback(self._left, session)
        if uri in line.followed:
            return
        if len(line.followed) >= MOST_OF_ONE:
            raise TooManyListening
        followed = await self.following.open(knock, uri)
        if uri in line.followed:  # asked for twice at once
            await self.following.end([followed])
            return
        line.followed[uri] = followed
        self.following.begin(followed, line.tell)

    async def remove(self, session: str, uri: str) -> None:
        line = self._lines.get(session)
        followed = None if line is None else line.followed.pop(uri, None)
        if followed is not None:
            await self.following.end([followed])

    @asynccontextmanager
    async def open_stream(self, session: str, send: Send) -> AsyncIterator[Send]:
        """Around the stream of a session: once it has begun there is somebody who hears."""
        begun = False

        async def sending(message: Message) -> None:
            nonlocal begun
            await send(message)
            if message["type"] == "http.response.start" and message["status"] == 200:
                begun = True
                self._count(session, 1)
                if (line := self._lines.get(session)) is not None:
                    await line.catch_up()

        try:
            yield sending
        finally:
            if begun:
                self._count(session, -1)

    def _count(self, session: str, by: int) -> None:
        self._streams[session] = self._streams.get(session, 0) + by
        if (line := self._lines.get(session)) is not None:
            line.streams = self._streams[session]
        if not self._streams[session]:
            del self._streams[session]

    async def _left(self, session: str) -> None:
        line = self._lines.pop(session)
        await self.following.end([*line.followed.values()])


_CACHED: Final[Sequence[CacheableMethod]] = (
    "tools/list",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "server/discover",
)
_HINTS: Final = {method: CacheHint(ttl_ms=0, scope="private") for method in _CACHED}
"""What one caller is shown is no other's."""
_NOT_THERE: Final = frozenset({Kind.NOT_FOUND, Kind.INVALID})


@dataclass(frozen=True, slots=True)
class BridgeMethods:
    use: BridgeUses
    calls: BridgeCalls
    resources: BridgeResources
    following: Following
    subscribed: Subscribed

    async def discover(self, _context: SdkRequestContext, _params: RequestParams) -> Result:
        return {
            "supportedVersions": list(MODERN_PROTOCOL_VERSIONS),
            "capabilities": {
                "tools": {"listChanged": False},
                "resources": {"listChanged": False, "subscribe": True},
            },
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

    async def list_resources(
        self, context: SdkRequestContext, _params: PaginatedRequestParams
    ) -> Result:
        return {"resources": [*await self.resources.all(knock_in(context).caller)]}

    async def list_templates(
        self, _context: SdkRequestContext, _params: PaginatedRequestParams
    ) -> Result:
        return {"resourceTemplates": list(TEMPLATES)}

    async def read_resource(
        self, context: SdkRequestContext, params: ReadResourceRequestParams
    ) -> Result:
        return await self.resources.read(knock_in(context).caller, params.uri)

    async def subscribe(self, context: SdkRequestContext, params: SubscribeRequestParams) -> Result:
        session = session_in(context)
        if session.connection is None:
            raise RuntimeError("a session that is not connected")
        await self.subscribed.add(session.id, session.connection, knock_in(context), params.uri)
        return {}

    async def unsubscribe(
        self, context: SdkRequestContext, params: UnsubscribeRequestParams
    ) -> Result:
        await self.subscribed.remove(session_in(context).id, params.uri)
        return {}

    async def listen(
        self, context: SdkRequestContext, params: SubscriptionsListenRequestParams
    ) -> SubscriptionsListenResult:
        """Of what cannot be followed, or is not there for them, nothing is promised."""
        bus = InMemorySubscriptionBus()

        async def tell(uri: str) -> None:
            await bus.publish(ResourceUpdated(uri))

        wanted = params.notifications.resource_subscriptions or []
        opened = await self._opened(knock_in(context), wanted)
        try:
            # Nothing is awaited until the handler hears what is published.
            for each in opened:
                self.following.begin(each, tell)
            uris = [uri_of(each.conversation) for each in opened]
            honoured = SubscriptionFilter(resource_subscriptions=uris)
            asked = params.model_copy(update={"notifications": honoured})
            return await ListenHandler(bus)(context, asked)
        finally:
            await self.following.end(opened)

    async def _opened(self, knock: McpRequestContext, uris: Sequence[str]) -> Sequence[Followed]:
        await self.use.bridge.talk.who_am_i(knock.caller)  # whoever may not read may not listen
        opened: list[Followed] = []
        try:
            for uri in list(dict.fromkeys(uris))[:MOST_OF_ONE]:
                opened += await self._followed(knock, uri)
        except BaseException:
            await self.following.end(opened)
            raise
        return opened

    async def _followed(self, knock: McpRequestContext, uri: str) -> Sequence[Followed]:
        """None of what is not there for them."""
        try:
            return [await self.following.open(knock, uri)]
        except PorticoError as error:
            if error.kind in _NOT_THERE:
                return []
            raise


def build_bridge_server(methods: BridgeMethods, version: str) -> Server[Any]:
    server: Server[Any] = Server(  # ty: ignore[no-matching-overload] # checked by mypy
        "portico-bridge",
        title="Portico's bridge",
        version=version,
        instructions=INSTRUCTIONS,
        cache_hints=_HINTS,
        get_tool_input_schema=schema_of,
    )
    handlers: Mapping[str, tuple[type[BaseModel], Handler]] = {
        "server/discover": (RequestParams, methods.discover),
        "tools/list": (PaginatedRequestParams, methods.list_tools),
        "tools/call": (CallToolRequestParams, methods.call_tool),
        "resources/list": (PaginatedRequestParams, methods.list_resources),
        "resources/templates/list": (PaginatedRequestParams, methods.list_templates),
        "resources/read": (ReadResourceRequestParams, methods.read_resource),
        "resources/subscribe": (SubscribeRequestParams, methods.subscribe),
        "resources/unsubscribe": (UnsubscribeRequestParams, methods.unsubscribe),
        "subscriptions/listen": (SubscriptionsListenRequestParams, methods.listen),
    }
    handle(server, handlers)
    return server


BRIDGE: Final = "/mcp/bridge"


class BridgeFace:
    """An ASGI application, to be called while `running` is open. It asks its callers nothing, so
    that all of the later era is the SDK's."""

    def __init__(self, use: BridgeUses) -> None:
        self._background = Background()
        following = Following(use=use, start=self._background.start)
        self._subscribed = Subscribed(following)
        methods = BridgeMethods(
            use, BridgeCalls(use), BridgeResources(use), following, self._subscribed
        )
        self._server = build_bridge_server(methods, use.version)
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
            if scope["path"] != BRIDGE:
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

    async def _legacy(self, scope: Scope, receive: Receive, send: Send) -> None:
        session = session_named(scope)
        if scope["method"] != "GET" or session is None:
            await self._sessions(knock_of(scope), scope, receive, send)
            return
        async with self._subscribed.open_stream(session, send) as hearing:
            await self._sessions(knock_of(scope), scope, receive, hearing)

    async def _options(self, _knock: McpRequestContext) -> InitializationOptions:
        return self._server.create_initialization_options()
