"""The console put together: a wall outside, one package a screen inside."""

from typing import Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from portico.guard.core import principals
from portico.interfaces.console import live, login, palette, static_files
from portico.interfaces.console.desk import desk_of
from portico.interfaces.console.house import House
from portico.interfaces.console.problems import on_http_error, on_problem, on_unexpected
from portico.interfaces.console.screens.agents import routes as agents
from portico.interfaces.console.screens.approvals import routes as inbox
from portico.interfaces.console.screens.audit import routes as audit
from portico.interfaces.console.screens.bridge import routes as bridge
from portico.interfaces.console.screens.chat import routes as chat
from portico.interfaces.console.screens.debates import routes as debates
from portico.interfaces.console.screens.graph import routes as graph
from portico.interfaces.console.screens.metrics import routes as figures
from portico.interfaces.console.screens.run import routes as run
from portico.interfaces.console.screens.runs import routes as runs
from portico.interfaces.console.screens.servers import routes as servers
from portico.interfaces.console.screens.settings import routes as settings
from portico.interfaces.console.screens.tools import routes as tools
from portico.interfaces.console.screens.welcome import routes as welcome
from portico.interfaces.console.wall import REFUSED, Wall
from portico.interfaces.http.body_limit import BodyLimit
from portico.kernel.errors import PorticoError

_SCREENS: Final = (
    *inbox.routes,
    *runs.routes,
    *run.routes,
    *chat.routes,
    *bridge.routes,
    *debates.routes,
    *tools.routes,
    *graph.routes,
    *servers.routes,
    *agents.routes,
    *figures.routes,
    *audit.routes,
    *settings.routes,
    *welcome.routes,
)


async def _home(request: Request) -> Response:
    """Where there is most to do for whoever comes."""
    answers = desk_of(request).caller.may(principals.Scope.APPROVALS_READ)
    return RedirectResponse("/inbox" if answers else "/runs", 303)


def every_route() -> list[Route]:
    frame = (*login.routes, *live.routes, *palette.routes, *static_files.routes)
    return [Route("/", _home, methods=["GET"]), *frame, *_SCREENS]


def build(house: House) -> ASGIApp:
    app = Starlette(
        routes=every_route(),
        exception_handlers={
            PorticoError: on_problem,
            HTTPException: on_http_error,
            Exception: on_unexpected,
        },
    )
    app.router.redirect_slashes = False
    app.state.house = house
    return Wall(BodyLimit(_Standing(app)), house)


class _Standing:
    """Raises what the wall held against a request, where it can be drawn."""

    def __init__(self, app: Starlette) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refused = scope.get(REFUSED)
        if not isinstance(refused, PorticoError):
            await self._app(scope, receive, send)
            return
        scope["app"] = self._app
        answer = await on_problem(Request(scope), refused)
        await answer(scope, receive, send)
