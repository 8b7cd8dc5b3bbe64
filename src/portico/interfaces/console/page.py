"""What every page is drawn with: its caller, navigation, templates, static files, errors."""

import gzip
import hashlib
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any, Final, TypeVar

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from portico.engine.event_log import Tails
from portico.engine.ports import EventLog
from portico.guard.authentication import Entry
from portico.guard.core.errors import NotAuthenticated
from portico.guard.core.principals import Scope
from portico.interfaces.console import formatting
from portico.interfaces.console.markdown import markdown
from portico.interfaces.http.problems import status_of
from portico.interfaces.http.streaming import MANNERS, Manners
from portico.interfaces.http.use_cases import (
    AgentRunUseCases,
    AgentUseCases,
    BridgeUseCases,
    DebateUseCases,
    GatewayUseCases,
    ModelUseCases,
    UseCases,
)
from portico.kernel.clock import Clock, Entropy
from portico.kernel.errors import Kind, PorticoError
from portico.kernel.principal import Principal, PrincipalKind

Room = TypeVar("Room")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ConsoleServices:
    """Without a text of its own: that would hold every vector of every index."""

    use: UseCases
    gateway: GatewayUseCases
    rooms: Mapping[str, object]
    log: EventLog
    tails: Tails
    """What happens, in the words of pages."""
    clock: Clock
    entropy: Entropy
    secure: bool = False
    """Whether browsers reach this server by HTTPS."""
    manners: Manners = MANNERS

    @property
    def agents(self) -> AgentUseCases:
        return self._room("agents", AgentUseCases)

    @property
    def agent_runs(self) -> AgentRunUseCases:
        return self._room("agent_runs", AgentRunUseCases)

    @property
    def models(self) -> ModelUseCases:
        return self._room("models", ModelUseCases)

    @property
    def bridge(self) -> BridgeUseCases:
        return self._room("bridge", BridgeUseCases)

    @property
    def debates(self) -> DebateUseCases:
        return self._room("debates", DebateUseCases)

    def _room(self, name: str, kind: type[Room]) -> Room:
        found = self.rooms[name]
        if not isinstance(found, kind):
            raise TypeError(f"The room {name!r} is not a {kind.__name__}.")
        return found


ENTRY: Final = "portico.console.entry"
AGAIN: Final = "portico.console.again"


@dataclass(frozen=True, slots=True, kw_only=True)
class PageContext:
    services: ConsoleServices
    entry: Entry
    again: Callable[[], Awaitable[Entry]]
    """Who the same session makes of its bearer by now. Raises `NotAuthenticated`."""
    now: datetime

    @property
    def caller(self) -> Principal:
        return self.entry.principal

    def at(self, place: str) -> Principal:
        """The caller, at a task of its own for this place: what a person sees in one of them is
        not held against what they do in another. Only for whoever may open tasks."""
        caller = self.caller
        free = caller.kind is PrincipalKind.PERSON and caller.may(Scope.CONTEXTS_OPEN)
        return replace(caller, place=f"console {place}") if free else caller


def house_of(request: Request) -> ConsoleServices:
    found: ConsoleServices = request.app.state.house
    return found


def page_context(request: Request) -> PageContext:
    """Raises `NotAuthenticated`."""
    entry = request.scope.get(ENTRY)
    if not isinstance(entry, Entry):
        raise NotAuthenticated
    house = house_of(request)
    return PageContext(
        services=house, entry=entry, again=request.scope[AGAIN], now=house.clock.now()
    )


@dataclass(frozen=True, slots=True)
class NavItem:
    path: str
    name: str
    key: str
    """Pressed after `g`."""
    icon: str
    """The path of a drawing, 24 by 24."""

    def holds(self, path: str) -> bool:
        return path == self.path or path.startswith(f"{self.path}/")


@dataclass(frozen=True, slots=True)
class Group:
    name: str
    places: tuple[NavItem, ...]


