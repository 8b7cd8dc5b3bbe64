"""The MCP server of the bridge, met by both eras: each method decodes, calls, and encodes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from mcp.server.caching import CacheableMethod, CacheHint
from mcp.server.lowlevel import Server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler
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

from portico.interfaces.mcp.answers import Result, refusal
from portico.interfaces.mcp.bridge.addresses import uri_of
from portico.interfaces.mcp.bridge.calls import BridgeCalls
from portico.interfaces.mcp.bridge.errors import for_a_model
from portico.interfaces.mcp.bridge.following import MOST_OF_ONE, Followed, Following
from portico.interfaces.mcp.bridge.resources import TEMPLATES, BridgeResources
from portico.interfaces.mcp.bridge.subscribed import Subscribed
from portico.interfaces.mcp.bridge.tools import INSTRUCTIONS, schema_of, shown_to
from portico.interfaces.mcp.bridge.uses import BridgeUses
from portico.interfaces.mcp.knock import Knock
from portico.interfaces.mcp.telling import Context, Handler, handle, knock_in, session_in
from portico.kernel.errors import Kind, PorticoError

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

    async def discover(self, _context: Context, _params: RequestParams) -> Result:
        return {
            "supportedVersions": list(MODERN_PROTOCOL_VERSIONS),
            "capabilities": {
                "tools": {"listChanged": False},
                "resources": {"listChanged": False, "subscribe": True},
            },
            "instructions": INSTRUCTIONS,
        }

    async def list_tools(self, context: Context, _params: PaginatedRequestParams) -> Result:
        return {"tools": [tool.listed() for tool in shown_to(knock_in(context).caller)]}

    async def call_tool(self, context: Context, params: CallToolRequestParams) -> Result:
        try:
            return await self.calls(knock_in(context).caller, params.name, params.arguments or {})
        except PorticoError as error:
            return refusal(for_a_model(error))

    async def list_resources(self, context: Context, _params: PaginatedRequestParams) -> Result:
        return {"resources": [*await self.resources.all(knock_in(context).caller)]}

    async def list_templates(self, _context: Context, _params: PaginatedRequestParams) -> Result:
        return {"resourceTemplates": list(TEMPLATES)}

    async def read_resource(self, context: Context, params: ReadResourceRequestParams) -> Result:
        return await self.resources.read(knock_in(context).caller, params.uri)

    async def subscribe(self, context: Context, params: SubscribeRequestParams) -> Result:
        session = session_in(context)
        if session.connection is None:
            raise RuntimeError("a session that is not connected")
        await self.subscribed.add(session.id, session.connection, knock_in(context), params.uri)
        return {}

    async def unsubscribe(self, context: Context, params: UnsubscribeRequestParams) -> Result:
        await self.subscribed.remove(session_in(context).id, params.uri)
        return {}

    async def listen(
        self, context: Context, params: SubscriptionsListenRequestParams
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

    async def _opened(self, knock: Knock, uris: Sequence[str]) -> Sequence[Followed]:
        await self.use.bridge.talk.who_am_i(knock.caller)  # whoever may not read may not listen
        opened: list[Followed] = []
        try:
            for uri in list(dict.fromkeys(uris))[:MOST_OF_ONE]:
                opened += await self._followed(knock, uri)
        except BaseException:
            await self.following.end(opened)
            raise
        return opened

    async def _followed(self, knock: Knock, uri: str) -> Sequence[Followed]:
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
