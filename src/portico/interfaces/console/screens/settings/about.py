"""About: what the server says of itself."""

from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from portico.guard.core.principals import Scope
from portico.interfaces.console.desk import desk_of
from portico.interfaces.console.page import page
from portico.interfaces.console.screens.settings.tabs import tabs


async def show(request: Request) -> Response:
    desk = desk_of(request)
    use, caller = desk.house.use, desk.caller
    values = {
        "tabs": tabs(caller),
        "status": await use.show_status(caller),
        "home": await use.show_space(caller) if caller.may(Scope.SPACE_READ) else None,
        "base_url": use.base_url,
    }
    return await page(request, "settings/about.html", values, title="About")


routes: Final = [Route("/settings/about", show, methods=["GET"])]
