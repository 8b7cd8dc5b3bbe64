"""Authenticate each request by its bearer key, and say where access tokens come from."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Annotated, Final

from fastapi import Depends, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from portico.guard.authentication import Entry
from portico.guard.core.errors import NotAuthenticated
from portico.guard.core.tokens import EVERY, Grants, wanted
from portico.interfaces.http.problems import problem_response
from portico.kernel.errors import PorticoError
from portico.kernel.ids import ContextId
from portico.kernel.principal import Principal

METADATA: Final = "/.well-known/oauth-protected-resource"
_NAME: Final = b"www-authenticate"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProtectedResource:
    """This server, as those who give out tokens for it know it."""

    resource: str
    base_url: str
    issuers: Sequence[str]
    grants: Grants = field(default_factory=dict)

    @property
    def document(self) -> dict[str, object]:
        return {
            "resource": self.resource,
            "authorization_servers": [*self.issuers],
            "scopes_supported": sorted(scope for scope in self.grants if scope != EVERY),
            "bearer_methods_supported": ["header"],
            "resource_name": "Portico",
        }

    def told(self, message: Message) -> Sequence[tuple[bytes, bytes]]:
        before = dict(message["headers"]).get(_NAME)
        if before is None:
            return list(message["headers"])
        said = f'resource_metadata="{self.base_url}{METADATA}/mcp"'
        if message["status"] == 403:
            scope = before.decode("latin-1").partition('scope="')[2].partition('"')[0]
            told = wanted(scope, self.grants) or scope
            header = f'Bearer realm="portico", error="insufficient_scope", scope="{told}", {said}'
        else:
            header = f"{before.decode('latin-1')}, {said}"
        others = [each for each in message["headers"] if each[0] != _NAME]
        return [*others, (_NAME, header.encode("latin-1"))]


class Challenging:
    """Puts where to get a token, or a better one, into the answer to whoever needs it."""

    def __init__(self, app: ASGIApp, resource: ProtectedResource) -> None:
        self._app = app
        self._resource = resource

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] in {401, 403}:
                message["headers"] = self._resource.told(message)
            await send(message)

        await self._app(scope, receive, sending)


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
    """Raises `InvalidId`, also for two of them: nobody can be at two tasks."""
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
