"""What a server offers, let in: with the proposed effects, or with one chosen for each tool."""

from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from portico.gateway.core.server_approval import Proposed
from portico.interfaces.console.desk import desk_of
from portico.interfaces.console.forms import BadForm, Form, form_of
from portico.interfaces.console.page import done, page
from portico.interfaces.console.screens.servers.server_page import Beside
from portico.interfaces.console.screens.servers.server_routes import drawn
from portico.interfaces.console.screens.servers.server_view import REVIEW, review_view
from portico.interfaces.console.screens.tools.effects import EFFECTS
from portico.interfaces.http.problems import status_of
from portico.kernel.effect import Effect
from portico.kernel.errors import PorticoError

_PREFIX: Final = "effect."
_SKIP: Final = "skip"


async def accept(request: Request) -> Response:
    """Every tool that waits: `reads` lowers the effects of those proposed to read, `all` takes
    what is proposed for each."""
    desk, form, name = desk_of(request), await form_of(request), request.path_params["name"]
    try:
        which = Proposed(form.one_of("proposed", [*Proposed]))
        pin = form.text("pin", most=200)
        await desk.house.gateway.accept_tools(desk.caller, name, pin, which)
    except PorticoError as problem:
        return await drawn(request, name, Beside(problem=problem))
    return done(f"/servers/{name}", "accepted")


async def show(request: Request) -> Response:
    return await _page(request, None)


async def _page(request: Request, problem: PorticoError | None) -> Response:
    desk, name = desk_of(request), request.path_params["name"]
    [found] = await desk.house.gateway.review_servers(desk.caller, name)
    view = review_view(found)
    given = request.query_params.get("start", "")
    start = int(given) if given.isascii() and given.isdigit() and len(given) < 7 else 0
    following = start + REVIEW
    left = following < len(view.waiting)
    values = {
        "name": name,
        "review": view,
        "shown": view.waiting[start:following],
        "start": start,
        "more": f"/servers/{name}/review?start={following}" if left else None,
        "effects": EFFECTS,
        "problem": problem,
    }
    status = 200 if problem is None else status_of(problem)
    title = f"Tools of {name}"
    return await page(request, "servers/review.html", values, title=title, status=status)


async def choose(request: Request) -> Response:
    """Only those that were given an effect; the others stay as they are."""
    desk, form, name = desk_of(request), await form_of(request), request.path_params["name"]
    try:
        chosen = _chosen(form)
        pin = form.text("pin", most=200)
        await desk.house.gateway.accept_tools(desk.caller, name, pin, chosen)
    except PorticoError as problem:
        return await _page(request, problem)
    return done(f"/servers/{name}", "accepted")


def _chosen(form: Form) -> dict[str, Effect]:
    """Raises `BadForm`."""
    fields = [field for field in form.fields if field.startswith(_PREFIX)]
    given = {field: form.one_of(field, [_SKIP, *Effect]) for field in fields}
    found = {
        field.removeprefix(_PREFIX): Effect(each) for field, each in given.items() if each != _SKIP
    }
    if not found:
        raise BadForm("", "No tool was given an effect")
    return found


routes: Final = [
    Route("/servers/{name}/accept", accept, methods=["POST"]),
    Route("/servers/{name}/review", show, methods=["GET"]),
    Route("/servers/{name}/review", choose, methods=["POST"]),
]
