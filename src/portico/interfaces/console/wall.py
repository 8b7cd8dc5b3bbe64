"""Before every page: a session by cookie, and forms only from our own pages.

The cookie is never sent from another site (SameSite), is not for scripts (HttpOnly), and a form
counts only if the browser says that it comes from here. What a page may load and where it may send
to is said once, for all of them.
"""

from functools import partial
from http.cookies import CookieError, SimpleCookie
from typing import Final
from urllib.parse import quote

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from portico.guard.authentication import Entry
from portico.guard.core.errors import NotAuthenticated
from portico.interfaces.console.desk import AGAIN, ENTRY
from portico.interfaces.console.house import House
from portico.kernel.errors import Kind, PorticoError

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


class Wall:
    def __init__(self, app: ASGIApp, house: House) -> None:
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
