"""The one factory of HTTP clients for addresses that we were given.

Every connection passes the gate, of the first address as of each that it leads on to. Nothing is
taken from the environment but who signs certificates, and nothing is kept from one answer to the
next.
"""

import asyncio
import ssl
from collections.abc import Collection, Mapping
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any, Final

import httpx2

from portico.adapters.egress.bounded import ACCEPTED, BOUNDS, BoundedBody, Bounds
from portico.adapters.egress.dialer import Dialer
from portico.adapters.egress.redirects import next_request
from portico.adapters.egress.transport import (
    GuardedTransport,
    check_http,
    environment_proxy,
    place_of,
)
from portico.sandbox.core.errors import AddressRefused
from portico.sandbox.core.profile import Place

_PATIENCE: Final = httpx2.Timeout(30.0, connect=10.0, pool=10.0)
_UNTIL: Final = "portico.until"
_HEADERS: Final = "portico.headers"
_REPLACED: Final = ("content-encoding", "content-length")


def guarded_client(
    *,
    allow: Collection[Place] = (),
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


def written(url: str) -> Place:
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
        self._by_proxy: tuple[Place, GuardedTransport] | None = None
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
