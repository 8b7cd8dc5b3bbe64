"""Somebody's address: what is sent there is what its configuration says, and nothing of a caller.

Not an `httpx2.AsyncClient`: that keeps cookies, follows redirects and looks for credentials, each
of which would one day carry something of one server, or of one space, to another. Its transport
does none of this. The context for TLS is what is dear to build, and shared; the connections are
each server's own, so that one that hangs uses up no one else's. They lead to the host and port that
stand in the launch that was approved, whatever these are, and nowhere else.
"""

import asyncio
import base64
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from copy import copy
from typing import Final, TypeAlias
from urllib.parse import unquote

import httpx2

from portico.adapters.egress.dialer import Dialer
from portico.adapters.egress.transport import GuardedTransport, environment_proxy, place_of
from portico.adapters.mcp.resolve import Address
from portico.adapters.mcp.wire import Broken, Crowded, Spoilt
from portico.sandbox.core.errors import AddressRefused

_PATIENCE: Final = {"connect": 10.0, "write": 30.0, "pool": 10.0, "read": None}
_BEFORE_SENT: Final = "http11.send_request_headers.started"
_FOLLOWED: Final = 3
_SAME_METHOD: Final = frozenset({307, 308})
_ASIDE: Final = range(300, 400)
_EVENTS: Final = "text/event-stream"
JSON: Final = "application/json"
_UNKNOWN: Final = 401
_NOBODY_THERE: Final = frozenset({401, 403, 404, 410, 502, 503, 504})
_NOT_TO_BE_GIVEN: Final = frozenset(
    {
        *("accept", "content-type", "content-length", "transfer-encoding", "connection", "host"),
        *("mcp-protocol-version", "mcp-method", "mcp-name", "mcp-session-id", "last-event-id"),
    }
)
"""Headers of the connection and of the protocol; a configuration that sets them would break it."""


Bearer: TypeAlias = Callable[[str | None], Awaitable[str]]
"""The token of whoever's conversation it is; given one that was refused, another. Raises
`NotLoggedIn`."""


class Status(Broken):
    """An answer of HTTP alone: nobody who speaks the protocol gave it."""

    def __init__(self, number: int, response: httpx2.Response | None = None) -> None:
        reason, fix = _meaning(number)
        super().__init__(reason, reached=number >= 500, fix=fix)
        self.number = number
        if number == _UNKNOWN and response is not None:
            self.login = response.headers.get("www-authenticate", "")

    @property
    def final(self) -> bool:
        """Not if it may be due to what was asked alone."""
        return self.number in _NOBODY_THERE


class NotLoggedIn(Broken):
    """Nobody has asked the server: there is no token to ask it with."""

    def __init__(self) -> None:
        super().__init__("whoever is calling is not logged in there", reached=False)
        self.login = ""


class Endpoint:
    def __init__(
        self,
        address: Address,
        tls: ssl.SSLContext,
        dialer: Dialer,
        *,
        largest: int,
        bearer: Bearer | None = None,
    ) -> None:
        """`bearer` is asked for the token of each request, at the moment in which it is made."""
        self.url = _parsed(address.url)
        self.largest = largest
        self._headers = _given(self.url, address.headers)
        self._transport = _way(self.url, tls, dialer)
        self._bearer = bearer
        self._ended = asyncio.Event()

    def sibling(self, place: str) -> "Endpoint":
        """Another address of the same host, over the same connections. Raises `Broken`."""
        other = copy(self)
        other.url = self._joined(place)
        if not self._same_host(other.url):
            raise Broken("it sends us to another host, where its credentials do not belong")
        return other

    def end(self) -> None:
        """Whoever still waits for a token, or for a connection, sends nothing any more."""
        self._ended.set()

    async def close(self) -> None:
        self.end()
        with suppress(httpx2.HTTPError):
            await self._transport.aclose()

    async def post(self, body: bytes, headers: Mapping[str, str]) -> httpx2.Response:
        """Raises `Broken`, `Crowded`."""
        accepted = {"accept": f"{JSON}, {_EVENTS}", "content-type": JSON, **headers}
        return await self._send("POST", accepted, body)

    async def listen(self, headers: Mapping[str, str]) -> httpx2.Response:
        """Raises `Broken`, `Crowded`."""
        return await self._send("GET", {"accept": _EVENTS, "cache-control": "no-store", **headers})

    async def delete(self, headers: Mapping[str, str]) -> httpx2.Response:
        """The farewell: it is sent even after the end. Raises `Broken`, `Crowded`."""
        return await self._send("DELETE", headers)

    async def _send(
        self, method: str, headers: Mapping[str, str], body: bytes = b""
    ) -> httpx2.Response:
        for _ in range(_FOLLOWED):
            response = await self._as_somebody(method, headers, body)
            if response.status_code not in _ASIDE:
                return response
            self.url = await self._aside(method, response)
        raise Broken("it sends us from one address to the next", reached=False)

    async def _as_somebody(
        self, method: str, headers: Mapping[str, str], body: bytes
    ) -> httpx2.Response:
        """In the name of whose conversation it is. What was not let in has not been done, so that
        it is sent again with a newer token, once."""
        if self._bearer is None:
            return await self._sent(method, headers, body)
        token = await self._bearer(None)
        response = await self._sent(method, _with(headers, token), body)
        if response.status_code != _UNKNOWN:
            return response
        await response.aclose()
        newer = await self._bearer(token)
        return await self._sent(method, _with(headers, newer), body)

    async def _sent(self, method: str, headers: Mapping[str, str], body: bytes) -> httpx2.Response:
        watched = {} if method == "DELETE" else self._watched()
        try:
            made = httpx2.Request(
                method,
                self.url,
                headers=[*self._headers, *headers.items()],
                content=body,
                extensions={"timeout": _PATIENCE, **watched},
            )
            response = await self._transport.handle_async_request(made)
        except httpx2.PoolTimeout as error:
            raise Crowded("too many calls to it are under way") from error
        except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.ProxyError) as error:
            raise Broken(f"no connection to {self.url.host}: {error}", reached=False) from error
        except (httpx2.LocalProtocolError, UnicodeEncodeError) as error:
            # What it says may quote the header, and that may be the secret.
            raise Broken("one of its headers cannot be sent", reached=False) from error
        except httpx2.HTTPError as error:
            raise Broken(f"the connection broke off: {error}") from error
        response.request = made
        return response

    def _watched(self) -> Mapping[str, object]:
        """Looked at now, and again once there is a connection: to close those that are open closes
        none that is still being made. Raises `Broken`."""

        async def trace(event: str, _facts: Mapping[str, object]) -> None:
            if event == _BEFORE_SENT:
                self._check_not_ended()

        self._check_not_ended()
        return {"trace": trace}

    def _check_not_ended(self) -> None:
        if self._ended.is_set():
            raise Broken("it was ended", reached=False)

    async def _aside(self, method: str, response: httpx2.Response) -> httpx2.URL:
        """Only to another path of the same host, and only if we may send the same again there:
        what we send was given to us for this host."""
        await response.aclose()
        target = self._joined(response.headers.get("location", ""))
        again = response.status_code in _SAME_METHOD or method == "GET"
        if not self._same_host(target) or not again or target == self.url:
            shown = target.copy_with(userinfo=b"", query=None, fragment=None)
            raise Broken(
                f"it sends us on to {shown}, where its credentials do not belong",
                reached=False,
                fix=f"If that is where it lives now, set its address to {shown}.",
            )
        return target

    def _joined(self, place: str) -> httpx2.URL:
        try:
            return self.url.join(place)
        except httpx2.InvalidURL as error:
            raise Broken("it sends us to an address that is none", reached=False) from error

    def _same_host(self, other: httpx2.URL) -> bool:
        ours = self.url
        same = (other.scheme, other.host, other.port) == (ours.scheme, ours.host, ours.port)
        return same and other.userinfo in {b"", ours.userinfo}


