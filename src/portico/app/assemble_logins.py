"""Logins at servers of others, put on their doors."""

from dataclasses import dataclass
from functools import cached_property

from portico.gateway.core.calls import Target
from portico.gateway.logins import (
    ConfigureLogin,
    ForgetLoginClient,
    LoggedInUpstreams,
    LogInToServer,
    LogOutOfServer,
    ShowLogin,
    place_of,
)
from portico.gateway.ports import Servers, Upstreams
from portico.guard.oauth_logins import (
    AuthorizationServers,
    BeginLogin,
    FinishLogin,
    FreshToken,
    LoginClients,
    Logins,
    LogOut,
    Reveal,
    ShowLoginAhead,
)
from portico.guard.ports import Audit, Principals
from portico.interfaces.http.secrets import AHEAD, CALLBACK
from portico.interfaces.http.use_cases import LoginUseCases
from portico.kernel.clock import Clock, Entropy


@dataclass(frozen=True, kw_only=True)
class LoginDoors:
    authorization: AuthorizationServers
    clients: LoginClients
    logins: Logins
    principals: Principals
    audit: Audit
    reveal: Reveal
    clock: Clock
    entropy: Entropy
    base_url: str

    @cached_property
    def begin(self) -> BeginLogin:
        return BeginLogin(
            servers=self.authorization,
            clients=self.clients,
            logins=self.logins,
            principals=self.principals,
            audit=self.audit,
            reveal=self.reveal,
            clock=self.clock,
            entropy=self.entropy,
            callback_url=f"{self.base_url}{CALLBACK}",
            page_url=f"{self.base_url}{AHEAD}",
        )

    @cached_property
    def _fresh(self) -> FreshToken:
        return FreshToken(servers=self.authorization, logins=self.logins, clock=self.clock)

    async def token(self, target: Target, refused: str | None) -> str | None:
        """Of the person whose conversation it is."""
        place = place_of(target)
        return None if place is None else await self._fresh(place, refused=refused)

    def upstreams(self, inside: Upstreams) -> LoggedInUpstreams:
        return LoggedInUpstreams(inside=inside, clients=self.clients, begin_login=self.begin)

    def over_http(self, servers: Servers) -> LoginUseCases:
        log_out = LogOut(servers=self.authorization, logins=self.logins, audit=self.audit)
        return LoginUseCases(
            begin=LogInToServer(servers=servers, begin=self.begin),
            show=ShowLogin(servers=servers, logins=self.logins),
            end=LogOutOfServer(servers=servers, log_out=log_out),
            configure=ConfigureLogin(
                servers=servers,
                clients=self.clients,
                audit=self.audit,
                redirect_url=self.begin.redirect_url,
            ),
            forget_client=ForgetLoginClient(
                servers=servers, clients=self.clients, audit=self.audit
            ),
            ahead=ShowLoginAhead(logins=self.logins, principals=self.principals, clock=self.clock),
            finish=FinishLogin(
                servers=self.authorization,
                logins=self.logins,
                principals=self.principals,
                audit=self.audit,
                clock=self.clock,
            ),
        )
