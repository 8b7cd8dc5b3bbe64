"""What went wrong, drawn: a page of its own, or a line in the page that asked."""

import logging
from typing import Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from portico.guard.core.errors import NotAuthenticated
from portico.interfaces.console.desk import desk_of
from portico.interfaces.console.page import bare, page, part, wants_part
from portico.interfaces.http.problems import status_of
from portico.kernel.errors import Kind, PorticoError

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
        desk_of(request)
    except NotAuthenticated:
        return bare(request, "problem_bare.html", values, status=status)
    if wants_part(request):
        return part(request, "_problem.html", values, status=status)
    return await page(request, "problem.html", values, title=error.title, status=status)