GROUPS: Final = (
    Group(
        "Operate",
        (
            NavItem("/inbox", "Approvals", "i", "M4 13h4l2 3h4l2-3h4M5 5h14l1 8v6H4v-6z"),
            NavItem("/runs", "Runs", "r", "M6 4v16M6 8h8a4 4 0 0 1 4 4v8"),
            NavItem("/chat", "Chat", "c", "M4 5h16v11H9l-5 4z"),
            NavItem("/bridge", "Bridge", "b", "M4 7h16M4 12h10M4 17h7"),
            NavItem("/debates", "Debates", "d", "M7 8h10M7 12h6M4 4h16v13h-8l-5 4v-4H4z"),
        ),
    ),
    Group(
        "Build",
        (
            NavItem("/tools", "Tools", "t", "M14 6a4 4 0 0 0 4 4l-9 9-3-3 9-9"),
            NavItem("/graph", "Tool graph", "n", "M6 6l6 12M18 6l-6 12M6 6h12"),
            NavItem("/servers", "Servers", "s", "M4 5h16v6H4zM4 13h16v6H4z"),
            NavItem("/agents", "Agents", "a", "M12 3v4M6 9h12v9H6zM9 13h.01M15 13h.01"),
        ),
    ),
    Group(
        "Observe",
        (
            NavItem("/figures", "Metrics", "m", "M4 19V9M10 19V5M16 19v-7M21 19H3"),
            NavItem("/audit", "Audit", "u", "M6 3h9l4 4v14H6zM9 12h7M9 16h7"),
            NavItem(
                "/settings",
                "Settings & keys",
                "k",
                "M12 9a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM4 12h2M18 12h2M12 4v2M12 18v2",
            ),
            NavItem("/welcome", "Welcome", "w", "M4 12l8-8 8 8M6 10v10h12V10"),
        ),
    ),
)

HELP: Final[Mapping[str, str]] = {
    "⌘K or Ctrl K": "search, or jump to a place",
    "g, then a letter": "go to a place: its letter is in the menu",
    "/": "into the search field of this page",
    "j and k": "to the next, to the one before",
    "enter": "open what is marked",
    "a": "approve what is marked",
    "x": "reject it",
    "e": "edit its arguments, then approve",
    "w": "why it is asked",
    "esc": "close, or leave the field",
    "?": "this list",
}

_KINDS: Final = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".woff2": "font/woff2",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
}
_SHEET: Final = "app.css"
_FOR_EVER: Final = "public, max-age=31536000, immutable"


@dataclass(frozen=True, slots=True)
class File:
    content: bytes
    packed: bytes | None
    kind: str
    mark: str
    """Of what is in it: another content has another address."""


async def show(request: Request) -> Response:
    file = _files().get(request.path_params["path"])
    if file is None:
        raise HTTPException(404)
    named = request.query_params.get("v") == file.mark
    headers = {
        "Cache-Control": _FOR_EVER if named else "no-cache",
        "ETag": f'"{file.mark}"',
        "Vary": "Accept-Encoding",
    }
    if request.headers.get("if-none-match") == headers["ETag"]:
        return Response(status_code=304, headers=headers)
    if file.packed is not None and "gzip" in request.headers.get("accept-encoding", ""):
        headers["Content-Encoding"] = "gzip"
        return Response(file.packed, headers=headers, media_type=file.kind)
    return Response(file.content, headers=headers, media_type=file.kind)


def address(path: str) -> str:
    return f"/static/{path}?v={_files()[path].mark}"


@cache
def _files() -> dict[str, File]:
    root = files("portico.interfaces.console").joinpath("static")
    found = {path: each.read_bytes() for path, each in _below(root, "")}
    # One sheet for all pages: the shell's first, since the others build on its tokens.
    sheets = sorted(path for path in found if path.startswith("styles/"))
    found[_SHEET] = b"\n".join(found.pop(path) for path in sheets)
    return {path: _file(path, content) for path, content in found.items()}


def _below(folder: Traversable, path: str) -> list[tuple[str, Traversable]]:
    found: list[tuple[str, Traversable]] = []
    for each in folder.iterdir():
        name = f"{path}{each.name}"
        if each.is_dir():
            found += _below(each, f"{name}/")
        elif any(name.endswith(end) for end in _KINDS):
            found.append((name, each))
    return found


def _file(path: str, content: bytes) -> File:
    kind = next(kind for end, kind in _KINDS.items() if path.endswith(end))
    packed = None if path.endswith(".woff2") else gzip.compress(content, 6, mtime=0)
    return File(content, packed, kind, hashlib.sha256(content).hexdigest()[:16])


routes: Final = [Route("/static/{path:path}", show, methods=["GET"])]

_FILTERS: Final = {
    "ago": formatting.ago,
    "until": formatting.until,
    "took": formatting.took,
    "count": formatting.count,
    "short": formatting.short,
    "money": formatting.money,
    "percent": formatting.percent,
    "json": formatting.as_json,
    "stamp": formatting.stamp,
    "plural": formatting.plural,
    "markdown": markdown,
}


