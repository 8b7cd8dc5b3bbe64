"""What the routes about logins at servers can call."""

from dataclasses import dataclass

from portico.gateway.logins import (
    ConfigureLogin,
    ForgetLoginClient,
    LogInToServer,
    LogOutOfServer,
    ShowLogin,
)
from portico.guard.oauth_logins import FinishLogin, ShowLoginAhead


@dataclass(frozen=True, slots=True, kw_only=True)
class LoginUseCases:
    begin: LogInToServer
    show: ShowLogin
    end: LogOutOfServer
    configure: ConfigureLogin
    forget_client: ForgetLoginClient
    ahead: ShowLoginAhead
    finish: FinishLogin
