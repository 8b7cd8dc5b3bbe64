"""Requests to an ASGI application byte by byte: a client library would tidy up what we test."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.types import ASGIApp, Message

Header = tuple[bytes, bytes]
HERE: Header = (b"host", b"127.0.0.1:3100")


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def bearing(key: str) -> list[Header]:
    """What comes with a request in JSON that shows a key."""
    bearer = (b"authorization", f"Bearer {key}".encode())
    return [HERE, bearer, (b"content-type", b"application/json")]


def written(body: object) -> bytes:
    return b"" if body is None else json.dumps(body).encode()


def http_scope(method: str, path: str, headers: Sequence[Header], query: str) -> dict[str, Any]:
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.4"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": list(headers),
        "client": ("127.0.0.1", 50000),
        "server": ("127.0.0.1", 3100),
    }


async def ask(
    app: ASGIApp,
    method: str,
    path: str,
    *,
    headers: Sequence[Header] = (),
    body: bytes = b"",
    query: str = "",
) -> Answer:
    said: list[Message] = []
    parts = [body[at : at + 100_000] for at in range(0, len(body), 100_000)] or [b""]
    messages = iter(
        {"type": "http.request", "body": part, "more_body": number < len(parts) - 1}
        for number, part in enumerate(parts)
    )

    async def receive() -> Message:
        return next(messages, {"type": "http.disconnect"})

    async def send(message: Message) -> None:
        said.append(message)

    await app(http_scope(method, path, headers, query), receive, send)
    start = said[0]
    return Answer(
        start["status"],
        {name.decode().lower(): value.decode() for name, value in start["headers"]},
        b"".join(message.get("body", b"") for message in said[1:]),
    )
