"""A client of a stream, byte by byte, that reads when it is told to."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from starlette.types import ASGIApp, Message

from portico.interfaces.http.streaming import RawConnection, put_line
from tests.interfaces.http.asgi import Header, http_scope, written

PATIENCE = 30.0


@dataclass(frozen=True)
class Sent:
    """A server-sent event as a client understands it; a comment is one without a name."""

    event: str | None
    id: str | None
    data: Any


def understood(block: str) -> Sent:
    fields = dict(line.partition(":")[::2] for line in block.split("\n"))
    data = fields.get("data")
    return Sent(
        event=fields["event"].strip() if "event" in fields else None,
        id=fields["id"].strip() if "id" in fields else None,
        data=None if data is None else json.loads(data),
    )


class Stream:
    def __init__(self, sent: bytes = b"") -> None:
        self.sent = sent
        self.status: int | None = None
        self.headers: dict[str, str] = {}
        self.body = b""
        self.complete = False
        self.reads = asyncio.Event()
        """Cleared, it takes nothing more: whoever sends has to wait."""
        self.line = RawConnection(self.leave)
        self._news = asyncio.Event()
        self._left = asyncio.Event()
        self._asked = False
        self.reads.set()

    def leave(self) -> None:
        self._left.set()

    @property
    def messages(self) -> list[Sent]:
        blocks = self.body.decode().split("\n\n")[:-1]
        return [understood(block) for block in blocks if not block.startswith("retry:")]

    @property
    def events(self) -> list[Sent]:
        return [message for message in self.messages if message.event is not None]

    @property
    def names(self) -> list[str | None]:
        return [message.event for message in self.events]

    async def takes(self, count: int) -> Sequence[Sent]:
        """Waits until there have been so many events in all."""
        await self.until(lambda: len(self.events) >= count)
        return self.events

    async def until(self, reached: Any) -> None:
        async with asyncio.timeout(PATIENCE):
            while not reached():
                self._news.clear()
                await self._news.wait()

    async def receive(self) -> Message:
        if not self._asked:
            self._asked = True
            return {"type": "http.request", "body": self.sent, "more_body": False}
        await self._left.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        await self.reads.wait()
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = {
                name.decode().lower(): value.decode() for name, value in message["headers"]
            }
        else:
            self.body += message.get("body", b"")
            self.complete = not message.get("more_body", False)
        self._news.set()


@asynccontextmanager
async def streaming(
    app: ASGIApp,
    path: str,
    headers: Sequence[Header],
    query: str = "",
    *,
    lined: bool = True,
    body: object = None,
) -> AsyncIterator[Stream]:
    """Leaves at the end, and waits until the server has noticed. With a body it is a POST."""
    stream = Stream(written(body))
    scope = http_scope("GET" if body is None else "POST", path, headers, query)
    if lined:
        put_line(scope, stream.line)

    async def answering() -> None:
        await app(scope, stream.receive, stream.send)

    task = asyncio.create_task(answering())
    try:
        yield stream
    finally:
        stream.leave()
        stream.reads.set()
        async with asyncio.timeout(PATIENCE):
            await task
