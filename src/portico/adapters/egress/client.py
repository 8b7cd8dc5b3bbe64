"""HTTP clients for addresses that we were given: every connection passes the gate, every
answer is bounded.
"""

import asyncio
import ssl
import zlib
from collections.abc import AsyncIterable, AsyncIterator, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any, Final
from urllib.request import getproxies, proxy_bypass

import httpcore2
import httpx2

from portico.adapters.egress.dialer import Dialer
from portico.sandbox.core.errors import AddressRefused, FetchFailed
from portico.sandbox.core.profile import Fetched, NetworkEndpoint, Request


class GuardedBackend(httpcore2.AsyncNetworkBackend):
    """Redirects and retries come back here like everything else. A refusal goes through the library
    as it is, and is not tried again."""

    def __init__(self, dialer: Dialer) -> None:
        self._dialer = dialer
        library: Any = httpcore2.AnyIOBackend()  # a stand-in where anyio is missing; it is not
        self._library: httpcore2.AsyncNetworkBackend = library

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Raises `AddressRefused`."""

        async def connect(address: str, port: int) -> httpcore2.AsyncNetworkStream:
            try:
                return await self._library.connect_tcp(
                    address, port, local_address=local_address, socket_options=socket_options
                )
            except httpcore2.ConnectError as error:
                raise OSError(str(error)) from error

        try:
            return await self._dialer.through(host, port, connect, seconds=timeout)
        except TimeoutError as error:
            raise httpcore2.ConnectTimeout("nobody answered in time") from error
        except OSError as error:
            raise httpcore2.ConnectError(error.strerror or str(error)) from error

    async def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,  # noqa: ARG002 # nothing is waited for
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,  # noqa: ARG002 # as above
    ) -> httpcore2.AsyncNetworkStream:
        """Raises `AddressRefused`."""
        raise AddressRefused(path, "it is a socket of this machine")

    async def sleep(self, seconds: float) -> None:
        await self._library.sleep(seconds)


# HTTP on connections that passed the gate.
#
# Built on what the libraries publish alone: a private name that an upgrade takes away could take
# the gate away with it, and nothing would fail.

LIMITS: Final = httpx2.Limits(
    max_connections=100,
    max_keepalive_connections=20,
    keepalive_expiry=4.0,  # most servers close what is idle after five seconds
)
_SCHEMES: Final = {"http": 80, "https": 443}
_FAILURES: Final = tuple(
    (getattr(httpcore2, name), getattr(httpx2, name))
    for name in (
        *("ConnectTimeout", "ReadTimeout", "WriteTimeout", "PoolTimeout", "TimeoutException"),
        *("ConnectError", "ReadError", "WriteError", "NetworkError", "ProxyError"),
        *("UnsupportedProtocol", "LocalProtocolError", "RemoteProtocolError", "ProtocolError"),
    )
)
"""The same under the name that callers know, the narrower first."""


class GuardedTransport(httpx2.AsyncBaseTransport):
    def __init__(
        self,
        dialer: Dialer,
        tls: ssl.SSLContext,
        *,
        limits: httpx2.Limits = LIMITS,
        proxy: httpx2.URL | None = None,
    ) -> None:
        """With a proxy it is the proxy that is dialled, which must be a place of the dialer's."""
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=tls,
            proxy=None if proxy is None else _proxy(proxy),
            max_connections=limits.max_connections,
            max_keepalive_connections=limits.max_keepalive_connections,
            keepalive_expiry=limits.keepalive_expiry,
            network_backend=GuardedBackend(dialer),
        )

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Raises `AddressRefused`, `httpx2.TransportError`."""
        check_http(request.url)
        assert isinstance(request.stream, httpx2.AsyncByteStream)  # noqa: S101 # by the client
        asked = httpcore2.Request(
            method=request.method,
            url=httpcore2.URL(
                scheme=request.url.raw_scheme,
                host=request.url.raw_host,
                port=request.url.port,
                target=request.url.raw_path,
            ),
            headers=request.headers.raw,
            content=request.stream,
            extensions=request.extensions,
        )
        with _renamed():
            answer = await self._pool.handle_async_request(asked)
        return httpx2.Response(
            status_code=answer.status,
            headers=answer.headers,
            stream=_Body(answer),
            extensions=answer.extensions,
        )

    async def aclose(self) -> None:
        await self._pool.aclose()


class _Body(httpx2.AsyncByteStream):
    def __init__(self, answer: httpcore2.Response) -> None:
        assert isinstance(answer.stream, AsyncIterable)  # noqa: S101 # by the library
        self._pieces = answer.stream
        self._answer = answer

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with _renamed():
            async for piece in self._pieces:
                yield piece

    async def aclose(self) -> None:
        await self._answer.aclose()


def check_http(url: httpx2.URL) -> None:
    """Raises `AddressRefused`."""
    if url.scheme not in _SCHEMES or not url.raw_host:
        shown = f"{url.scheme[:20] or 'nothing'}:"
        raise AddressRefused(shown, "only http and https are", fix="Name an http or https address.")


def place_of(url: httpx2.URL) -> NetworkEndpoint:
    """Where it leads. Raises `AddressRefused`."""
    check_http(url)
    port = url.port or _SCHEMES[url.scheme]
    return NetworkEndpoint(url.raw_host.decode("ascii").lower().removesuffix("."), port)


def environment_proxy(url: httpx2.URL) -> httpx2.URL | None:
    """As whoever runs Portico has set it for all programs; for addresses that they wrote.
    Raises `AddressRefused` if it is none that can be used."""
    found = getproxies().get(url.scheme)
    if not found or proxy_bypass(url.host):
        return None
    try:
        parsed = httpx2.URL(found if "://" in found else f"http://{found}")
        place_of(parsed)
    except (httpx2.InvalidURL, AddressRefused) as error:
        reason = "the proxy that is set for it is none of HTTP"
        fix = "Set another in the environment, or name the host in no_proxy."
        raise AddressRefused(url.host, reason, fix=fix) from error
    return parsed


def _proxy(url: httpx2.URL) -> httpcore2.Proxy:
    place = place_of(url)
    named = bool(url.userinfo)
    return httpcore2.Proxy(
        httpcore2.URL(scheme=url.scheme, host=place.host, port=place.port, target="/"),
        auth=(url.username, url.password) if named else None,
    )


@contextmanager
def _renamed() -> Iterator[None]:
    try:
        yield
    except tuple(theirs for theirs, _ in _FAILURES) as error:
        known = next(ours for theirs, ours in _FAILURES if isinstance(error, theirs))
        raise known(str(error)) from error


# Answers with an end: of their time, and of their size after they were unpacked.
#
# Unpacking is done here, piece by piece, and stops where the answer becomes too long: a few bytes
# can hold more than there is room for. What was not asked for is not unpacked at all.

ACCEPTED: Final = "gzip"
BOUNDS: Final = "portico.bounds"
"""Where a request carries its own, among its extensions."""
_PIECE: Final = 64 * 1024
_GZIP: Final = zlib.MAX_WBITS | 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    seconds: float | None = 30.0
    """For all of it, redirects and the last byte included."""
    largest: int = 5_000_000
    """Bytes of an answer, after it was unpacked."""
    redirects: int = 3
    """At most; if it is none, an answer that leads on is an answer like others."""


class TooLong(httpx2.DecodingError):
    """The answer has more bytes than it may."""

    def __init__(self, largest: int) -> None:
        super().__init__(f"it is longer than {largest:,} bytes")
        self.largest = largest


class BoundedBody(httpx2.AsyncByteStream):
    """The body of an answer, as it is after it was unpacked."""

    def __init__(
        self, packed: httpx2.AsyncByteStream, encoding: str, largest: int, until: float | None
    ) -> None:
        self._packed = packed
        self._unpack = _unpacker(encoding)
        self._left = self._packed_left = self._largest = largest
        self._until = until

    async def __aiter__(self) -> AsyncIterator[bytes]:
        packed = aiter(self._packed)
        while (piece := await self._next(packed)) is not None:
            self._packed_left -= len(piece)  # much can be packed that unpacks to nothing
            for part in self._unpack.parts(piece):
                self._left -= len(part)
                if min(self._left, self._packed_left) < 0:
                    break
                yield part
            if min(self._left, self._packed_left) < 0:
                raise TooLong(self._largest)
        self._unpack.check_end()

    async def _next(self, packed: AsyncIterator[bytes]) -> bytes | None:
        if self._until is None:
            return await anext(packed, None)
        try:
            async with asyncio.timeout_at(self._until):
                return await anext(packed, None)
        except TimeoutError as error:
            raise httpx2.ReadTimeout("it took too long") from error

    async def aclose(self) -> None:
        await self._packed.aclose()


class _Plain:
    def parts(self, piece: bytes) -> Iterator[bytes]:
        yield piece

    def check_end(self) -> None:
        """It ends where the connection says."""


class _Zipped:
    def __init__(self) -> None:
        self._state = zlib.decompressobj(_GZIP)
        self._begun = False

    def parts(self, piece: bytes) -> Iterator[bytes]:
        """Never more than a piece at once. Raises `httpx2.DecodingError`."""
        try:
            while piece:
                if self._state.eof:  # one packed text after another is one text
                    self._state = zlib.decompressobj(_GZIP)
                if part := self._state.decompress(piece, _PIECE):
                    yield part
                piece = self._state.unconsumed_tail or self._state.unused_data
                self._begun = True
        except zlib.error as error:
            raise httpx2.DecodingError("it cannot be unpacked") from error

    def check_end(self) -> None:
        if self._begun and not self._state.eof:
            raise httpx2.DecodingError("it ends in the middle")


def _unpacker(encoding: str) -> _Plain | _Zipped:
    """Raises `httpx2.DecodingError`."""
    name = encoding.strip().lower()
    if name in {"", "identity"}:
        return _Plain()
    if name != ACCEPTED:
        raise httpx2.DecodingError("it is packed in a way that was not asked for")
    return _Zipped()


_LEADS_ON: Final = frozenset({301, 302, 303, 307, 308})
_AS_IT_WAS: Final = frozenset({307, 308})
_GOES_ALONG: Final = frozenset(
    {"accept", "accept-encoding", "accept-language", "cache-control", "range", "user-agent"}
)
"""To somebody else. Any other header may be a secret, whatever it is called."""
_OF_A_BODY: Final = frozenset({"content-type", "content-length", "transfer-encoding"})


def next_request(response: httpx2.Response) -> httpx2.Request | None:
    """None if it leads nowhere else. Raises `AddressRefused`, `httpx2.RemoteProtocolError`."""
    place = response.headers.get("location")
    if response.status_code not in _LEADS_ON or not place:
        return None
    asked = response.request
    target = _joined(asked.url, place)
    if asked.url.scheme == "https" and target.scheme == "http":
        raise AddressRefused(
            target.host, "it leads from https to http", fix="Ask for the address without https."
        )
    kept = _method(response)
    return httpx2.Request(
        kept,
        target,
        headers=_headers(asked, target, with_body=kept == asked.method),
        content=_body(asked) if kept == asked.method else None,
        extensions=dict(asked.extensions),
    )


def _method(response: httpx2.Response) -> str:
    """As programs that follow redirects have always done it."""
    method = response.request.method
    if response.status_code in _AS_IT_WAS or method in {"GET", "HEAD"}:
        return method
    return method if response.status_code != 303 and method != "POST" else "GET"


def _body(asked: httpx2.Request) -> bytes:
    try:
        return asked.content
    except httpx2.RequestNotRead as error:
        raise httpx2.RemoteProtocolError("it wants to have what was sent again") from error


def _headers(asked: httpx2.Request, target: httpx2.URL, *, with_body: bool) -> httpx2.Headers:
    found = httpx2.Headers(asked.headers)
    del found["host"]
    same = _origin(asked.url) == _origin(target)
    for name in list(found.keys()):
        of_body = name in _OF_A_BODY
        if of_body and (not with_body or name != "content-type"):
            del found[name]  # the length is told anew
        elif not same and not of_body and name not in _GOES_ALONG:
            del found[name]
    return found


def _origin(url: httpx2.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port


def _joined(base: httpx2.URL, place: str) -> httpx2.URL:
    try:
        return base.join(place).copy_with(fragment=None)
    except (httpx2.InvalidURL, ValueError) as error:
        raise httpx2.RemoteProtocolError("it leads to an address that is none") from error


# The one factory of HTTP clients for addresses that we were given.
#
# Every connection passes the gate, of the first address as of each that it leads on to. Nothing is
# taken from the environment but who signs certificates, and nothing is kept from one answer to the
# next.

_PATIENCE: Final = httpx2.Timeout(30.0, connect=10.0, pool=10.0)
_UNTIL: Final = "portico.until"
_HEADERS: Final = "portico.headers"
_REPLACED: Final = ("content-encoding", "content-length")


def guarded_client(
    *,
    allow: Collection[NetworkEndpoint] = (),
    dialer: Dialer | None = None,
    tls: ssl.SSLContext | None = None,
    bounds: Bounds | None = None,
    proxied: httpx2.URL | None = None,
    headers: Mapping[str, str] | None = None,
) -> httpx2.AsyncClient:
    """`allow` are places that may be reached whatever they are, at their port alone. `proxied` is
    an address that whoever runs Portico wrote: it alone is reached by the proxy that they have set
    for all programs, if they have. It raises `AddressRefused` beside what such clients raise."""
    gate = (dialer or Dialer()).narrowed(allow)
    known = tls or httpx2.create_ssl_context()
    transport = _Bounded(gate, known, proxied)
    given = {"accept-encoding": ACCEPTED, "user-agent": "portico", **(headers or {})}
    return _GuardedClient(transport, bounds or Bounds(), given)


def written(url: str) -> NetworkEndpoint:
    """An address in a setting is itself an entry for exactly its host and port. Raises
    `AddressRefused`."""
    try:
        return place_of(httpx2.URL(url))
    except httpx2.InvalidURL as error:
        raise AddressRefused(url, "it is no address", fix="Check how it is written.") from error


class _GuardedClient(httpx2.AsyncClient):
    def __init__(
        self, transport: httpx2.AsyncBaseTransport, bounds: Bounds, headers: Mapping[str, str]
    ) -> None:
        super().__init__(
            transport=transport,
            headers=headers,
            timeout=_PATIENCE,
            trust_env=False,
            follow_redirects=False,
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
        )
        self._bounds = bounds

    async def send(
        self,
        request: httpx2.Request,
        *,
        stream: bool = False,
        **more: Any,  # noqa: ANN401 # as the library names it
    ) -> httpx2.Response:
        """Redirects are followed here, each as a request of its own."""
        bounds: Bounds = request.extensions.get(BOUNDS, self._bounds)
        now = asyncio.get_running_loop().time()
        until = None if bounds.seconds is None else now + bounds.seconds
        more["follow_redirects"] = False
        history: list[httpx2.Response] = []
        try:
            async with asyncio.timeout_at(until):
                while True:
                    _check(request.url)
                    request.extensions |= {BOUNDS: bounds, _UNTIL: until if stream else None}
                    response = await super().send(request, stream=True, **more)
                    response.headers = response.extensions.pop(_HEADERS, response.headers)
                    response.history = list(history)
                    left = bounds.redirects - len(history)
                    following = await _following(response, left) if bounds.redirects else None
                    if following is None:
                        return response if stream else await _whole(response)
                    history.append(response)
                    request, more["auth"] = following, None
        except TimeoutError as error:
            raise httpx2.ReadTimeout("it took too long", request=request) from error


async def _following(response: httpx2.Response, left: int) -> httpx2.Request | None:
    """Raises `AddressRefused`, `httpx2.TooManyRedirects`, `httpx2.RemoteProtocolError`."""
    try:
        following = next_request(response)
    except BaseException:
        await response.aclose()
        raise
    if following is None:
        return None
    await response.aclose()
    if left <= 0:
        raise httpx2.TooManyRedirects("it leads from one address to the next")
    return following


async def _whole(response: httpx2.Response) -> httpx2.Response:
    try:
        await response.aread()
    finally:
        await response.aclose()
    return response


def _check(url: httpx2.URL) -> None:
    """Raises `AddressRefused`."""
    check_http(url)
    if url.userinfo:
        raise AddressRefused(
            str(place_of(url)),
            "its address names a user",
            fix="Send a header Authorization instead.",
        )


def _without_location(headers: httpx2.Headers) -> httpx2.Headers:
    return httpx2.Headers([each for each in headers.raw if each[0].lower() != b"location"])


class _Bounded(httpx2.AsyncBaseTransport):
    def __init__(self, gate: Dialer, tls: ssl.SSLContext, proxied: httpx2.URL | None) -> None:
        self._straight = GuardedTransport(gate, tls)
        self._by_proxy: tuple[NetworkEndpoint, GuardedTransport] | None = None
        if proxied is not None and (proxy := environment_proxy(proxied)) is not None:
            way = gate.narrowed([place_of(proxy)], public=False)
            self._by_proxy = place_of(proxied), GuardedTransport(way, tls, proxy=proxy)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        bounds: Bounds = request.extensions[BOUNDS]
        answer = await self._way(request).handle_async_request(request)
        assert isinstance(answer.stream, httpx2.AsyncByteStream)  # noqa: S101 # by the transport
        try:
            body = BoundedBody(
                answer.stream,
                answer.headers.get("content-encoding", ""),
                bounds.largest,
                request.extensions[_UNTIL],
            )
        except httpx2.DecodingError:
            await answer.aclose()
            raise
        if answer.headers.get("content-encoding"):
            for name in _REPLACED:
                answer.headers.pop(name, None)
        if "location" in answer.headers:
            # Out of sight of the library: it prepares to follow it all the same, and stumbles.
            answer.extensions[_HEADERS] = answer.headers
            answer.headers = _without_location(answer.headers)
        answer.stream = body
        return answer

    def _way(self, request: httpx2.Request) -> GuardedTransport:
        if self._by_proxy is not None and place_of(request.url) == self._by_proxy[0]:
            return self._by_proxy[1]
        return self._straight

    async def aclose(self) -> None:
        await self._straight.aclose()
        if self._by_proxy is not None:
            await self._by_proxy[1].aclose()


# The web for whoever may not be trusted with an address: an agent, a program, a stranger.

_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_NOT_TO_BE_GIVEN: Final = frozenset(
    {
        *("host", "connection", "content-length", "transfer-encoding", "te", "trailer", "upgrade"),
        *("keep-alive", "proxy-authorization", "proxy-connection", "accept-encoding", "expect"),
    }
)
"""Headers of the connection; whoever sets them speaks of another message than the one we send."""
_PLAINLY: Final = "Check how it is written."


@dataclass(frozen=True, slots=True)
class GuardedWeb:
    client: httpx2.AsyncClient
    """From `guarded_client`; whoever opened it closes it."""

    async def fetch(self, request: Request) -> Fetched:
        """Raises `AddressRefused`, `FetchFailed`."""
        made = self._made(request)
        try:
            answer = await self.client.send(made)
        except httpx2.HTTPError as error:
            raise _failed(shown(made.url), request, error) from error
        return Fetched(
            status=answer.status_code,
            url=str(answer.url),
            headers=dict(answer.headers),
            body=answer.content,
        )

    def _made(self, request: Request) -> httpx2.Request:
        """Raises `AddressRefused`, `FetchFailed`."""
        method = request.method.upper()
        try:
            url = httpx2.URL(request.url)
        except httpx2.InvalidURL as error:
            raise AddressRefused("That", "it is no address", fix=_PLAINLY) from error
        if method not in _METHODS:
            raise FetchFailed(shown(url), f"{method[:20]!r} is nothing to ask for")
        bounds = Bounds(
            seconds=request.seconds, largest=request.largest, redirects=request.redirects
        )
        try:
            return self.client.build_request(
                method,
                url,
                headers=_given(request.headers),
                content=request.body or None,
                timeout=request.seconds,
                extensions={BOUNDS: bounds},
            )
        except (UnicodeEncodeError, ValueError, TypeError) as error:
            raise FetchFailed(shown(url), "one of its headers cannot be sent") from error


def _given(headers: Mapping[str, str]) -> Mapping[str, str]:
    return {name: each for name, each in headers.items() if name.lower() not in _NOT_TO_BE_GIVEN}


def shown(url: httpx2.URL) -> str:
    """Without what may be a secret."""
    return str(url.copy_with(userinfo=b"", query=None, fragment=None))[:200]


def _failed(place: str, request: Request, error: httpx2.HTTPError) -> FetchFailed:
    match error:
        case TooLong():
            return FetchFailed(place, str(error), fix="Ask for a part of it, or for less.")
        case httpx2.TooManyRedirects():
            return FetchFailed(place, f"it leads on more than {request.redirects} times")
        case httpx2.TimeoutException():
            return FetchFailed(place, f"it took longer than {request.seconds:g} s")
        case httpx2.LocalProtocolError():
            # What it says may quote the header, and that may be the secret.
            return FetchFailed(place, "one of its headers cannot be sent")
        case _:
            return FetchFailed(place, str(error)[:200] or "the connection broke off")
