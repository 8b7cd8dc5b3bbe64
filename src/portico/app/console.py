"""The console, built when somebody first opens it: who never does loads no templates."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from starlette.types import ASGIApp, Receive, Scope, Send

from portico.adapters.crypto import AesSivSeal
from portico.adapters.postgres.engine.event_log import PostgresEventLog
from portico.app.app_context import AppContext
from portico.app.shared_dependencies import SharedDependencies
from portico.engine.event_log import Tails
from portico.interfaces.http.use_cases import GatewayUseCases, UseCases

if TYPE_CHECKING:
    from portico.interfaces.console.page import ConsoleServices


# The console, built when somebody first opens it: who never does loads no templates.

PATHS: Final = (
    "/",
    "/login",
    "/logout",
    "/live",
    "/waiting",
    "/palette",
    "/static",
    "/inbox",
    "/runs",
    "/chat",
    "/bridge",
    "/debates",
    "/tools",
    "/graph",
    "/servers",
    "/agents",
    "/figures",
    "/audit",
    "/settings",
    "/welcome",
)
"""What begins with one of these is the console's. A test knows that every route of it does."""


class LatePages:
    """An ASGI application that is made by the first request to it."""

    def __init__(
        self,
        ground: AppContext,
        outside: SharedDependencies,
        use: UseCases,
        gateway: GatewayUseCases,
        rooms: Mapping[str, object],
    ) -> None:
        self._made: ASGIApp | None = None
        self._house_of = ground, outside, use, gateway, rooms

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._made is None:
            from portico.interfaces.console.app import build

            self._made = build(console_house(*self._house_of))
        await self._made(scope, receive, send)


def console_house(
    ground: AppContext,
    outside: SharedDependencies,
    use: UseCases,
    gateway: GatewayUseCases,
    rooms: Mapping[str, object],
) -> "ConsoleServices":
    from portico.interfaces.console.live import PageEventText
    from portico.interfaces.console.page import ConsoleServices

    log = PostgresEventLog(outside.transactions, outside.bus, outside.clock, outside.entropy)
    seal = AesSivSeal.from_pepper(ground.pepper())
    return ConsoleServices(
        use=use,
        gateway=gateway,
        rooms=rooms,
        log=log,
        tails=Tails(log=log, bus=outside.bus, seal=seal, wording=PageEventText()),
        clock=outside.clock,
        entropy=outside.entropy,
        secure=ground.base_url.startswith("https:"),
    )
