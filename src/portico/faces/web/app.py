"""The console put together: a wall outside, one package a screen inside."""

from typing import Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from portico.faces.http.body_limit import BodyLimit
from portico.faces.web import live, login, palette, static_files
from portico.faces.web.desk import desk_of
from portico.faces.web.house import House
from portico.faces.web.problems import on_http_error, on_problem, on_unexpected
from portico.faces.web.screens.agents import routes as agents
from portico.faces.web.screens.audit import routes as audit
from portico.faces.web.screens.bridge import routes as bridge
from portico.faces.web.screens.chat import routes as chat
from portico.faces.web.screens.debates import routes as debates
from portico.faces.web.screens.figures import routes as figures
from portico.faces.web.screens.graph import routes as graph
from portico.faces.web.screens.inbox import routes as inbox
from portico.faces.web.screens.run import routes as run
from portico.faces.web.screens.runs import routes as runs
from portico.faces.web.screens.servers import routes as servers
from portico.faces.web.screens.settings import routes as settings
from portico.faces.web.screens.tools import routes as tools
from portico.faces.web.screens.welcome import routes as welcome
from portico.faces.web.wall import REFUSED, Wall
from portico.guard.core import roles
from portico.kernel.errors import PorticoError

_SCREENS: Final = (
    inbox,
    runs,
    run,
    chat,
    bridge,
    debates,
    tools,
    graph,
    servers,
    agents,
    figures,
    audit,
    settings,
    welcome,
)


async def _home(request: Request) -> Response:
    """Where there is most to do for whoever comes."""
    answers = desk_of(request).caller.may(roles.Scope.APPROVALS_READ)
    return RedirectResponse("/inbox" if answers else "/runs", 303)


def every_route() -> list[Route]:
    routes = [Route("/", _home, methods=["GET"])]
    for shell in (login, live, palette, static_files):
        routes += shell.routes
    for screen in _SCREENS:
        routes += screen.routes
    return routes


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
