"""An answer that a browser shows: a whole page, or a part of one."""

from collections.abc import Mapping
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from portico.guard.core.principals import Scope
from portico.interfaces.console.desk import Desk, desk_of, house_of
from portico.interfaces.console.nav import GROUPS, HELP, Place
from portico.interfaces.console.templating import render
from portico.kernel.errors import PorticoError

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
    desk = desk_of(request)
    shell = {
        "title": title,
        "menu": GROUPS,
        "help": HELP,
        "here": _here(request.url.path),
        "address": _address(request),
        "waiting": await waiting(desk),
        "me": desk.caller,
        "version": desk.house.use.version,
        "space": await _space(desk),
        "now": desk.now,
        "once": once(desk),
    }
    drawn = {**_common(request), **values}
    return HTMLResponse(render(template, dict(**shell, **drawn)), status)


async def _space(desk: Desk) -> str | None:
    """Its name: whoever has several must see in which one they are."""
    if not desk.caller.may(Scope.SPACE_READ):
        return None
    return (await desk.house.use.show_space(desk.caller)).name


def part(
    request: Request, template: str, values: Mapping[str, Any], *, status: int = 200
) -> Response:
    """What is put into a page that is there already."""
    desk = desk_of(request)
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


def once(desk: Desk) -> str:
    """For one form on one page: what it asks for is done once."""
    return desk.house.entropy(16).hex()


def _common(request: Request) -> dict[str, Any]:
    theme = request.cookies.get(THEME)
    return {"theme": theme if theme in _THEMES else None, "path": request.url.path}


def _here(path: str) -> Place | None:
    places = [place for group in GROUPS for place in group.places]
    found = [place for place in places if place.holds(path)]
    return max(found, key=lambda place: len(place.path), default=None)


async def waiting(desk: Desk) -> int | None:
    """How many requests wait for whoever looks; None where they may not know."""
    if not desk.caller.may(Scope.APPROVALS_READ):
        return None
    try:
        return await desk.house.gateway.approvals.count_approvals(desk.at("menu"), most=_MOST)
    except PorticoError:
        return None
