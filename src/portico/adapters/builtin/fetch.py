"""`fetch`: what is at an address of the web, past the gate that judges every address."""

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

    async def __call__(self, arguments: JsonObject, errand: Errand) -> Answer:
        request = Request(
            url=given.text(arguments, "url"),
            method=given.text(arguments, "method", "GET"),
            headers=given.texts(arguments, "headers"),
            seconds=min(SECONDS, errand.seconds),
            largest=LARGEST,
            redirects=REDIRECTS,
        )
        web = await self.open_web()
        return answer(await web.fetch(request))
