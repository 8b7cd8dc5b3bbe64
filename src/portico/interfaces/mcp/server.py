"""The MCP server of the gateway: its methods, list changes, and requests to clients with a
session.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Final

from mcp.server.caching import CacheableMethod, CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.models import InitializationOptions
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp.shared.subscriptions import (
    PromptsListChanged,
    ResourcesListChanged,
    ServerEvent,
    ToolsListChanged,
    event_to_notification,
)
from mcp_types import (
    CallToolRequestParams,
    CompleteRequestParams,
    CreateMessageResult,
    CreateMessageResultWithTools,
    ElicitResult,
    GetPromptRequestParams,
    ListRootsResult,
    LoggingMessageNotification,
    LoggingMessageNotificationParams,
    NotificationParams,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    RequestParams,
    Result,
    SetLevelRequestParams,
    SubscriptionsListenRequestParams,
    SubscriptionsListenResult,
)
from mcp_types.methods import parse_server_request
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel, ValidationError

from portico.gateway.core.calls import ClientCapability, Question
from portico.gateway.core.errors import InputRefused, InputUnsupported
from portico.interfaces.mcp import pending_calls
from portico.interfaces.mcp.pending_calls import Capabilities, Hearing
from portico.interfaces.mcp.request_context import GatewayUses, McpRequestContext, TooManyListening
from portico.interfaces.mcp.sessions import Handler, SdkRequestContext, handle, knock_in, session_in
from portico.interfaces.mcp.stateless_protocol import Offering
from portico.interfaces.mcp.tool_values import Result as ToolResult
from portico.interfaces.mcp.tool_values import refusal
from portico.kernel.errors import PorticoError
from portico.kernel.ids import SpaceId
from portico.kernel.json import JsonObject

_MOST: Final = 10_000
_NOW_AND_THEN: Final = 60.0
"""Seconds; the bus may lose a word, and the tools that somebody uses most change silently."""
_SETTLE: Final = 0.2
"""Seconds; one approval changes several things."""
_PATIENCE: Final = 1.0
"""Seconds to take in a notice; who does not will see the change when it lists again."""
_log: Final = logging.getLogger("portico.mcp")

Tell = Callable[[ServerEvent], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class _Lists:
    tools: Sequence[JsonObject]
    resources: Sequence[Sequence[JsonObject]]
    prompts: Sequence[JsonObject]

    def changed_from(self, before: "_Lists") -> Sequence[ServerEvent]:
        changed: list[ServerEvent] = []
        if self.tools != before.tools:
            changed.append(ToolsListChanged())
        if self.resources != before.resources:
            changed.append(ResourcesListChanged())
        if self.prompts != before.prompts:
            changed.append(PromptsListChanged())
        return changed


@dataclass(slots=True, eq=False)
class _Listener:
    knock: McpRequestContext
    tell: Tell
    seen: _Lists


@dataclass(slots=True, kw_only=True)
class Audience:
    use: GatewayUses
    start: Callable[..., "asyncio.Task[None]"]
    settle: float = _SETTLE
    _of: dict[SpaceId, set[_Listener]] = field(default_factory=dict)
    _watching: dict[SpaceId, "asyncio.Task[None]"] = field(default_factory=dict)

    @asynccontextmanager
    async def joined(self, knock: McpRequestContext, tell: Tell) -> AsyncIterator[None]:
        """Raises `TooManyListening`, and what listing raises."""
        if sum(map(len, self._of.values())) >= _MOST:
            raise TooManyListening
        listener = _Listener(knock, tell, await self._look(knock))
        space = knock.caller.space
        if space not in self._of:
            self._of[space] = set()
            self._watching[space] = self.start(self._watch(space))
        self._of[space].add(listener)
        try:
            yield
        finally:
            self._of[space].discard(listener)
            if not self._of[space]:
                del self._of[space]
                self._watching.pop(space).cancel()

    async def _watch(self, space: SpaceId) -> None:
        with self.use.changes(space) as wakeups:
            while True:
                with suppress(TimeoutError):
                    async with asyncio.timeout(_NOW_AND_THEN):
                        await wakeups.wait()
                await asyncio.sleep(self.settle)
                for listener in list(self._of.get(space, ())):
                    await self._tell(listener)

    async def _tell(self, listener: _Listener) -> None:
        try:
            now = await self._look(listener.knock)
            changed, listener.seen = now.changed_from(listener.seen), now
            async with asyncio.timeout(_PATIENCE):
                for event in changed:
                    await listener.tell(event)
        except (PorticoError, TimeoutError):
            _log.debug("a listener was not told of a changed list", exc_info=True)

    async def _look(self, knock: McpRequestContext) -> _Lists:
        """All of it lies in memory."""
        caller, server = knock.caller, knock.server
        offers = await self.use.list_offers(caller, server)
        if server is None:
            tools = (await self.use.show_surface(caller)).tools
        else:
            tools = (await self.use.list_server_tools(caller, server)).tools
        return _Lists(tools, (offers.resources, offers.resource_templates), offers.prompts)


_LONGEST: Final = 300.0
"""Seconds for a person to answer: meanwhile others may be waiting for the same server."""

_ANSWERS: Final[Mapping[ClientCapability, type[Result]]] = {
    ClientCapability.ELICITATION: ElicitResult,
    ClientCapability.SAMPLING: CreateMessageResult,
    ClientCapability.ROOTS: ListRootsResult,
}


@dataclass(frozen=True, slots=True)
class LegacyChannel:
    context: ServerRequestContext[Any, Any]
    subject: str
    log_level: str
    """What its session wants to hear of the server's log."""

    @property
    def able(self) -> AbstractSet[ClientCapability]:
        return pending_calls.able(self._capabilities)

    async def progress(self, done: float, total: float | None, message: str | None) -> None:
        await self.context.session.report_progress(done, total, message)

    async def log(self, params: JsonObject) -> None:
        if not Hearing(log_level=self.log_level).hears(params.get("level")):
            return
        try:
            told = LoggingMessageNotificationParams.model_validate(params)
        except ValidationError:
            return
        await self.context.session.send_notification(
            LoggingMessageNotification(params=told), self.context.request_id
        )

    async def ask(self, question: Question) -> JsonObject:
        pending_calls.check(question, self._capabilities, self.subject)
        session, version = self.context.session, self.context.protocol_version
        try:
            request: Any = parse_server_request(question.wanted.value, version, question.params)
        except (KeyError, ValidationError) as error:  # older than this kind of question
            raise InputUnsupported(self.subject, question.wanted.value) from error
        try:
            async with asyncio.timeout(_LONGEST):
                answer = await session.send_request(
                    request,
                    _answer_to(question),
                    metadata=ServerMessageMetadata(related_request_id=self.context.request_id),
                )
        except TimeoutError as error:
            raise InputRefused(question.wanted.value, "nobody answered in time") from error
        except (MCPError, ValidationError) as error:
            raise InputRefused(question.wanted.value, _reason(error)) from error
        return answer.model_dump(by_alias=True, mode="json", exclude_none=True)

    @property
    def _capabilities(self) -> Capabilities:
        said = self.context.session.client_capabilities
        return {} if said is None else said.model_dump(by_alias=True, exclude_none=True)


