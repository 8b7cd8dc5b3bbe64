"""Middleware in front of everything: the allowed host and origin, and the size of a body."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from portico.interfaces.http.problems import problem_response
from portico.kernel.errors import Kind, PorticoError

# A browser lets any website send requests to 127.0.0.1, and a name of the attacker's can point
# there. Both carry a Host or an Origin that is not ours.

_LOOPBACK: Final = ("127.0.0.1", "localhost", "[::1]")


class HostRefused(PorticoError):
    kind = Kind.DENIED
    code = "host_refused"
    title = "Not the name of this server"
    fix = "Use the address that `portico status` shows, or set server.public_url to your own name."

    def __init__(self) -> None:
        super().__init__("The Host header does not name this server.")


class OriginRefused(PorticoError):
    kind = Kind.DENIED
    code = "origin_refused"
    title = "Not from a page of this server"
    fix = "Call from this server's own pages or without a browser; or set server.public_url."

    def __init__(self) -> None:
        super().__init__("The Origin header names another site.")


@dataclass(frozen=True, slots=True)
class Allowed:
    """Exact texts: anything that would need interpreting is not one of them."""

    hosts: frozenset[str]
    origins: frozenset[str]


def allowed(port: int, public_url: str | None) -> Allowed:
    hosts = {f"{name}:{port}" for name in _LOOPBACK}
    if port == 80:
        hosts |= set(_LOOPBACK)
    origins = {f"http://{host}" for host in hosts}
    if public_url is not None:
        origins.add(public_url.lower())
        hosts.add(urlsplit(public_url).netloc.lower())
    return Allowed(frozenset(hosts), frozenset(origins))


class HostGuard:
    def __init__(self, app: ASGIApp, allowed: Allowed) -> None:
        self._app = app
        self._allowed = allowed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
        elif not _only(scope["headers"], b"host", self._allowed.hosts, missing=False):
            await problem_response(HostRefused())(scope, receive, send)
        elif not _only(scope["headers"], b"origin", self._allowed.origins, missing=True):
            await problem_response(OriginRefused())(scope, receive, send)
        else:
            await self._app(scope, receive, send)


def _only(
    headers: Iterable[tuple[bytes, bytes]], name: bytes, texts: frozenset[str], *, missing: bool
) -> bool:
    """Whether the header is there once, with one of `texts`."""
    found = [value for header, value in headers if header.lower() == name]
    if not found:
        return missing
    return len(found) == 1 and found[0].decode("latin-1").lower() in texts


MOST: Final = 1_000_000


class BodyLimit:
    """Counts what is read, whatever the request says of its own length; 413 past the limit."""

    def __init__(self, app: ASGIApp, larger: Sequence[tuple[re.Pattern[str], int]] = ()) -> None:
        """`larger`: paths that take more, and how much."""
        self._app = app
        self._larger = larger

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        read, most = 0, self._most(scope["path"])

        async def counted() -> Message:
            nonlocal read
            message = await receive()
            read += len(message.get("body", b""))
            if read > most:
                raise HTTPException(413)
            return message

        await self._app(scope, counted, send)

    def _most(self, path: str) -> int:
        return next((most for each, most in self._larger if each.fullmatch(path)), MOST)
