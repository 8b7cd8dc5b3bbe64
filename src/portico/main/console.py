"""The console, built when somebody first opens it: who never does loads no templates."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from starlette.types import ASGIApp, Receive, Scope, Send

from portico.adapters.postgres.event_log import PostgresEventLog
from portico.adapters.seals.aes_siv import AesSivSeal
from portico.engine.tails import Tails
from portico.faces.http.gateway_use_cases import GatewayUseCases
from portico.faces.http.use_cases import UseCases
from portico.main.ground import Ground
from portico.main.outside import Outside

if TYPE_CHECKING:
    from portico.faces.web.house import House

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
        ground: Ground,
        outside: Outside,
        use: UseCases,
        gateway: GatewayUseCases,
        rooms: Mapping[str, object],
    ) -> None:
        self._made: ASGIApp | None = None
        self._house_of = ground, outside, use, gateway, rooms

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._made is None:
            from portico.faces.web.app import build

            self._made = build(console_house(*self._house_of))
        await self._made(scope, receive, send)


def console_house(
    ground: Ground,
    outside: Outside,
    use: UseCases,
    gateway: GatewayUseCases,
    rooms: Mapping[str, object],
) -> "House":
    from portico.faces.web.house import House
    from portico.faces.web.live import PageWords

    log = PostgresEventLog(outside.transactions, outside.bus, outside.clock, outside.entropy)
    seal = AesSivSeal.from_pepper(ground.pepper())
    return House(
        use=use,
        gateway=gateway,
        rooms=rooms,
        log=log,
        tails=Tails(log=log, bus=outside.bus, seal=seal, wording=PageWords()),
        clock=outside.clock,
        entropy=outside.entropy,
        secure=ground.base_url.startswith("https:"),
    )
