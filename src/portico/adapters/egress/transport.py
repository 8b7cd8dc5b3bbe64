"""HTTP on connections that passed the gate.

Built on what the libraries publish alone: a private name that an upgrade takes away could take the
gate away with it, and nothing would fail.
"""

import ssl
from collections.abc import AsyncIterable, AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Final
from urllib.request import getproxies, proxy_bypass

import httpcore2
import httpx2

from portico.adapters.egress.backend import GuardedBackend
from portico.adapters.egress.dialer import Dialer
from portico.sandbox.core.errors import AddressRefused
from portico.sandbox.core.profile import Place

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


def place_of(url: httpx2.URL) -> Place:
    """Where it leads. Raises `AddressRefused`."""
    check_http(url)
    port = url.port or _SCHEMES[url.scheme]
    return Place(url.raw_host.decode("ascii").lower().removesuffix("."), port)


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