@cache
def environment() -> Environment:
    made = Environment(
        loader=PackageLoader("portico.interfaces.console"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.filters.update(_FILTERS)
    shared: dict[str, Any] = made.globals
    shared["static"] = address
    return made


def render(template: str, values: Mapping[str, Any]) -> bytes:
    text = environment().get_template(template).render(values)
    return text.encode(errors="replace")  # half of a surrogate pair is no letter


THEME: Final = "portico_theme"
_THEMES: Final = ("dark", "light")
_MOST: Final = 100
"""That are counted: more than this is too many in any case."""


async def page(
    request: Request,
    template: str,
    values: Mapping[str, Any],
    *,
    title: str,
    status: int = 200,
) -> Response:
    """`title` is what the tab says; the place in the menu is found by the address. A screen has
    no value by a name of the frame, which would draw it."""
    desk = page_context(request)
    shell = {
        "title": title,
        "menu": GROUPS,
        "help": HELP,
        "here": _here(request.url.path),
        "address": _address(request),
        "waiting": await waiting(desk),
        "me": desk.caller,
        "version": desk.services.use.version,
        "space": await _space(desk),
        "now": desk.now,
        "once": once(desk),
    }
    drawn = {**_common(request), **values}
    return HTMLResponse(render(template, dict(**shell, **drawn)), status)


async def _space(desk: PageContext) -> str | None:
    """Its name: whoever has several must see in which one they are."""
    if not desk.caller.may(Scope.SPACE_READ):
        return None
    return (await desk.services.use.show_space(desk.caller)).name


def part(
    request: Request, template: str, values: Mapping[str, Any], *, status: int = 200
) -> Response:
    """What is put into a page that is there already."""
    desk = page_context(request)
    shell = {**_common(request), "me": desk.caller, "now": desk.now, "once": once(desk)}
    return HTMLResponse(render(template, {**shell, **values}), status)


def bare(
    request: Request, template: str, values: Mapping[str, Any], *, status: int = 200
) -> Response:
    """Without menu and name: for who is not inside."""
    now = house_of(request).clock.now()
    return HTMLResponse(render(template, {**_common(request), "now": now, **values}), status)


def done(to: str, said: str | None = None) -> Response:
    """After a form: where to look now. `said` is one of the words that the page there knows."""
    sign = "&" if "?" in to else "?"
    return RedirectResponse(f"{to}{sign}done={said}" if said else to, 303)


def _address(request: Request) -> str:
    """Of this very page, for what is drawn anew by itself."""
    path, query = request.url.path, request.url.query
    return f"{path}?{query}" if query else path


def wants_part(request: Request) -> bool:
    """Whether it is to be put into a page. Every other answer is a whole one."""
    return "hx-request" in request.headers


def once(desk: PageContext) -> str:
    """For one form on one page: what it asks for is done once."""
    return desk.services.entropy(16).hex()


def _common(request: Request) -> dict[str, Any]:
    theme = request.cookies.get(THEME)
    return {"theme": theme if theme in _THEMES else None, "path": request.url.path}


def _here(path: str) -> NavItem | None:
    places = [place for group in GROUPS for place in group.places]
    found = [place for place in places if place.holds(path)]
    return max(found, key=lambda place: len(place.path), default=None)


async def waiting(desk: PageContext) -> int | None:
    """How many requests wait for whoever looks; None where they may not know."""
    if not desk.caller.may(Scope.APPROVALS_READ):
        return None
    try:
        return await desk.services.gateway.approvals.count_approvals(desk.at("menu"), most=_MOST)
    except PorticoError:
        return None


_log: Final = logging.getLogger("portico.web")


class PageNotFound(PorticoError):
    kind = Kind.NOT_FOUND
    code = "page_not_found"
    title = "There is no such page"
    fix = "Go back, or press Ctrl K (⌘K on a Mac) and search for it."

    def __init__(self) -> None:
        super().__init__("Nothing here has this address; or it is not for you.")


class Broke(PorticoError):
    kind = Kind.UNAVAILABLE
    code = "page_broke"
    title = "Something broke on our side"
    fix = "Look into the server's log, and please report it."

    def __init__(self) -> None:
        super().__init__("The server met an error that it did not expect; its log says more.")


async def on_problem(request: Request, error: Exception) -> Response:
    if not isinstance(error, PorticoError):
        raise error
    return await drawn(request, error, status_of(error))


async def on_http_error(request: Request, error: Exception) -> Response:
    if not isinstance(error, HTTPException):
        raise error
    return await drawn(request, PageNotFound(), error.status_code)


async def on_unexpected(request: Request, error: Exception) -> Response:
    route = getattr(request.scope.get("route"), "path", "(none)")
    _log.exception("%s %s failed", request.method, route, exc_info=error)
    return await drawn(request, Broke(), 500)


async def drawn(request: Request, error: PorticoError, status: int) -> Response:
    values = {"problem": error, "status": status}
    try:
        page_context(request)
    except NotAuthenticated:
        return bare(request, "problem_bare.html", values, status=status)
    if wants_part(request):
        return part(request, "_problem.html", values, status=status)
    return await page(request, "problem.html", values, title=error.title, status=status)
