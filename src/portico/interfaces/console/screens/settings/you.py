"""Settings, the first page: who somebody is, where they are logged in, and light or dark."""

from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from portico.interfaces.console.desk import desk_of
from portico.interfaces.console.forms import form_of
from portico.interfaces.console.page import THEME, done, page
from portico.interfaces.console.screens.settings.asking import names
from portico.interfaces.console.screens.settings.session_lines import sessions
from portico.interfaces.console.screens.settings.tabs import tabs

_YEAR: Final = 365 * 24 * 3600
_SAID: Final = {
    "ended": "That session has ended.",
    "others": "You are logged out everywhere else.",
    "theme": "Noted, in this browser.",
}


async def show(request: Request) -> Response:
    desk = desk_of(request)
    use, caller = desk.house.use, desk.caller
    found = await use.list_sessions(caller)
    values = {
        "tabs": tabs(caller),
        "sessions": sessions(found, caller, desk.entry.key_id, await names(desk)),
        "said": _SAID.get(request.query_params.get("done", "")),
    }
    return await page(request, "settings/you.html", values, title="Settings")


async def end(request: Request) -> Response:
    desk, form = desk_of(request), await form_of(request)
    await desk.house.use.end_session(desk.caller, form.text("session", most=20))
    return done("/settings", "ended")


async def end_others(request: Request) -> Response:
    """All of one's own but this one."""
    desk = desk_of(request)
    use, caller = desk.house.use, desk.caller
    found = sessions(await use.list_sessions(caller), caller, desk.entry.key_id, {})
    for each in found.elsewhere:
        await use.end_session(caller, each.id)
    return done("/settings", "others")


async def choose_theme(request: Request) -> Response:
    form = await form_of(request)
    theme = form.one_of("theme", ("system", "light", "dark"))
    answer = done("/settings", "theme")
    if theme == "system":
        answer.delete_cookie(THEME, samesite="strict")
    else:  # the button in every page sets it too, so it is no secret to scripts
        answer.set_cookie(THEME, theme, max_age=_YEAR, samesite="strict")
    return answer


routes: Final = [
    Route("/settings", show, methods=["GET"]),
    Route("/settings/sessions/end", end, methods=["POST"]),
    Route("/settings/sessions/end-others", end_others, methods=["POST"]),
    Route("/settings/theme", choose_theme, methods=["POST"]),
]
