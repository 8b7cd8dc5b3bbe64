"""Sign in to the console, and the middleware that each of its requests passes."""

from dataclasses import dataclass
from functools import partial
from http.cookies import CookieError, SimpleCookie
from typing import Final
from urllib.parse import quote

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from portico.guard.authentication import Entry
from portico.guard.core.authentication import principal_of
from portico.guard.core.errors import NotAuthenticated
from portico.guard.core.principals import Scope as PrincipalScope
from portico.interfaces.console.forms import form_of
from portico.interfaces.console.page import (
    AGAIN,
    ENTRY,
    ConsoleServices,
    bare,
    house_of,
    page_context,
)
from portico.kernel.errors import Kind, PorticoError
from portico.kernel.principal import Principal

# Pages need a session cookie. It is never sent from another site (SameSite) and scripts cannot read
# it (HttpOnly); a form counts only if the browser says that it comes from here. The content
# security policy is set once, for all pages.

COOKIE: Final = "portico_session"
OPEN: Final = ("/login", "/static/")
"""Where nobody needs a session: to get one, and what every page is drawn with."""
_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)
_HEADERS: Final = {
    "Content-Security-Policy": _POLICY,
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
}
_SAFE: Final = frozenset({"GET", "HEAD"})
REFUSED: Final = "portico.console.refused"
"""What stands against a request before it is looked at; told inside, where problems are drawn."""


class NotFromHere(PorticoError):
    kind = Kind.DENIED
    code = "form_refused"
    title = "Not from a page of this console"
    fix = "Open the console in this browser, and send the form from there."

    def __init__(self) -> None:
        super().__init__("The browser does not say that this form was sent from our own page.")


class SessionMiddleware:
    def __init__(self, app: ASGIApp, house: ConsoleServices) -> None:
        self._app = app
        self._house = house

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope)
        answer = None if scope["path"].startswith(OPEN) else await self._stopped(request, scope)
        if request.method not in _SAFE and not from_here(request):
            scope[REFUSED] = NotFromHere()
        await (answer or self._app)(scope, receive, _guarded(send, scope["path"]))

    async def _stopped(self, request: Request, scope: Scope) -> Response | None:
        """Where whoever has no session is sent; None if they may pass."""
        scope[AGAIN] = partial(self._entry, session_of(request))
        try:
            scope[ENTRY] = await scope[AGAIN]()
        except NotAuthenticated:
            return _to_login(request)
        except PorticoError as error:
            scope[REFUSED] = error
        return None

    async def _entry(self, session: str) -> Entry:
        return await self._house.use.authenticate.session(session)


def from_here(request: Request) -> bool:
    """What browsers say of themselves and pages cannot: where a request comes from."""
    if sites := request.headers.getlist("sec-fetch-site"):
        return set(sites) == {"same-origin"}
    origins, host = request.headers.getlist("origin"), request.headers.get("host")
    return [each.partition("://")[2] for each in origins] == [host]


def session_of(request: Request) -> str:
    try:
        cookies = SimpleCookie(request.headers.get("cookie", ""))
    except CookieError:
        return ""
    found = cookies.get(COOKIE)
    return found.value if found is not None else ""


def _to_login(request: Request) -> Response:
    if "hx-request" in request.headers:
        return Response(status_code=401, headers={"HX-Redirect": "/login"})
    if request.url.path == "/live":
        return Response(status_code=401)
    wanted = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    # A form is not sent again by itself: whoever was logged out sees its page first.
    to = f"?to={quote(wanted, safe='')}" if request.method in _SAFE and wanted != "/" else ""
    return RedirectResponse(f"/login{to}", 303)


def _guarded(send: Send, path: str) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            headers.update(_HEADERS)
            if not path.startswith("/static/"):
                headers["Cache-Control"] = "no-store"
        await send(message)

    return sending


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
    desk = page_context(request)
    await desk.services.use.leave_session(desk.caller, desk.entry.key_id)
    answer = RedirectResponse("/login", 303)
    answer.delete_cookie(COOKIE, httponly=True, samesite="strict", secure=desk.services.secure)
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
    if not whom.may(PrincipalScope.SPACE_READ):
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
