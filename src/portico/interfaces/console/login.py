"""In and out: a key for a session, and the session's end."""

from dataclasses import dataclass
from typing import Final

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from portico.guard.core.authentication import principal_of
from portico.guard.core.errors import NotAuthenticated
from portico.guard.core.principals import Scope
from portico.interfaces.console.desk import desk_of, house_of
from portico.interfaces.console.forms import form_of
from portico.interfaces.console.page import bare
from portico.interfaces.console.wall import COOKIE, session_of
from portico.kernel.errors import Kind, PorticoError
from portico.kernel.principal import Principal

_KEPT: Final = 14 * 24 * 3600
"""Seconds; the session itself may end before."""


class LinkOver(PorticoError):
    kind = Kind.DENIED
    code = "login_link_over"
    title = "This link opens nothing any more"
    fix = "Make another one, with portico ui, or paste a key."

    def __init__(self) -> None:
        super().__init__("A link to log in works once, for two minutes.")


async def show_login(request: Request) -> Response:
    """Whether a link has led here, only the browser can see: so it goes on by itself, and is not
    sent on, which would take along what the link carries."""
    to = request.query_params.get("to", "")
    if await _inside(request):
        return bare(request, "login_inside.html", {"to": to, "wanted": _wanted(to)})
    return bare(request, "login.html", {"to": to, "problem": None})


async def log_in(request: Request) -> Response:
    house, form = house_of(request), await form_of(request)
    to = form.maybe("to", most=2000) or ""
    try:
        if handed := form.maybe("handed", most=500):
            who = await _who(request, handed)
            if who and who.alike:
                return RedirectResponse(_wanted(to), 303)
            if who and form.maybe("sure", most=1) is None:
                return bare(request, "login_other.html", {"to": to, "handed": handed, "who": who})
            issued = await house.use.take_session(handed, _browser(request))
        else:
            issued = await house.use.open_session(form.text("key", most=500), _browser(request))
    except PorticoError as error:
        over = handed and isinstance(error, NotAuthenticated)
        shown = {"to": to, "problem": LinkOver() if over else error}
        return bare(request, "login.html", shown, status=401)
    answer = RedirectResponse(_wanted(to), 303)
    answer.set_cookie(
        COOKIE,
        issued.key.reveal(),
        max_age=_KEPT,
        httponly=True,
        samesite="strict",
        secure=house.secure,
    )
    return answer


async def log_out(request: Request) -> Response:
    desk = desk_of(request)
    await desk.house.use.leave_session(desk.caller, desk.entry.key_id)
    answer = RedirectResponse("/login", 303)
    answer.delete_cookie(COOKIE, httponly=True, samesite="strict", secure=desk.house.secure)
    return answer


async def _inside(request: Request) -> bool:
    try:
        await house_of(request).use.authenticate.session(session_of(request))
    except NotAuthenticated:
        return False
    return True


@dataclass(frozen=True)
class _Who:
    """Who this browser is logged in as, and who a link is for: one that somebody else has sent must
    not put anybody into another's session unasked."""

    present: str
    other: str
    alike: bool


async def _who(request: Request, handed: str) -> _Who | None:
    """`None`: it is logged in as nobody. Raises `NotAuthenticated` where the link opens nothing."""
    use = house_of(request).use
    try:
        now = (await use.authenticate.session(session_of(request))).principal
    except NotAuthenticated:
        return None
    then = principal_of(await use.authenticate.handed(handed))
    return _Who(await _told(request, now), await _told(request, then), alike=now.id == then.id)


async def _told(request: Request, whom: Principal) -> str:
    """`ana in home`"""
    if not whom.may(Scope.SPACE_READ):
        return whom.name
    return f"{whom.name} in {(await house_of(request).use.show_space(whom)).name}"


def _wanted(to: str) -> str:
    """Only a place of ours: a link to the login must not lead elsewhere."""
    plain = to.startswith("/") and not to.startswith(("//", "/\\")) and to.isprintable()
    return to if plain else "/"


_BROWSERS: Final = {
    "Edg/": "Edge",
    "OPR/": "Opera",
    "Firefox/": "Firefox",
    "Chrome/": "Chrome",
    "Safari/": "Safari",
}
_SYSTEMS: Final = {
    "Android": "Android",
    "iPhone": "iPhone",
    "iPad": "iPad",
    "Mac OS X": "macOS",
    "Windows": "Windows",
    "Linux": "Linux",
}


def _browser(request: Request) -> str:
    said = request.headers.get("user-agent", "")
    browser = next((name for sign, name in _BROWSERS.items() if sign in said), "A browser")
    system = next((name for sign, name in _SYSTEMS.items() if sign in said), None)
    return f"{browser} on {system}" if system else browser


routes: Final = [
    Route("/login", show_login, methods=["GET"]),
    Route("/login", log_in, methods=["POST"]),
    Route("/logout", log_out, methods=["POST"]),
]
