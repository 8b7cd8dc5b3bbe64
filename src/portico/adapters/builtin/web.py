"""Built-in tools for the web, past the gate that judges every address: `fetch`, `send_request`."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from email.message import Message
from typing import ClassVar, Final

from portico.adapters.builtin import tool
from portico.adapters.builtin.tool import (
    Everywhere,
    Offered,
    ToolInvocation,
    content,
    hints,
    schema,
    told,
    words_of,
)
from portico.gateway.core.calls import ToolResult
from portico.kernel.effect import Effect
from portico.kernel.json import JsonObject
from portico.sandbox.core.profile import Fetched, Request
from portico.sandbox.requests import Web

OpenWeb = Callable[[], Awaitable[Web]]

SECONDS: Final = 30.0
LARGEST: Final = 5_000_000
REDIRECTS: Final = 3

URL: Final[JsonObject] = {
    "type": "string",
    "minLength": 1,
    "maxLength": 8192,
    "pattern": "^[hH][tT][tT][pP][sS]?://",
    "description": "Begins with http:// or https://.",
}
HEADERS: Final[JsonObject] = {
    "type": "object",
    "additionalProperties": {"type": "string", "maxLength": 8192},
    "maxProperties": 50,
    "description": "To be sent along, such as `Accept`.",
}
BOUNDS: Final = (
    "Only public addresses are reached, and those that an admin has allowed. "
    f"It may take {SECONDS:g} seconds, answer with {LARGEST // 1_000_000} MB and be sent on "
    f"{REDIRECTS} times. A status such as 404 is an answer, not an error."
)
GIVES: Final = schema(
    {
        "status": {"type": "integer"},
        "url": {"type": "string", "description": "Where the answer came from in the end."},
        "content_type": {"type": "string", "description": "As it was said; may be empty."},
        "headers": {"type": "object", "additionalProperties": {"type": "string"}},
        "text": {"type": "string"},
        "base64": {"type": "string", "description": "Instead of `text`, if it is none."},
    },
    required=["status", "url", "content_type", "headers"],
)


def answer(fetched: Fetched) -> ToolResult:
    kind = _header(fetched.headers, "content-type")
    shown = content(fetched.body, _charset(kind))
    facts: JsonObject = {
        "status": fetched.status,
        "url": fetched.url,
        "content_type": kind,
        "headers": dict(fetched.headers),
        **shown,
    }
    head = f"{fetched.status} {fetched.url} {kind}".rstrip()
    return told("\n\n".join([head, words_of(shown)]) if fetched.body else head, facts)


def _header(headers: Mapping[str, str], name: str) -> str:
    return next((value for key, value in headers.items() if key.lower() == name), "")


def _charset(kind: str) -> str:
    message = Message()
    message["content-type"] = kind.replace("\r", " ").replace("\n", " ")
    return message.get_content_charset("utf-8")


FETCH: Final = Offered(
    {
        "name": "fetch",
        "title": "Fetch from the web",
        "description": (
            "Fetch a web page, a file or the answer of an API over HTTP, without changing "
            f"anything there: as text, or as base64 if it is none. {BOUNDS}"
        ),
        "inputSchema": schema(
            {
                "url": URL,
                "method": {"enum": ["GET", "HEAD"], "default": "GET"},
                "headers": HEADERS,
            },
            required=["url"],
        ),
        "outputSchema": GIVES,
        "annotations": hints(reads=True, again=True, outside=True),
    },
    Effect.EXTERNAL_READ,
)


@dataclass(frozen=True, slots=True)
class Fetch(Everywhere):
    open_web: OpenWeb
    offered: ClassVar[Offered] = FETCH

    async def __call__(self, arguments: JsonObject, errand: ToolInvocation) -> ToolResult:
        request = Request(
            url=tool.text(arguments, "url"),
            method=tool.text(arguments, "method", "GET"),
            headers=tool.texts(arguments, "headers"),
            seconds=min(SECONDS, errand.seconds),
            largest=LARGEST,
            redirects=REDIRECTS,
        )
        web = await self.open_web()
        return answer(await web.fetch(request))


_LARGEST_SENT: Final = 1_000_000

SEND_REQUEST: Final = Offered(
    {
        "name": "send_request",
        "title": "Send a request to the web",
        "description": (
            "Send a POST, PUT, PATCH or DELETE request over HTTP, with a body from `text` or "
            f"`base64`, and get the answer. To only read, use `fetch`. {BOUNDS}"
        ),
        "inputSchema": schema(
            {
                "url": URL,
                "method": {"enum": ["POST", "PUT", "PATCH", "DELETE"]},
                "headers": HEADERS,
                "text": {"type": "string", "maxLength": _LARGEST_SENT},
                "base64": {
                    "type": "string",
                    "maxLength": _LARGEST_SENT // 3 * 4 + 4,
                    "description": "Instead of `text`, for bytes that are no text.",
                },
            },
            required=["url", "method"],
        ),
        "outputSchema": GIVES,
        "annotations": hints(destroys=True, outside=True),
    },
    Effect.EXTERNAL_WRITE,
)


@dataclass(frozen=True, slots=True)
class SendRequest(Everywhere):
    open_web: OpenWeb
    offered: ClassVar[Offered] = SEND_REQUEST

    async def __call__(self, arguments: JsonObject, errand: ToolInvocation) -> ToolResult:
        request = Request(
            url=tool.text(arguments, "url"),
            method=tool.text(arguments, "method"),
            headers=tool.texts(arguments, "headers"),
            body=tool.body(arguments),
            seconds=min(SECONDS, errand.seconds),
            largest=LARGEST,
            redirects=REDIRECTS,
        )
        web = await self.open_web()
        return answer(await web.fetch(request))
