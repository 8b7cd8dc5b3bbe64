"""MCP 2026-07-28: requests that stand alone, without a session."""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError
from mcp.shared.inbound import (
    InboundModernRoute,
    classify_inbound_request,
    validate_mcp_param_headers,
)
from mcp_types import (
    CLIENT_CAPABILITIES_META_KEY,
    LOG_LEVEL_META_KEY,
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    SERVER_INFO_META_KEY,
    ErrorData,
)
from mcp_types.methods import validate_client_request
from pydantic import ValidationError
from pydantic_core import from_json
from starlette.types import Message, Receive, Scope, Send

from portico.gateway.core.errors import InputUnsupported
from portico.gateway.core.resources_and_prompts import our_uri, whose_uri
from portico.gateway.ports import ClientChannel
from portico.interfaces.mcp.pending_calls import (
    Conversation,
    Exchange,
    Hearing,
    Waiting,
    error_message,
    missing,
    result_message,
)
from portico.interfaces.mcp.request_context import (
    ElicitationNotFound,
    GatewayUses,
    McpRequestContext,
    knock_of,
)
from portico.interfaces.mcp.tool_values import BROKE, Result, error_data, refusal
from portico.interfaces.mcp.tools import Calls
from portico.kernel.errors import PorticoError
from portico.kernel.json import JsonObject, JsonValue

# Only valid requests are read here. Any other is read again by the SDK, which says what is wrong
# with it in the protocol's words.