def _answer_to(question: Question) -> type[Result]:
    tools = question.wanted is ClientCapability.SAMPLING and question.params.get("tools")
    return CreateMessageResultWithTools if tools else _ANSWERS[question.wanted]


def _reason(error: MCPError | ValidationError) -> str:
    return error.message if isinstance(error, MCPError) else "what it sent is no answer"


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

    async def discover(self, server: Server[Any], context: SdkRequestContext) -> ToolResult:
        capabilities = server.get_capabilities(protocol_version=context.protocol_version)
        told = capabilities.model_dump(by_alias=True, exclude_none=True)
        told["resources"]["subscribe"] = False  # one of a server behind us would have to tell us
        return {
            "supportedVersions": list(MODERN_PROTOCOL_VERSIONS),
            "capabilities": told,
            "instructions": await self.instructions(knock_in(context)),
        }

    async def instructions(self, knock: McpRequestContext) -> str | None:
        if knock.server is None:
            return _INSTRUCTIONS
        return (await self.use.list_server_tools(knock.caller, knock.server)).said or None

    async def list_tools(
        self, context: SdkRequestContext, _params: PaginatedRequestParams
    ) -> ToolResult:
        knock = knock_in(context)
        if knock.server is None:
            return {"tools": list((await self.use.show_surface(knock.caller)).tools)}
        return {"tools": list((await self.use.list_server_tools(knock.caller, knock.server)).tools)}

    async def call_tool(
        self, context: SdkRequestContext, params: CallToolRequestParams
    ) -> ToolResult:
        line = LegacyChannel(context, params.name, session_in(context).log_level)
        given = params.arguments or {}
        try:
            return await self.offering.call(
                knock_in(context), params.name, given, line, modern=False
            )
        except PorticoError as error:
            return refusal(error)

    async def list_resources(
        self, context: SdkRequestContext, _params: PaginatedRequestParams
    ) -> ToolResult:
        knock = knock_in(context)
        offers = await self.use.list_offers(knock.caller, knock.server)
        return {"resources": list(offers.resources)}

    async def list_templates(
        self, context: SdkRequestContext, _params: PaginatedRequestParams
    ) -> ToolResult:
        knock = knock_in(context)
        offers = await self.use.list_offers(knock.caller, knock.server)
        return {"resourceTemplates": list(offers.resource_templates)}

    async def list_prompts(
        self, context: SdkRequestContext, _params: PaginatedRequestParams
    ) -> ToolResult:
        knock = knock_in(context)
        offers = await self.use.list_offers(knock.caller, knock.server)
        return {"prompts": list(offers.prompts)}

    async def read_resource(
        self, context: SdkRequestContext, params: ReadResourceRequestParams
    ) -> ToolResult:
        line = LegacyChannel(context, params.uri, session_in(context).log_level)
        return await self.offering.resource(knock_in(context), params.uri, line)

    async def get_prompt(
        self, context: SdkRequestContext, params: GetPromptRequestParams
    ) -> ToolResult:
        line = LegacyChannel(context, params.name, session_in(context).log_level)
        given: JsonObject = params.arguments or {}
        return await self.offering.prompt(knock_in(context), params.name, given, line)

    async def complete(
        self, context: SdkRequestContext, params: CompleteRequestParams
    ) -> ToolResult:
        knock = knock_in(context)
        asked = params.model_dump(by_alias=True, mode="json", exclude_none=True)
        asked.pop("_meta", None)
        return dict(await self.use.complete(knock.caller, asked, server=knock.server))

    async def set_level(
        self, context: SdkRequestContext, params: SetLevelRequestParams
    ) -> ToolResult:
        session_in(context).log_level = params.level
        return {}

    async def listen(
        self, context: SdkRequestContext, params: SubscriptionsListenRequestParams
    ) -> SubscriptionsListenResult:
        bus = InMemorySubscriptionBus()
        async with self.audience.joined(knock_in(context), bus.publish):
            return await ListenHandler(bus)(context, params)

    async def greeted(self, context: SdkRequestContext, _params: NotificationParams) -> None:
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

    async def discover(context: SdkRequestContext, _params: RequestParams) -> ToolResult:
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
