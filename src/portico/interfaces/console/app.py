"""The console put together: middleware outside, screens inside, and the command palette."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from portico.agents.core.agents import AgentFilter
from portico.guard.core import principals
from portico.interfaces.console import live, page, sessions
from portico.interfaces.console.page import (
    GROUPS,
    ConsoleServices,
    PageContext,
    on_http_error,
    on_problem,
    on_unexpected,
    page_context,
    part,
)
from portico.interfaces.console.screens import (
    agents,
    audit,
    chat,
    debates,
    runs,
    servers,
    settings,
    tools,
    welcome,
)
from portico.interfaces.console.screens import approvals as inbox
from portico.interfaces.console.screens import metrics as figures
from portico.interfaces.console.screens import tool_graph as graph
from portico.interfaces.console.screens.bridge import overview as bridge
from portico.interfaces.console.screens.run import page as run
from portico.interfaces.console.sessions import REFUSED, SessionMiddleware
from portico.interfaces.http.middleware import BodyLimit
from portico.kernel.errors import PorticoError

_MOST: Final = 8
_LOOKED: Final = 200
"""Of what is listed page by page, the first that are looked through."""


@dataclass(frozen=True, slots=True)
class PaletteResult:
    kind: str
    name: str
    path: str
    note: str = ""


Search = Callable[[PageContext, str], Awaitable[Sequence[PaletteResult]]]


async def show(request: Request) -> Response:
    desk, text = page_context(request), request.query_params.get("q", "").strip()[:200]
    found = places(text)
    for search in _SEARCHES if text else ():
        try:
            found += (await search(desk, text))[:_MOST]
        except PorticoError:
            continue  # whoever may not see them finds none
    return part(request, "_palette.html", {"found": found, "text": text})


def places(text: str) -> list[PaletteResult]:
    low = text.casefold()
    return [
        PaletteResult("Go to", place.name, place.path, f"g {place.key}")
        for group in GROUPS
        for place in group.places
        if low in place.name.casefold()
    ]


async def _tools(desk: PageContext, text: str) -> Sequence[PaletteResult]:
    looks = await desk.services.gateway.list_tools(desk.caller)
    named = [str(look.tool.ref) for look in looks]
    return [
        PaletteResult("Tool", name, f"/tools/{quote(name, safe='')}") for name in _of(named, text)
    ]


async def _servers(desk: PageContext, text: str) -> Sequence[PaletteResult]:
    looks = await desk.services.gateway.list_servers(desk.caller)
    named = [look.server.name for look in looks]
    return [
        PaletteResult("Server", name, f"/servers/{quote(name, safe='')}")
        for name in _of(named, text)
    ]


async def _agents(desk: PageContext, text: str) -> Sequence[PaletteResult]:
    listed = await desk.services.agents.list_agents(
        desk.caller, AgentFilter(), after=None, limit=_LOOKED
    )
    named = [agent.spec.name for agent in listed]
    return [
        PaletteResult("Agent", name, f"/agents/{quote(name, safe='')}") for name in _of(named, text)
    ]


async def _talks(desk: PageContext, text: str) -> Sequence[PaletteResult]:
    talk = desk.services.bridge.talk
    projects = await talk.list_projects(desk.caller, limit=_LOOKED)
    conversations = await talk.list_conversations(desk.caller, limit=_LOOKED)
    low = text.casefold()
    return [
        *(
            PaletteResult("Project", each.name, f"/bridge/{each.id}")
            for each in projects
            if low in each.name.casefold()
        ),
        *(
            PaletteResult("Conversation", each.title, f"/bridge/{each.project}/{each.id}")
            for each in conversations
            if low in each.title.casefold()
        ),
    ]


def _of(names: Sequence[str], text: str) -> list[str]:
    """Those in which all words of the text are, the shortest first."""
    words = text.casefold().split()
    met = [name for name in names if all(word in name.casefold() for word in words)]
    return sorted(met, key=len)[:_MOST]


_SEARCHES: Final[Sequence[Search]] = (_tools, _servers, _agents, _talks)

routes: Final = [Route("/palette", show, methods=["GET"])]

SCREENS: Final = (
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
    answers = page_context(request).caller.may(principals.Scope.APPROVALS_READ)
    return RedirectResponse("/inbox" if answers else "/runs", 303)


def every_route() -> list[Route]:
    frame = (*sessions.routes, *live.routes, *routes, *page.routes)
    return [Route("/", _home, methods=["GET"]), *frame, *SCREENS]


def build(house: ConsoleServices) -> ASGIApp:
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
    return SessionMiddleware(BodyLimit(_Standing(app)), house)


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