async def whole(response: httpx2.Response, largest: int) -> bytes:
    """Raises `Broken`, and `Spoilt` if it is too long."""
    pieces, size = [], 0
    async for piece in _pieces(response):
        size += len(piece)
        if size > largest:
            raise Spoilt("its answer is too long")
        pieces.append(piece)
    return b"".join(pieces)


async def events(response: httpx2.Response, largest: int) -> AsyncIterator[httpx2.ServerSentEvent]:
    """Raises `Broken`."""
    if response.headers.get("content-encoding", "identity") != "identity":
        raise Spoilt("its answer is packed, which was not asked for")
    try:
        async for event in httpx2.EventSource(response, max_event_size=largest):
            yield event
    except httpx2.SSEError as error:
        raise Spoilt("one of its events is too long") from error
    except httpx2.HTTPError as error:
        raise Broken(f"the connection broke off: {error}") from error


async def _pieces(response: httpx2.Response) -> AsyncIterator[bytes]:
    """Never unpacked: a few bytes could become more than we have room for."""
    if response.headers.get("content-encoding", "identity") != "identity":
        raise Spoilt("its answer is packed, which was not asked for")
    try:
        async for piece in response.aiter_raw():
            yield piece
    except httpx2.HTTPError as error:
        raise Broken(f"the connection broke off: {error}") from error


def kind(response: httpx2.Response) -> str:
    content: str = response.headers.get("content-type", "")
    return content.partition(";")[0].strip().lower()


def is_events(response: httpx2.Response) -> bool:
    return kind(response) == _EVENTS


def _meaning(number: int) -> tuple[str, str | None]:
    if number in {401, 403}:
        fix = "Give it its credentials, as a header Authorization in its configuration."
        return f"it wants to know who is calling (HTTP {number})", fix
    if number in {400, 404, 405, 406, 410, 415}:
        return f"nothing there speaks MCP (HTTP {number})", "Check its address."
    return f"it answered with HTTP {number}", None


def _parsed(url: str) -> httpx2.URL:
    """Raises `Broken`."""
    try:
        parsed = httpx2.URL(url)
    except (httpx2.InvalidURL, TypeError) as error:
        raise Broken("its address is none", reached=False, fix="Check its address.") from error
    if parsed.scheme not in {"http", "https"} or not parsed.host:
        raise Broken("its address is none of HTTP", reached=False, fix="Check its address.")
    return parsed


def _given(url: httpx2.URL, headers: Mapping[str, str]) -> Sequence[tuple[str, str]]:
    given = {"accept-encoding": "identity", "user-agent": "portico"}
    if url.userinfo:
        pair = unquote(url.userinfo.decode()).encode()
        given["authorization"] = f"Basic {base64.b64encode(pair).decode()}"
    given.update({name.lower(): value for name, value in headers.items()})
    return [(name, value) for name, value in given.items() if name not in _NOT_TO_BE_GIVEN]


def _with(headers: Mapping[str, str], token: str) -> dict[str, str]:
    return {**headers, "authorization": f"Bearer {token}"}


def _way(url: httpx2.URL, tls: ssl.SSLContext, dialer: Dialer) -> GuardedTransport:
    """By the proxy that whoever runs Portico has set for all programs, if they have. Raises
    `Broken`."""
    try:
        proxy = environment_proxy(url)
    except AddressRefused as error:
        raise Broken(str(error), reached=False, fix=error.fix) from error
    place = place_of(proxy or url)
    return GuardedTransport(dialer.narrowed([place], public=False), tls, proxy=proxy)
