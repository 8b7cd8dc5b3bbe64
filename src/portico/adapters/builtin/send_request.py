"""`send_request`: something is asked of the web that may change it."""

from dataclasses import dataclass
from typing import ClassVar, Final

from portico.adapters.builtin import given
from portico.adapters.builtin.tool import Errand, Everywhere, Offered, hints, schema
from portico.adapters.builtin.web_words import (
    BOUNDS,
    GIVES,
    HEADERS,
    LARGEST,
    REDIRECTS,
    SECONDS,
    URL,
    OpenWeb,
    answer,
)
from portico.gateway.core.calls import Answer
from portico.kernel.effect import Effect
from portico.kernel.json import JsonObject
from portico.sandbox.core.profile import Request

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

    async def __call__(self, arguments: JsonObject, errand: Errand) -> Answer:
        request = Request(
            url=given.text(arguments, "url"),
            method=given.text(arguments, "method"),
            headers=given.texts(arguments, "headers"),
            body=given.body(arguments),
            seconds=min(SECONDS, errand.seconds),
            largest=LARGEST,
            redirects=REDIRECTS,
        )
        web = await self.open_web()
        return answer(await web.fetch(request))
