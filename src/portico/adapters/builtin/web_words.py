"""What our two tools of the web have in common: how they are told where, and what they answer."""

from collections.abc import Awaitable, Callable, Mapping
from email.message import Message
from typing import Final

from portico.adapters.builtin.answers import content, told, words_of
from portico.adapters.builtin.tool import schema
from portico.gateway.core.calls import Answer
from portico.kernel.json import JsonObject
from portico.sandbox.core.profile import Fetched
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


def answer(fetched: Fetched) -> Answer:
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
