"""The MCP server that both eras meet: each method decodes, calls one use case, and encodes."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from mcp.server.caching import CacheableMethod, CacheHint
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.models import InitializationOptions
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler
from mcp.shared.subscriptions import ServerEvent, event_to_notification
from mcp_types import (
    CallToolRequestParams,
    CompleteRequestParams,
    GetPromptRequestParams,
    NotificationParams,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    RequestParams,
    SetLevelRequestParams,
    SubscriptionsListenRequestParams,
    SubscriptionsListenResult,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel

from portico.interfaces.mcp.answers import Result, refusal
from portico.interfaces.mcp.audience import Audience
from portico.interfaces.mcp.knock import Knock
from portico.interfaces.mcp.legacy_line import LegacyLine
from portico.interfaces.mcp.offering import Offering
from portico.interfaces.mcp.telling import Context, Handler, handle, knock_in, session_in
from portico.interfaces.mcp.uses import GatewayUses
from portico.kernel.errors import PorticoError
from portico.kernel.json import JsonObject

_INSTRUCTIONS: Final = (
    "Many tools stand behind this server. Find the right one with search_tools, then call it by"
    " its name with the call_ tool that the search names."
)
_LISTS: Final[Sequence[CacheableMethod]] = (
    "tools/list",
    "resources/list",
    "resources/templates/list",
    "prompts/list",
    "server/discover",
)
_HINTS: Final = {method: CacheHint(ttl_ms=0, scope="private") for method in _LISTS}
"""What one caller is shown is no other's, and an approval counts at once."""


@dataclass(frozen=True, slots=True)
class Methods:
    use: GatewayUses
    offering: Offering
    audience: Audience

    async def discover(self, server: Server[Any], context: Context) -> Result:
        capabilities = server.get_capabilities(protocol_version=context.protocol_version)
        told = capabilities.model_dump(by_alias=True, exclude_none=True)
        told["resources"]["subscribe"] = False  # one of a server behind us would have to tell us
        return {
            "supportedVersions": list(MODERN_PROTOCOL_VERSIONS),
            "capabilities": told,
            "instructions": await self.instructions(knock_in(context)),
        }

    async def instructions(self, knock: Knock) -> str | None:
        if knock.server is None:
            return _INSTRUCTIONS
        return (await self.use.list_server_tools(knock.caller, knock.server)).said or None

    async def list_tools(self, context: Context, _params: PaginatedRequestParams) -> Result:
        knock = knock_in(context)
        if knock.server is None:
            return {"tools": list((await self.use.show_surface(knock.caller)).tools)}
        return {"tools": list((await self.use.list_server_tools(knock.caller, knock.server)).tools)}

    async def call_tool(self, context: Context, params: CallToolRequestParams) -> Result:
        line = LegacyLine(context, params.name, session_in(context).log_level)
        given = params.arguments or {}
        try:
            return await self.offering.call(
                knock_in(context), params.name, given, line, modern=False
            )
        except PorticoError as error:
            return refusal(error)

    async def list_resources(self, context: Context, _params: PaginatedRequestParams) -> Result:
        knock = knock_in(context)
        offers = await self.use.list_offers(knock.caller, knock.server)
        return {"resources": list(offers.resources)}

    async def list_templates(self, context: Context, _params: PaginatedRequestParams) -> Result:
        knock = knock_in(context)
        offers = await self.use.list_offers(knock.caller, knock.server)
        return {"resourceTemplates": list(offers.resource_templates)}

    async def list_prompts(self, context: Context, _params: PaginatedRequestParams) -> Result:
        knock = knock_in(context)
        offers = await self.use.list_offers(knock.caller, knock.server)
        return {"prompts": list(offers.prompts)}

    async def read_resource(self, context: Context, params: ReadResourceRequestParams) -> Result:
        line = LegacyLine(context, params.uri, session_in(context).log_level)
        return await self.offering.resource(knock_in(context), params.uri, line)

    async def get_prompt(self, context: Context, params: GetPromptRequestParams) -> Result:
        line = LegacyLine(context, params.name, session_in(context).log_level)
        given: JsonObject = params.arguments or {}
        return await self.offering.prompt(knock_in(context), params.name, given, line)

    async def complete(self, context: Context, params: CompleteRequestParams) -> Result:
        knock = knock_in(context)
        asked = params.model_dump(by_alias=True, mode="json", exclude_none=True)
        asked.pop("_meta", None)
        return dict(await self.use.complete(knock.caller, asked, server=knock.server))

    async def set_level(self, context: Context, params: SetLevelRequestParams) -> Result:
        session_in(context).log_level = params.level
        return {}

    async def listen(
        self, context: Context, params: SubscriptionsListenRequestParams
    ) -> SubscriptionsListenResult:
        bus = InMemorySubscriptionBus()
        async with self.audience.joined(knock_in(context), bus.publish):
            return await ListenHandler(bus)(context, params)

    async def greeted(self, context: Context, _params: NotificationParams) -> None:
        """The handshake is over: from now on the session hears of changes, until it ends."""
        session = session_in(context)
        connection = session.connection
        if connection is None or session.hears_changes:
            return
        session.hears_changes = True

        async def tell(event: ServerEvent) -> None:
            told = event_to_notification(event, {})
            await connection.outbound.notify(told.method, None)

        with suppress(PorticoError):  # whoever may not list has nothing to hear of
            await connection.exit_stack.enter_async_context(
                self.audience.joined(knock_in(context), tell)
            )


def build_server(methods: Methods, version: str) -> Server[Any]:
    server: Server[Any] = Server("portico", title="Portico", version=version, cache_hints=_HINTS)  # ty: ignore[no-matching-overload] # checked by mypy

    async def discover(context: Context, _params: RequestParams) -> Result:
        return await methods.discover(server, context)

    handlers: Mapping[str, tuple[type[BaseModel], Handler]] = {
        "server/discover": (RequestParams, discover),
        "tools/list": (PaginatedRequestParams, methods.list_tools),
        "tools/call": (CallToolRequestParams, methods.call_tool),
        "resources/list": (PaginatedRequestParams, methods.list_resources),
        "resources/templates/list": (PaginatedRequestParams, methods.list_templates),
        "resources/read": (ReadResourceRequestParams, methods.read_resource),
        "prompts/list": (PaginatedRequestParams, methods.list_prompts),
        "prompts/get": (GetPromptRequestParams, methods.get_prompt),
        "completion/complete": (CompleteRequestParams, methods.complete),
        "logging/setLevel": (SetLevelRequestParams, methods.set_level),
        "subscriptions/listen": (SubscriptionsListenRequestParams, methods.listen),
    }
    handle(server, handlers)
    server.add_notification_handler(
        "notifications/initialized", NotificationParams, methods.greeted
    )
    return server


def options(server: Server[Any], instructions: str | None) -> InitializationOptions:
    changes = NotificationOptions(prompts_changed=True, resources_changed=True, tools_changed=True)
    made = server.create_initialization_options(changes)
    return made.model_copy(update={"instructions": instructions})
