"""The page of one server, and what is done to it there."""

from collections.abc import Awaitable, Callable
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from portico.gateway.core.confinement import profile_from
from portico.gateway.servers import Labelling
from portico.guard.core.principals import Scope
from portico.guard.principals import permit
from portico.interfaces.console.desk import Desk, desk_of
from portico.interfaces.console.forms import Form, form_of
from portico.interfaces.console.page import done, page, part
from portico.interfaces.console.screens.servers.server_page import Beside, vitals, whole_page
from portico.interfaces.http.problems import status_of
from portico.kernel.errors import PorticoError
from portico.kernel.label import Label

SAID: Final = {
    "added": "Added, and not started. Look at what would be started, and allow it.",
    "on": "Switched on.",
    "off": "Switched off. Its tools are not found, and its process is ended.",
    "restarted": "Started anew, and asked what it offers.",
    "allowed": "It may be started, and was asked what it offers. Now look at its tools.",
    "accepted": "Its tools can be found and called.",
    "labelled": "The labels are set.",
    "profile": "What it may reach is set. Its process is ended; it starts anew with the next call.",
    "logged-out": "You are logged out of it.",
}


async def show(request: Request) -> Response:
    given = request.query_params.get("start", "")
    start = int(given) if given.isascii() and given.isdigit() and len(given) < 7 else 0
    return await drawn(request, request.path_params["name"], Beside(start=start))


async def drawn(request: Request, name: str, beside: Beside) -> Response:
    values = await whole_page(desk_of(request), name, beside)
    said = SAID.get(request.query_params.get("done", ""))
    status = 200 if beside.problem is None else status_of(beside.problem)
    return await page(
        request, "servers/server.html", {**values, "said": said}, title=name, status=status
    )


async def show_vitals(request: Request) -> Response:
    desk = desk_of(request)
    look = await desk.house.gateway.show_server(desk.caller, request.path_params["name"])
    return part(request, "servers/_vitals.html", await vitals(desk, look))


async def ask_to_remove(request: Request) -> Response:
    desk, name = desk_of(request), request.path_params["name"]
    permit(desk.caller, Scope.SERVERS_WRITE)
    look = await desk.house.gateway.show_server(desk.caller, name)
    values = {"name": name, "tools": sum(look.tools.values())}
    return await page(request, "servers/remove.html", values, title=f"Remove {name}?")


Act = Callable[[Desk, str, Form], Awaitable[str]]
"""What is done; the word by which the page says so."""


def _posted(act: Act) -> Callable[[Request], Awaitable[Response]]:
    """A form of this page: what goes wrong is told on the page itself."""

    async def send(request: Request) -> Response:
        desk, form, name = desk_of(request), await form_of(request), request.path_params["name"]
        try:
            word = await act(desk, name, form)
        except PorticoError as problem:
            return await drawn(request, name, Beside(problem=problem))
        return done(f"/servers/{name}", word)

    return send


async def _switch(desk: Desk, name: str, form: Form) -> str:
    to = form.one_of("to", ["on", "off"])
    await desk.house.gateway.switch_server(desk.caller, name, enabled=to == "on")
    return to


async def _restart(desk: Desk, name: str, _form: Form) -> str:
    await desk.house.gateway.restart_server(desk.caller, name)
    return "restarted"


async def _allow(desk: Desk, name: str, form: Form) -> str:
    """To be started exactly as it was shown; then it is started, and asked what it offers."""
    gateway, pin = desk.house.gateway, form.text("pin", most=200)
    await gateway.approve_launch(desk.caller, name, pin, unboxed=form.ticked("unboxed"))
    await gateway.restart_server(desk.caller, name)
    return "allowed"


async def _label(desk: Desk, name: str, form: Form) -> str:
    wish = Labelling(
        label=Label.parse(form.text("label", most=200)),
        clearance=Label.parse(form.text("clearance", most=200)),
        trusted=form.ticked("trusted"),
    )
    await desk.house.gateway.label_server(desk.caller, name, wish)
    return "labelled"


async def _profile(desk: Desk, name: str, form: Form) -> str:
    if form.one_of("which", ["own", "default"]) == "default":
        await desk.house.gateway.set_profile(desk.caller, name, None)
        return "profile"
    wanted = profile_from(
        {
            "read": _lines(form, "read"),
            "write": _lines(form, "write"),
            "network": form.text("network", most=20),
            "reach": _lines(form, "reach"),
        }
    )
    await desk.house.gateway.set_profile(desk.caller, name, wanted)
    return "profile"


def _lines(form: Form, field: str) -> list[str]:
    given = form.maybe(field, most=100_000) or ""
    return [line.strip() for line in given.splitlines() if line.strip()]


async def _log_out(desk: Desk, name: str, _form: Form) -> str:
    await desk.house.gateway.logins.end(desk.caller, name)
    return "logged-out"


async def log_in(request: Request) -> Response:
    """A link, which is followed by whoever asked for it: where it leads is not our page."""
    desk, name = desk_of(request), request.path_params["name"]
    await form_of(request)
    try:
        link = await desk.house.gateway.logins.begin(desk.caller, name)
    except PorticoError as problem:
        return await drawn(request, name, Beside(problem=problem))
    return await drawn(request, name, Beside(link=link))


async def remove(request: Request) -> Response:
    desk, name = desk_of(request), request.path_params["name"]
    await form_of(request)
    try:
        await desk.house.gateway.remove_server(desk.caller, name)
    except PorticoError as problem:
        return await drawn(request, name, Beside(problem=problem))
    return done("/servers", "removed")


routes: Final = [
    Route("/servers/{name}", show, methods=["GET"]),
    Route("/servers/{name}/vitals", show_vitals, methods=["GET"]),
    Route("/servers/{name}/switch", _posted(_switch), methods=["POST"]),
    Route("/servers/{name}/restart", _posted(_restart), methods=["POST"]),
    Route("/servers/{name}/allow", _posted(_allow), methods=["POST"]),
    Route("/servers/{name}/label", _posted(_label), methods=["POST"]),
    Route("/servers/{name}/profile", _posted(_profile), methods=["POST"]),
    Route("/servers/{name}/login", log_in, methods=["POST"]),
    Route("/servers/{name}/logout", _posted(_log_out), methods=["POST"]),
    Route("/servers/{name}/remove", ask_to_remove, methods=["GET"]),
    Route("/servers/{name}/remove", remove, methods=["POST"]),
]