ASKING: Final = frozenset({"tools/call", "prompts/get", "resources/read"})
"""What may be answered with a question."""
_ROUTING: Final = frozenset({"mcp-protocol-version", "mcp-method", "mcp-name"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ModernRequest:
    id: str | int
    method: str
    params: Mapping[str, Any]
    headers: Mapping[str, str]

    @property
    def name(self) -> str:
        return str(self.params["uri" if self.method == "resources/read" else "name"])

    @property
    def arguments(self) -> JsonObject:
        return self.params.get("arguments") or {}

    @property
    def same(self) -> object:
        return self.method, self.name, self.arguments

    @property
    def capabilities(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self.params["_meta"][CLIENT_CAPABILITIES_META_KEY]
        return found

    @property
    def hearing(self) -> Hearing:
        meta = self.params["_meta"]
        return Hearing(
            progress_token=meta.get("progressToken"), log_level=meta.get(LOG_LEVEL_META_KEY)
        )

    @property
    def state(self) -> str | None:
        return self.params.get("requestState")

    @property
    def responses(self) -> Mapping[str, JsonObject]:
        return self.params.get("inputResponses") or {}


def read_request(raw_headers: Iterable[tuple[bytes, bytes]], body: bytes) -> ModernRequest | None:
    """None for what is not plainly one of those that may be answered with a question."""
    headers = _headers(raw_headers)
    if headers is None or not _acceptable(headers):
        return None
    try:
        message = from_json(body, allow_inf_nan=False)
    except ValueError:
        return None
    if not _is_request(message) or message["method"] not in ASKING:
        return None
    route = classify_inbound_request(message, headers=headers)
    if not isinstance(route, InboundModernRoute):
        return None
    try:
        validate_client_request(message["method"], route.protocol_version, message["params"])
    except (ValidationError, KeyError):
        return None
    return ModernRequest(
        id=message["id"], method=message["method"], params=message["params"], headers=headers
    )


def _headers(raw: Iterable[tuple[bytes, bytes]]) -> Mapping[str, str] | None:
    """None if one that decides something is there twice: two readers could differ about it."""
    headers: dict[str, str] = {}
    for name, value in raw:
        key = name.decode("latin-1")
        if key in headers and (key in _ROUTING or key.startswith("mcp-param-")):
            return None
        headers[key] = value.decode("latin-1")
    return headers


def _acceptable(headers: Mapping[str, str]) -> bool:
    accept = headers.get("accept", "")
    both = "application/json" in accept and "text/event-stream" in accept
    return (both or "*/*" in accept) and headers.get("content-type", "").startswith(
        "application/json"
    )


def _is_request(message: object) -> bool:
    return (
        isinstance(message, dict)
        and message.get("jsonrpc") == "2.0"
        and type(message.get("id")) in {str, int}
        and isinstance(message.get("method"), str)
        and isinstance(message.get("params"), dict)
    )


@dataclass(frozen=True, slots=True)
class Offering:
    use: GatewayUses

    async def __call__(
        self, knock: McpRequestContext, request: ModernRequest, line: ClientChannel
    ) -> Result:
        """Raises `PorticoError`."""
        if request.method == "tools/call":
            return await self.call(knock, request.name, request.arguments, line, modern=True)
        if request.method == "prompts/get":
            return await self.prompt(knock, request.name, request.arguments, line)
        read = await self.resource(knock, request.name, line)
        # It may change whenever its server likes, and nobody would tell.
        return {"ttlMs": 0, "cacheScope": "private", **read}

    async def call(
        self,
        knock: McpRequestContext,
        name: str,
        arguments: JsonObject,
        line: ClientChannel,
        *,
        modern: bool,
    ) -> Result:
        return await Calls(self.use)(knock, name, arguments, line, modern=modern)

    async def prompt(
        self, knock: McpRequestContext, name: str, arguments: JsonObject, line: ClientChannel
    ) -> Result:
        texts = {key: str(value) for key, value in arguments.items()}
        return dict(
            await self.use.get_prompt(knock.caller, name, texts, server=knock.server, line=line)
        )

    async def resource(self, knock: McpRequestContext, uri: str, line: ClientChannel) -> Result:
        read = dict(await self.use.read_resource(knock.caller, uri, server=knock.server, line=line))
        contents = read.get("contents")
        if knock.server is None and isinstance(contents, list):
            read["contents"] = [_under_our_name(uri, each) for each in contents]
        return read

    async def schema(self, knock: McpRequestContext, name: str) -> Mapping[str, Any] | None:
        """What a tool that is listed under its own name takes; None for those of the door.
        Raises `PorticoError`."""
        if knock.server is not None:
            return (await self.use.list_server_tools(knock.caller, knock.server)).schema(name)
        if Calls.is_own(name):
            return None
        surface = await self.use.show_surface(knock.caller)
        hot = next((tool for tool in surface.hot if tool.name == name), None)
        return None if hot is None else hot.input_schema


def _under_our_name(asked: str, content: JsonValue) -> JsonValue:
    """A client looks for what it has asked for, and can ask for what else came along."""
    if not isinstance(content, Mapping) or not isinstance(uri := content.get("uri"), str):
        return content
    return {**content, "uri": our_uri(whose_uri(asked)[0], uri)}


# What may need a question is answered here, everything else by the SDK. Calls take the shortest
# way: read once, checked once, written once.

_log: Final = logging.getLogger("portico.mcp")

Start = Callable[[Coroutine[Any, Any, Any]], "asyncio.Task[Any]"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Modern:
    offering: Offering
    waiting: Waiting
    start: Start
    """Begins what may outlast a request."""
    rest: StreamableHTTPSessionManager
    stamp: Mapping[str, Any]
    """Who answers, as the protocol wants it in each result."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "POST" or _header(scope, b"mcp-method") not in ASKING:
            await self.rest.handle_request(scope, receive, send)
            return
        body = await _read(receive)
        request = read_request(scope["headers"], body)
        if request is None:
            await self.rest.handle_request(scope, _replayed(body, receive), send)
            return
        await self._answer(knock_of(scope), request, Exchange(receive, send))

    async def _answer(
        self, knock: McpRequestContext, request: ModernRequest, exchange: Exchange
    ) -> None:
        try:
            if error := await self._header_error(knock, request):
                await exchange.answer(error_message(request.id, error))
                return
            conversation = self._conversation(knock, request)
        except PorticoError as error:
            await exchange.answer(self._refused(request, error))
            return
        if await exchange.follow(conversation, request.hearing):
            await exchange.answer(self._last_word(conversation, request))

    def _conversation(self, knock: McpRequestContext, request: ModernRequest) -> Conversation:
        """A new one, or that which waits for what this request brings. Raises
        `ElicitationNotFound`."""
        if request.state is not None:
            held = self.waiting.take(request.state, knock.owner, request.same)
            held.answer(request.responses)
            return held
        made = Conversation(
            knock.owner,
            request.name,
            request.same,
            request.capabilities,
            dict(request.responses),
        )
        made.start(self.offering(knock, request, made), self.start)
        return made

    def _last_word(self, conversation: Conversation, request: ModernRequest) -> dict[str, Any]:
        try:
            if not conversation.over:
                return result_message(request.id, self._stamped(self._asks(conversation)))
            return result_message(request.id, self._stamped(conversation.result()))
        except (PorticoError, MCPError) as error:
            return self._refused(request, error)
        except (Exception, asyncio.CancelledError):  # noqa: BLE001 # the edge of this face
            _log.exception("%s failed", request.method)
            return error_message(request.id, BROKE)

    def _asks(self, conversation: Conversation) -> Result:
        """Raises `TooManyWaiting`."""
        questions = {
            key: {"method": question.wanted.value, "params": dict(question.params)}
            for key, question in conversation.questions.items()
        }
        return {
            "resultType": "input_required",
            "inputRequests": questions,
            "requestState": self.waiting.hold(conversation),
        }

    def _stamped(self, result: Result) -> Result:
        """The name is that of whoever answers: it does not pass through from the server behind."""
        meta = {**(result.get("_meta") or {}), SERVER_INFO_META_KEY: self.stamp}
        return {"resultType": "complete", **result, "_meta": meta}

    def _refused(self, request: ModernRequest, error: PorticoError | MCPError) -> dict[str, Any]:
        if isinstance(error, MCPError):
            return error_message(request.id, error.error)
        if isinstance(error, InputUnsupported) and (needed := missing(error)):
            told = error_data(error, modern=True)
            data = {**told.data, "requiredCapabilities": needed}
            lacking = ErrorData(
                code=MISSING_REQUIRED_CLIENT_CAPABILITY, message=told.message, data=data
            )
            return error_message(request.id, lacking)
        if request.method == "tools/call" and not isinstance(error, ElicitationNotFound):
            return result_message(request.id, self._stamped(refusal(error)))
        uri = request.name if request.method == "resources/read" else None
        return error_message(request.id, error_data(error, uri=uri, modern=True))

    async def _header_error(
        self, knock: McpRequestContext, request: ModernRequest
    ) -> ErrorData | None:
        """A tool may want its arguments in headers too, and then both must say the same."""
        if request.method != "tools/call" or not (request.arguments or _has_params(request)):
            return None
        schema = await self.offering.schema(knock, request.name)
        if schema is None:
            return None
        wrong = validate_mcp_param_headers(schema, request.arguments, request.headers)
        return None if wrong is None else ErrorData(code=wrong.code, message=wrong.message)


def the_rest(server: Server[Any]) -> StreamableHTTPSessionManager:
    """The SDK's own way, for one request at a time."""
    return StreamableHTTPSessionManager(server, stateless=True)


def _has_params(request: ModernRequest) -> bool:
    return any(name.startswith("mcp-param-") for name in request.headers)


def _header(scope: Scope, name: bytes) -> str | None:
    for header, value in scope["headers"]:
        if header == name:
            found: bytes = value
            return found.decode("latin-1")
    return None


async def _read(receive: Receive) -> bytes:
    """Of a request that broke off, what there was."""
    parts = []
    while (message := await receive())["type"] == "http.request":
        parts.append(message.get("body", b""))
        if not message.get("more_body"):
            break
    return b"".join(parts)


def _replayed(body: bytes, receive: Receive) -> Receive:
    told = False

    async def again() -> Message:
        nonlocal told
        if told:
            return await receive()
        told = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again
