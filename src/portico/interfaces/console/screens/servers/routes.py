"""Servers: the list, kept fresh, and a page to add some by pasting."""

from datetime import timedelta
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from portico.guard.core.principals import Scope
from portico.interfaces.console.desk import desk_of
from portico.interfaces.console.page import page, part
from portico.interfaces.console.screens.servers import add_routes, review_routes, server_routes
from portico.interfaces.console.screens.servers.view import PAGE, chosen, counted, server_rows

WITHIN: Final = timedelta(days=1)
SAID: Final = {
    "added": "Added, and not started. Look at each of them, and allow it.",
    "removed": "Removed, with its tools.",
}


async def show(request: Request) -> Response:
    values = await _list(request)
    said = SAID.get(request.query_params.get("done", ""))
    return await page(request, "servers/page.html", {**values, "said": said}, title="Servers")


async def show_list(request: Request) -> Response:
    """The same, asked for every few seconds."""
    return part(request, "servers/_list.html", await _list(request))


async def _list(request: Request) -> dict[str, Any]:
    desk, asked = desk_of(request), request.query_params
    gateway, caller = desk.house.gateway, desk.caller
    looks = await gateway.list_servers(caller)
    rows = server_rows(looks, await gateway.show_figures(caller, within=WITHIN))
    only = asked.get("only", "")
    shown = chosen(rows, only)
    given = asked.get("start", "")
    start = int(given) if given.isascii() and given.isdigit() and len(given) < 7 else 0
    here = f"only={only}&" if only in {"attention", "off"} else ""
    following = start + PAGE
    return {
        "rows": shown[start:following],
        "counted": counted(rows),
        "which": only,
        "more": f"/servers?{here}start={following}" if following < len(shown) else None,
        "again": f"/servers/_list?{here}start={start}",
        "may_add": caller.may(Scope.SERVERS_WRITE),
    }


routes: Final = [
    Route("/servers", show, methods=["GET"]),
    Route("/servers/_list", show_list, methods=["GET"]),
    *add_routes.routes,
    *review_routes.routes,
    *server_routes.routes,
]
"""What begins with `_` is no server: their names begin with a letter."""
