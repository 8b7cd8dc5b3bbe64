"""2026-07-28: requests that stand alone. What may be answered with a question is answered here,
everything else by the SDK.

A call passes through here on its shortest way: read once, checked once, and written once.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any, Final

from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError
from mcp.shared.inbound import validate_mcp_param_headers
from mcp_types import MISSING_REQUIRED_CLIENT_CAPABILITY, SERVER_INFO_META_KEY, ErrorData
from starlette.types import Message, Receive, Scope, Send

from portico.gateway.core.errors import InputUnsupported
from portico.interfaces.mcp.answers import BROKE, Result, error_data, refusal
from portico.interfaces.mcp.asking import missing
from portico.interfaces.mcp.conversation import Conversation
from portico.interfaces.mcp.errors import NoSuchQuestion
from portico.interfaces.mcp.exchange import Exchange, error_message, result_message
from portico.interfaces.mcp.knock import Knock, knock_of
from portico.interfaces.mcp.modern_request import ASKING, ModernRequest, read_request
from portico.interfaces.mcp.offering import Offering
from portico.interfaces.mcp.waiting import Waiting
from portico.kernel.errors import PorticoError

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

    async def _answer(self, knock: Knock, request: ModernRequest, exchange: Exchange) -> None:
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

    def _conversation(self, knock: Knock, request: ModernRequest) -> Conversation:
        """A new one, or that which waits for what this request brings. Raises `NoSuchQuestion`."""
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
        made.begin(self.offering(knock, request, made), self.start)
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
        if request.method == "tools/call" and not isinstance(error, NoSuchQuestion):
            return result_message(request.id, self._stamped(refusal(error)))
        uri = request.name if request.method == "resources/read" else None
        return error_message(request.id, error_data(error, uri=uri, modern=True))

    async def _header_error(self, knock: Knock, request: ModernRequest) -> ErrorData | None:
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
