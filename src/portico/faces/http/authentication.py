"""The second wall: a bearer key on everything but the few paths that say so here."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Annotated, Final

from fastapi import Depends, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from portico.faces.http.problems import problem_response
from portico.guard.authenticate import Entry
from portico.guard.core.errors import NotAuthenticated
from portico.kernel.errors import PorticoError
from portico.kernel.principal import Principal

OPEN_PATHS: Final = frozenset({"/healthz", "/readyz", "/join"})
"""Whether the server lives, and the page behind an invitation link; nothing that is anybody's."""

_ENTRY: Final = "portico.entry"
_AGAIN: Final = "portico.entry.again"


class Authentication:
    def __init__(self, app: ASGIApp, authenticate: Callable[[str], Awaitable[Entry]]) -> None:
        self._app = app
        self._authenticate = authenticate

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in OPEN_PATHS:
            await self._app(scope, receive, send)
            return
        try:
            scope[_AGAIN] = partial(self._authenticate, _bearer(scope))
            scope[_ENTRY] = await scope[_AGAIN]()
        except PorticoError as error:
            await problem_response(error)(scope, receive, send)
        else:
            await self._app(scope, receive, _unkept(send))


def _unkept(send: Send) -> Send:
    """No answer behind a key is for a cache: it may hold one."""

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message["headers"], (b"cache-control", b"no-store")]
        await send(message)

    return sending


def _bearer(scope: Scope) -> str:
    """Raises `NotAuthenticated`. Only the header counts: addresses end up in logs."""
    found = [value for name, value in scope["headers"] if name == b"authorization"]
    scheme, _, key = found[0].decode("latin-1").partition(" ") if len(found) == 1 else ("", "", "")
    if scheme.lower() != "bearer":
        raise NotAuthenticated
    return key.strip()


def entry_of(scope: Scope) -> Entry:
    """Raises `NotAuthenticated`."""
    entry = scope.get(_ENTRY)
    if not isinstance(entry, Entry):
        raise NotAuthenticated
    return entry


def again_of(scope: Scope) -> Callable[[], Awaitable[Entry]]:
    """Who the same key makes of its bearer by now. Raises `NotAuthenticated`."""
    entry_of(scope)
    again: Callable[[], Awaitable[Entry]] = scope[_AGAIN]
    return again


def _entry(request: Request) -> Entry:
    return entry_of(request.scope)


def _caller(request: Request) -> Principal:
    return _entry(request).principal


def _again(request: Request) -> Callable[[], Awaitable[Entry]]:
    return again_of(request.scope)


Caller = Annotated[Principal, Depends(_caller)]
CallerEntry = Annotated[Entry, Depends(_entry)]
CallerAgain = Annotated[Callable[[], Awaitable[Entry]], Depends(_again)]
"""Who the same key makes of its bearer by now, for what lasts. Raises `NotAuthenticated`."""
