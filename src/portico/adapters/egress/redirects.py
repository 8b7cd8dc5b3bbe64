"""Where an answer leads on to, and what goes along."""

from typing import Final

import httpx2

from portico.sandbox.core.errors import AddressRefused

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
