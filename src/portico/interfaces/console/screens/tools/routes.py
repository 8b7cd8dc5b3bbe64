"""Tools: the catalogue by server, and a search as agents have it."""

from datetime import timedelta
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from portico.guard.core.principals import Scope
from portico.interfaces.console.desk import Desk, desk_of
from portico.interfaces.console.forms import form_of
from portico.interfaces.console.page import done, page, part
from portico.interfaces.console.screens.tools import call_routes, tool_routes
from portico.interfaces.console.screens.tools.view import (
    EXAMPLES,
    GROUPS,
    groups,
    in_use,
    rows,
    search,
)

WITHIN: Final = timedelta(days=1)
"""What uses and times are of."""
_LONGEST: Final = 500
SAID: Final = {
    "on": "Switched on. Its tools can be found again.",
    "off": "Switched off. Its tools are not found any more, and its process is ended.",
}


async def show(request: Request) -> Response:
    values = await _body(request)
    return await page(request, "tools/page.html", values, title="Tools")


async def show_body(request: Request) -> Response:
    """What is below the search field, while somebody types into it."""
    return part(request, "tools/_body.html", await _body(request))


async def _body(request: Request) -> dict[str, Any]:
    desk, asked = desk_of(request), request.query_params
    looks = await desk.house.gateway.list_servers(desk.caller)
    query = asked.get("q", "").strip()[:_LONGEST]
    common = {
        "query": query,
        "servers": len(looks),
        "in_use": in_use(looks),
        "examples": EXAMPLES,
        "said": SAID.get(asked.get("done", "")),
        "may_switch": desk.caller.may(Scope.SERVERS_WRITE),
    }
    if query:
        began = desk.house.clock.now()
        found = await desk.house.gateway.find_tools(desk.caller, [query])
        took = desk.house.clock.now() - began
        return {**common, "search": search(query, found, in_use(looks), took)}
    start = whole(asked.get("start"))
    figures = await desk.house.gateway.show_figures(desk.caller, within=WITHIN)
    shown = groups(looks[start : start + GROUPS], figures)
    following = start + GROUPS
    opened = asked.get("open", "")
    known = opened in {group.server for group in shown}
    return {
        **common,
        "search": None,
        "groups": shown,
        "more": f"/tools?start={following}" if following < len(looks) else None,
        "opened": await _rows(desk, opened, 0) if known else None,
    }


async def show_group(request: Request) -> Response:
    """The tools of one server, once somebody opens it."""
    asked = request.query_params
    found = await _rows(desk_of(request), asked.get("server", ""), whole(asked.get("start")))
    return part(request, "tools/_rows.html", {"opened": found})


async def _rows(desk: Desk, server: str, start: int) -> Any:  # noqa: ANN401 # drawn, not read
    gateway, caller = desk.house.gateway, desk.caller
    looks = await gateway.list_tools(caller, server=server)
    figures = await gateway.show_figures(caller, server=server, within=WITHIN)
    return rows(server, looks, figures, start=start)


async def switch(request: Request) -> Response:
    desk, form = desk_of(request), await form_of(request)
    to = form.one_of("to", ["on", "off"])
    name = form.text("server", most=80)
    await desk.house.gateway.switch_server(desk.caller, name, enabled=to == "on")
    return done("/tools", to)


def whole(text: str | None) -> int:
    """Where in a list somebody is; from its beginning if that is no number."""
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 7 else 0


routes: Final = [
    Route("/tools", show, methods=["GET"]),
    Route("/tools/body", show_body, methods=["GET"]),
    Route("/tools/group", show_group, methods=["GET"]),
    Route("/tools/switch", switch, methods=["POST"]),
    *call_routes.routes,
    *tool_routes.routes,
]
