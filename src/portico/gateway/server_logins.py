"""Logins at servers of tools, as a person asks for them: begin one, look at it, end it."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from portico.gateway.core.errors import NoLogins
from portico.gateway.core.server import Server, check_may_start
from portico.gateway.core.upstream import Target
from portico.gateway.logged_in import place_of
from portico.gateway.ports import Servers
from portico.guard.core.audit import AuditEntry
from portico.guard.core.oauth_logins import LoginClient, LoginLink, LoginPlace
from portico.guard.core.principals import Scope
from portico.guard.oauth_logins import BeginLogin, LoginClients, Logins, LogOut
from portico.guard.ports import Audit
from portico.guard.principals import permit
from portico.kernel.ids import Id
from portico.kernel.principal import Principal


def _place(caller: Principal, server: Server) -> LoginPlace:
    """Raises `NoLogins`."""
    place = place_of(Target.of(caller.space, server, caller.id))
    if place is None:
        raise NoLogins(server.name)
    return place


@dataclass(frozen=True, slots=True, kw_only=True)
class LoginLook:
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
    begin: BeginLogin

    async def __call__(self, caller: Principal, name: str) -> LoginLink:
        """For the caller, and nobody else. Raises `NotPermitted`, `ServerNotFound`, `NoLogins`,
        `LoginRefused`, `LoginUnavailable`, and what starting a server may raise."""
        permit(caller, Scope.TOOLS_WRITE)
        server = await self.servers.get(caller, name)
        check_may_start(server)
        link = await self.begin(_place(caller, server))
        if link is None:
            raise NoLogins(name)
        return link


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowLogin:
    servers: Servers
    logins: Logins

    async def __call__(self, caller: Principal, name: str) -> LoginLook:
        """The caller's own. Raises `NotPermitted`, `ServerNotFound`, `NoLogins`."""
        permit(caller, Scope.TOOLS_CALL)
        place = _place(caller, await self.servers.get(caller, name))
        tokens = await self.logins.get(place)
        if tokens is None or tokens.url != place.url:
            return LoginLook(server=name, logged_in=False)
        return LoginLook(
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
        permit(caller, Scope.TOOLS_WRITE)
        return await self.log_out(caller, _place(caller, await self.servers.get(caller, name)))


@dataclass(frozen=True, slots=True, kw_only=True)
class LoginWish:
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

    async def __call__(self, caller: Principal, name: str, wish: LoginWish) -> ConfiguredLogin:
        """Logins that there are stay as they are. Raises `NotPermitted`, `ServerNotFound`,
        `NoLogins`."""
        permit(caller, Scope.SERVERS_WRITE)
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
        entry = AuditEntry(action="login.configured", subject=name, facts=facts)
        await self.audit.note(caller, entry)
        return ConfiguredLogin(client, self.redirect_url(place.server))


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetLoginClient:
    servers: Servers
    clients: LoginClients
    audit: Audit

    async def __call__(self, caller: Principal, name: str) -> None:
        """Raises `NotPermitted`, `ServerNotFound`, `NoLogins`."""
        permit(caller, Scope.SERVERS_WRITE)
        place = _place(caller, await self.servers.get(caller, name))
        await self.clients.remove(caller, place.server)
        await self.audit.note(caller, AuditEntry(action="login.unconfigured", subject=name))
