"""The web for whoever may not be trusted with an address: an agent, a program, a stranger."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import httpx2

from portico.adapters.egress.bounded import BOUNDS, Bounds, TooLong
from portico.sandbox.core.errors import AddressRefused, FetchFailed
from portico.sandbox.core.profile import Fetched, Request

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
