"""Log in to servers."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from time import monotonic
from typing import Final, TypeVar

from portico.gateway.core.calls import ServerHealth, ServerListing, ToolResult, UpstreamTarget
from portico.gateway.core.errors import LoginNeeded, NoLogins, UpstreamDown, UpstreamWantsLogin
from portico.gateway.core.servers import Http, Server, check_may_start
from portico.gateway.ports import ClientChannel, Servers, Upstreams, is_house
from portico.guard.core.audit import AuditEntry
from portico.guard.core.oauth_logins import Challenge, LoginClient, LoginLink, LoginPlace
from portico.guard.core.principals import Scope
from portico.guard.oauth_logins import BeginLogin, LoginClients, Logins, LogOut
from portico.guard.ports import Audit
from portico.guard.principals import require_scope
from portico.kernel.ids import Id, SpaceId
from portico.kernel.json import JsonObject
from portico.kernel.principal import Principal

# The servers themselves, each person with their own login where a server wants one.
#
# Which servers these are is found out when one of them asks who is calling, and remembered in the
# store. A conversation with such a server is one person's; whoever has no login is given a link.

_KNOWN: Final = 2.0
"""Seconds for which it is remembered whether a server wants logins."""
_MOST: Final = 10_000
_T = TypeVar("_T")


def place_of(target: UpstreamTarget) -> LoginPlace | None:
    """Whose login it would be, and where; None if its launch leaves no room for one."""
    if target.login is None or target.id is None or not isinstance(target.launch, Http):
        return None
    return LoginPlace(
        space=target.space,
        principal=target.login,
        server=target.id,
        name=target.server,
        url=target.launch.url,
    )


@dataclass(slots=True, kw_only=True)
class LoggedInUpstreams:
    inside: Upstreams
    clients: LoginClients
    begin_login: BeginLogin
    now: Callable[[], float] = monotonic
    _known: dict[tuple[SpaceId, Id, str], tuple[bool, float]] = field(default_factory=dict)

    async def look(self, target: UpstreamTarget) -> ServerListing:
        return await self._served(target, self.inside.look)

    async def call(
        self,
        target: UpstreamTarget,
        tool: str,
        arguments: JsonObject,
        *,
        timeout: timedelta,
        line: ClientChannel | None = None,
    ) -> ToolResult:
        async def call(its: UpstreamTarget) -> ToolResult:
            return await self.inside.call(its, tool, arguments, timeout=timeout, line=line)

        return await self._served(target, call)

    async def read_resource(
        self,
        target: UpstreamTarget,
        uri: str,
        *,
        timeout: timedelta,
        line: ClientChannel | None = None,
    ) -> JsonObject:
        async def read(its: UpstreamTarget) -> JsonObject:
            return await self.inside.read_resource(its, uri, timeout=timeout, line=line)

        return await self._served(target, read)

    async def get_prompt(
        self,
        target: UpstreamTarget,
        name: str,
        arguments: Mapping[str, str],
        *,
        timeout: timedelta,
        line: ClientChannel | None = None,
    ) -> JsonObject:
        async def get(its: UpstreamTarget) -> JsonObject:
            return await self.inside.get_prompt(its, name, arguments, timeout=timeout, line=line)

        return await self._served(target, get)

    async def complete(
        self, target: UpstreamTarget, params: JsonObject, *, timeout: timedelta
    ) -> JsonObject:
        async def complete(its: UpstreamTarget) -> JsonObject:
            return await self.inside.complete(its, params, timeout=timeout)

        return await self._served(target, complete)

    async def stop(self, space: SpaceId, server: str) -> None:
        await self.inside.stop(space, server)

    def health(self, space: SpaceId, server: str) -> ServerHealth:
        return self.inside.health(space, server)

    async def _served(
        self, target: UpstreamTarget, ask: Callable[[UpstreamTarget], Awaitable[_T]]
    ) -> _T:
        """Raises `LoginNeeded`. A server that asks who is calling has done nothing yet."""
        place = place_of(target)
        if place is None:
            return await ask(target)
        if await self._wants_logins(place):
            return await self._as_caller(target, place, ask)
        try:
            return await ask(target)
        except UpstreamWantsLogin as error:
            self._known.pop(_name(place), None)
            if await self._wants_logins(place):
                return await self._as_caller(target, place, ask)
            raise await self._link(target, place, error) from error

    async def _as_caller(
        self,
        target: UpstreamTarget,
        place: LoginPlace,
        ask: Callable[[UpstreamTarget], Awaitable[_T]],
    ) -> _T:
        try:
            return await ask(target.of_its_caller())
        except UpstreamWantsLogin as error:
            raise await self._link(target, place, error) from error

    async def _wants_logins(self, place: LoginPlace) -> bool:
        name = _name(place)
        wanted, at = self._known.get(name, (False, -_KNOWN))
        if self.now() - at < _KNOWN:
            return wanted
        client = await self.clients.get(place.holder, place.server)
        wanted = client is not None and client.url == place.url
        if len(self._known) >= _MOST:
            self._known.clear()
        self._known[name] = (wanted, self.now())
        return wanted

    async def _link(
        self, target: UpstreamTarget, place: LoginPlace, error: UpstreamWantsLogin
    ) -> Exception:
        """What to tell whoever called: where to log in, if there is a place for that."""
        if is_house(place.principal) or not target.links:
            return UpstreamDown(
                place.name,
                "it can only be asked by somebody who is logged in there",
                fix=f"Log in with a key that has tools:write, and ask it what it offers: portico "
                f"servers login {place.name}, then portico servers restart {place.name}",
            )
        challenge = Challenge.parse(error.challenge)
        if challenge is None and error.challenge:
            return error
        link = await self.begin_login(place, challenge)
        self._known.pop(_name(place), None)
        if link is None:
            return error
        return LoginNeeded(place.name, link.who, link.url, link.expires_at)


def _name(place: LoginPlace) -> tuple[SpaceId, Id, str]:
    return place.space, place.server, place.url


def _place(caller: Principal, server: Server) -> LoginPlace:
    """Raises `NoLogins`."""
    place = place_of(UpstreamTarget.of(caller.space, server, caller.id))
    if place is None:
        raise NoLogins(server.name)
    return place


@dataclass(frozen=True, slots=True, kw_only=True)
class LoginDetails:
    server: str
    logged_in: bool
    issuer: str | None = None
    scope: str | None = None
    expires_at: datetime | None = None
    """Of the token at hand; it is renewed by itself where that is offered."""
    renewed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LogInToServer:
    servers: Servers
    start: BeginLogin

    async def __call__(self, caller: Principal, name: str) -> LoginLink:
        """For the caller, and nobody else. Raises `NotPermitted`, `ServerNotFound`, `NoLogins`,
        `LoginRefused`, `LoginUnavailable`, and what starting a server may raise."""
        require_scope(caller, Scope.TOOLS_WRITE)
        server = await self.servers.get(caller, name)
        check_may_start(server)
        link = await self.start(_place(caller, server))
        if link is None:
            raise NoLogins(name)
        return link


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowLogin:
    servers: Servers
    logins: Logins

    async def __call__(self, caller: Principal, name: str) -> LoginDetails:
        """The caller's own. Raises `NotPermitted`, `ServerNotFound`, `NoLogins`."""
        require_scope(caller, Scope.TOOLS_CALL)
        place = _place(caller, await self.servers.get(caller, name))
        tokens = await self.logins.get(place)
        if tokens is None or tokens.url != place.url:
            return LoginDetails(server=name, logged_in=False)
        return LoginDetails(
            server=name,
            logged_in=True,
            issuer=tokens.known.server.issuer,
            scope=tokens.scope,
            expires_at=tokens.expires_at,
            renewed=tokens.refresh is not None,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LogOutOfServer:
    servers: Servers
    log_out: LogOut

    async def __call__(self, caller: Principal, name: str) -> bool:
        """The caller, at once and everywhere. False if they were not logged in. Raises
        `NotPermitted`, `ServerNotFound`, `NoLogins`."""
        require_scope(caller, Scope.TOOLS_WRITE)
        return await self.log_out(caller, _place(caller, await self.servers.get(caller, name)))


@dataclass(frozen=True, slots=True, kw_only=True)
class LoginClientSpec:
    """As what Portico is to be known where people log in to a server."""

    client_id: str | None = None
    secret_reference: str | None = None
    """As `secret:NAME`."""
    issuer: str | None = None
    scope: str | None = None


@dataclass(frozen=True, slots=True)
class ConfiguredLogin:
    client: LoginClient
    redirect_url: str
    """Where people come back to, as it has to be registered there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigureLogin:
    servers: Servers
    clients: LoginClients
    audit: Audit
    redirect_url: Callable[[Id], str]

    async def __call__(
        self, caller: Principal, name: str, wish: LoginClientSpec
    ) -> ConfiguredLogin:
        """Logins that there are stay as they are. Raises `NotPermitted`, `ServerNotFound`,
        `NoLogins`."""
        require_scope(caller, Scope.SERVERS_WRITE)
        place = _place(caller, await self.servers.get(caller, name))
        client = LoginClient(
            url=place.url,
            issuer=wish.issuer,
            client_id=wish.client_id,
            secret_reference=wish.secret_reference,
            scope=wish.scope,
            configured=True,
        )
        await self.clients.put(caller, place.server, client)
        facts = {"issuer": wish.issuer, "client": wish.client_id, "scope": wish.scope}
        entry = AuditEntry(action="login.configured", subject=name, details=facts)
        await self.audit.note(caller, entry)
        return ConfiguredLogin(client, self.redirect_url(place.server))


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetLoginClient:
    servers: Servers
    clients: LoginClients
    audit: Audit

    async def __call__(self, caller: Principal, name: str) -> None:
        """Raises `NotPermitted`, `ServerNotFound`, `NoLogins`."""
        require_scope(caller, Scope.SERVERS_WRITE)
        place = _place(caller, await self.servers.get(caller, name))
        await self.clients.remove(caller, place.server)
        await self.audit.note(caller, AuditEntry(action="login.unconfigured", subject=name))
