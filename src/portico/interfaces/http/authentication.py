"""The second wall: a bearer key on everything but the few paths that say so here."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import Annotated, Final

from fastapi import Depends, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from portico.guard.authentication import Entry
from portico.guard.core.errors import NotAuthenticated
from portico.interfaces.http.challenge import METADATA
from portico.interfaces.http.problems import problem_response
from portico.kernel.errors import PorticoError
from portico.kernel.ids import ContextId
from portico.kernel.principal import Principal

OPEN_PATHS: Final = frozenset(
    {"/healthz", "/readyz", "/join", "/oauth/login", METADATA, f"{METADATA}/mcp"}
)
"""Whether the server lives, the page behind an invitation link, who gives out tokens, and the two
pages of a login, each behind a secret of its own; nothing else that is anybody's."""
OPEN_BELOW: Final = "/oauth/callback/"
"""Where browsers come back to from a login, for each server of tools another address."""

CONTEXT: Final = b"portico-context"
"""The header that names the task that a request is part of."""

Enter = Callable[[Principal, ContextId], Awaitable[Principal]]

_ENTRY: Final = "portico.entry"
_AGAIN: Final = "portico.entry.again"


class Authentication:
    def __init__(
        self, app: ASGIApp, authenticate: Callable[[str], Awaitable[Entry]], enter: Enter
    ) -> None:
        self._app = app
        self._authenticate = authenticate
        self._enter = enter

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or _open(scope["path"]):
            await self._app(scope, receive, send)
            return
        try:
            scope[_AGAIN] = partial(self._entry, bearer_of(scope), _context(scope))
            scope[_ENTRY] = await scope[_AGAIN]()
        except PorticoError as error:
            await problem_response(error)(scope, receive, send)
        else:
            await self._app(scope, receive, _unkept(send))

    async def _entry(self, key: str, context: ContextId | None) -> Entry:
        """Whoever it is, at the task that the request says it is part of."""
        entry = await self._authenticate(key)
        if context is None:
            return entry
        return replace(entry, principal=await self._enter(entry.principal, context))


def _open(path: str) -> bool:
    return path in OPEN_PATHS or path.startswith(OPEN_BELOW)


def _unkept(send: Send) -> Send:
    """No answer behind a key is for a cache: it may hold one."""

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message["headers"], (b"cache-control", b"no-store")]
        await send(message)

    return sending


def bearer_of(scope: Scope) -> str:
    """Raises `NotAuthenticated`. Only the header counts: addresses end up in logs."""
    found = [value for name, value in scope["headers"] if name == b"authorization"]
    scheme, _, key = found[0].decode("latin-1").partition(" ") if len(found) == 1 else ("", "", "")
    if scheme.lower() != "bearer":
        raise NotAuthenticated
    return key.strip()


def _context(scope: Scope) -> ContextId | None:
    """Raises `BadId`, also for two of them: nobody can be at two tasks."""
    found = [value for name, value in scope["headers"] if name == CONTEXT]
    return ContextId.parse(b", ".join(found).decode("latin-1")) if found else None


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
